// The wall: tiles come as they change, and stand in the order of need.

import { showTimes } from "./page.js";

const wall = document.getElementById("wall");
const tiles = new Map([...wall.children].map((tile) => [tile.dataset.unit, tile]));
const waiting = new Map();
const compare = new Intl.Collator(undefined, { numeric: true }).compare;
let frame = 0;

function before(one, other) {
  const [a, b] = [one.dataset, other.dataset];
  return a.rank - b.rank || compare(a.name, b.name) || compare(a.unit, b.unit);
}

function tileOf(html) {
  const holder = document.createElement("template");
  holder.innerHTML = html;
  return holder.content.querySelector(".tile");
}

// The tile that stays, with all that the new one has: the browser lays out this tile alone.
function renewed(old, tile) {
  for (const { name, value } of tile.attributes)
    if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  old.replaceChildren(...tile.childNodes);
  return old;
}

function put(tile) {
  const old = tiles.get(tile.dataset.unit);
  showTimes(tile);
  const focused = old?.contains(document.activeElement);
  if (old && before(old, tile) === 0) tile = renewed(old, tile);
  else {
    old?.remove();
    let next = wall.firstElementChild;
    while (next && before(next, tile) < 0) next = next.nextElementSibling;
    wall.insertBefore(tile, next);
  }
  tiles.set(tile.dataset.unit, tile);
  if (focused) tile.querySelector("a")?.focus({ preventScroll: true });
}

function show() {
  frame = 0;
  for (const tile of waiting.values()) put(tile);
  waiting.clear();
}

document.addEventListener("changed", ({ detail }) => {
  if (detail.notice !== undefined) {
    const notice = document.getElementById("notice");
    notice.textContent = detail.notice;
    notice.hidden = detail.notice === "";
  }
  for (const html of detail.tiles ?? []) {
    const tile = tileOf(html);
    waiting.set(tile.dataset.unit, tile);
  }
  if (detail.all) {
    for (const [unit, tile] of tiles) {
      if (!waiting.has(unit)) {
        tile.remove();
        tiles.delete(unit);
      }
    }
  }
  if (waiting.size && !frame) frame = requestAnimationFrame(show);
  const known = new Set([...tiles.keys(), ...waiting.keys()]).size;
  if (detail.count < known) location.reload(); // a unit is gone; one that is new comes next
});

// Arrows and j, k go from tile to tile.
const LINES = { ArrowUp: -1, ArrowDown: 1 };
const STEPS = { ArrowLeft: -1, ArrowRight: 1, k: -1, j: 1 };
document.addEventListener("keydown", (event) => {
  if (event.altKey || event.ctrlKey || event.metaKey) return;
  const links = [...wall.querySelectorAll("h2 a")];
  const here = links.indexOf(document.activeElement);
  let to;
  if (event.key in STEPS) to = here + STEPS[event.key];
  else if (event.key in LINES && here >= 0) {
    const columns = getComputedStyle(wall).gridTemplateColumns.split(" ").length;
    to = here + LINES[event.key] * columns;
  } else return;
  if (links[to]) {
    event.preventDefault();
    links[to].focus();
  }
});
