// What every page does: its feed, the count of open alerts, times that pass, the sound.

import { serverTime } from "./beat.js";
import { listen } from "./live.js";
import { beep } from "./sound.js";

const title = document.title.replace(/^\(\d+\) /, "");
let newest = null;

function showAlerts({ open, newest: now }) {
  document.title = open ? `(${open}) ${title}` : title;
  const count = document.getElementById("open-alerts");
  if (count) {
    count.textContent = open;
    count.hidden = open === 0;
  }
  if (newest !== null && now > newest) beep();
  newest = now;
}

function showParts(parts) {
  const active = document.activeElement;
  for (const [id, html] of Object.entries(parts)) {
    const part = document.getElementById(id);
    if (!part) continue;
    const template = document.createElement("template");
    template.innerHTML = html;
    const within = part.contains(active) ? active : null;
    if (part.dataset.merge !== undefined) keepTyped(part, template.content);
    part.replaceChildren(template.content);
    if (within) focusAgain(part, within);
  }
}

// What someone is typing stays, with what it is about.
function keepTyped(part, content) {
  for (const old of [...part.children]) {
    const field = old.querySelector("input:not([type=hidden])");
    if (!old.id || !field || (field.value === "" && field !== document.activeElement)) continue;
    const now = content.getElementById(old.id);
    if (now) now.querySelector("input:not([type=hidden])")?.replaceWith(field);
    else content.prepend(old);
  }
}

function focusAgain(part, before) {
  const href = before.getAttribute("href");
  const now = href ? part.querySelector(`a[href="${CSS.escape(href)}"]`) : before;
  if (now?.isConnected) now.focus({ preventScroll: true });
}

// Times since something began, by the server's clock.
export function showTimes(within = document) {
  for (const each of within.querySelectorAll("time[data-since]")) {
    const text = duration(serverTime() - Number(each.dataset.since));
    if (each.textContent !== text) each.textContent = text;
  }
}

function duration(ms) {
  const s = Math.max(0, Math.round(ms / 1000));
  if (s < 60) return `${s} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min`;
  if (s < 172800) return `${Math.floor(s / 3600)} h ${Math.floor((s % 3600) / 60)} min`;
  return `${Math.floor(s / 86400)} days`;
}

listen((changed) => {
  if (changed.alerts) showAlerts(changed.alerts);
  if (changed.parts) {
    showParts(changed.parts);
    showTimes();
  }
  document.dispatchEvent(new CustomEvent("changed", { detail: changed }));
});
showTimes();
setInterval(showTimes, 1000);
