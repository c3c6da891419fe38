// How old the picture of a page is. Each event, and the page itself, has a beat: the server's time, and
// its newest look at the log after which all was shown. The page is live while it hears of new looks. That
// a connection lasts says nothing: something on the way may hold it, or open it again and again.

const LATE_MS = 1000; // between two looks at the time that passes
const ANSWERS_MS = 9000; // a server that answers says something every 5 s

const line = document.getElementById("not-live");
const clock = document.getElementById("clock");
const after = line ? 1000 * line.dataset.afterS - LATE_MS : Infinity;
const runs = new Set(); // of the server, that have ended
let look = { run: "", s: -1 };
let fresh = performance.now(), made = 0; // the newest look, by the time that passes and the server's
let ahead = 0, zone = 0; // from the time that passes to the server's; from UTC to its zone
let heard = fresh, fault = "";

// Take a beat. One that came before, from something that plays old answers again, says nothing new.
export function beat({ now, zone_min, look: newest }) {
  heard = performance.now();
  if (newest.run === look.run ? newest.s <= look.s : runs.has(newest.run)) return;
  if (newest.run !== look.run) runs.add(look.run);
  look = newest;
  fresh = heard - newest.ago_ms;
  made = now - newest.ago_ms;
  ahead = now - heard;
  zone = 60000 * zone_min;
  showAge();
}

export const serverTime = () => ahead + performance.now();

const text = (time) => new Date(time + zone).toISOString().slice(11, 19);

function showAge() {
  if (clock) clock.textContent = text(serverTime());
  if (!line) return;
  const now = performance.now(), old = fault !== "" || now - fresh > after;
  document.body.classList.toggle("old", old);
  line.classList.add("scripted");
  line.hidden = !old;
  if (!old) return;
  const why = fault || (now - heard < ANSWERS_MS
    ? "The server answers, and gets nothing new from the log."
    : "The server does not answer.");
  const words = `${line.dataset.words.replace("{time}", text(made))}. ${why}`;
  if (line.textContent !== words) line.textContent = words;
}

// A part of the page that could not be shown leaves it old, whatever comes afterwards.
addEventListener("error", ({ error }) => {
  if (!error) return; // a file that could not be loaded, such as a picture
  fault = "The page has a fault: load it again.";
  showAge();
});

beat(JSON.parse(document.body.dataset.beat));
setInterval(showAge, LATE_MS);
