// The feed of a page, which all pages of the browser share. It goes on where it was: after a lost
// connection, a server that was started again, or a hidden tab.

import { Hub } from "./hub.js";
import { beat } from "./beat.js";

const HERE_MS = 20000;
const NO_HUB_MS = 60000; // a worker that says nothing for so long has ended
const HIDDEN_MS = 60000;

const { live, have = "", browser = "" } = document.body.dataset;
const line = document.getElementById("line");

// `show` gets what has changed. `ended` is called when the session has, or what the page is about.
export function listen(show, ended = () => location.reload()) {
  if (!live) return;
  let last = have, port = null, heard = 0, hidden = 0, shared = true;

  function connect() {
    port?.close();
    heard = performance.now();
    port = shared ? sharedHub() : ownHub();
    port.onmessage = ({ data }) => told(data);
    here();
  }

  function sharedHub() {
    if (!globalThis.SharedWorker) return ownHub();
    const worker = new SharedWorker(new URL("./worker.js", import.meta.url), { type: "module" });
    worker.onerror = () => {
      if (shared) port = null, shared = false, connect();
    };
    return worker.port;
  }

  function ownHub() {
    shared = false;
    const { port1, port2 } = new MessageChannel();
    new Hub().join(port2);
    return port1;
  }

  const here = (more) => port.postMessage({ path: live, have: last, browser, ...more });

  function told({ changed, id, refused, ended: over, lost }) {
    heard = performance.now();
    if (over || refused === 401 || refused === 403 || refused === 404) ended();
    else if (lost) say("Connection lost. Trying again.");
    else if (changed) {
      say("");
      show(changed); // first: a page that could not show it is not live
      last = id ?? "";
      beat(changed);
      here();
    }
  }

  function say(text) {
    if (line && line.textContent !== text) line.textContent = text;
    if (line) line.hidden = text === "";
  }

  addEventListener("pagehide", () => port.postMessage({ bye: true }));
  addEventListener("pageshow", ({ persisted }) => persisted && here());
  document.addEventListener("visibilitychange", () => {
    clearTimeout(hidden);
    if (!document.hidden) here();
    else if (!shared) hidden = setTimeout(() => port.postMessage({ bye: true }), HIDDEN_MS);
  });
  setInterval(() => {
    if (document.hidden && !shared) return;
    if (performance.now() - heard > NO_HUB_MS) connect();
    else here({ ask: true });
  }, HERE_MS);
  connect();
}
