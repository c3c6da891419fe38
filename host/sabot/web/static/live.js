// The feed of a page. It goes on where it was: after a lost connection, a server that was started
// again, or a hidden tab. Changes are shown together, once a frame.

const SILENT_MS = 25000; // the server says something every ten seconds
const AGAIN_MS = 2000;
const HIDDEN_MS = 60000;

const { live, have } = document.body.dataset;
const line = document.getElementById("line");

export function listen(show) {
  if (!live) return;
  let last = have ?? "", source = null, heard = Date.now(), again = 0, hidden = 0;

  function open() {
    clearTimeout(again);
    source?.close();
    heard = Date.now();
    const address = new URL(live, location.href);
    address.searchParams.set("after", last);
    source = new EventSource(address);
    source.onmessage = (event) => {
      heard = Date.now();
      last = event.lastEventId;
      say("");
      show(JSON.parse(event.data));
    };
    source.addEventListener("ended", () => location.reload());
    source.onerror = lost;
  }

  async function lost() {
    say("Connection lost. Trying again.");
    if (source.readyState !== EventSource.CLOSED) return; // the browser tries again by itself
    source.close();
    clearTimeout(again);
    again = setTimeout(open, AGAIN_MS);
    const answer = await fetch(live, { method: "HEAD" }).catch(() => null);
    if (answer && (answer.status === 401 || answer.status === 403)) location.reload();
  }

  function say(text) {
    if (line && line.textContent !== text) line.textContent = text;
    if (line) line.hidden = text === "";
  }

  // A page that shows one table need not hear of it while no one sees it: a browser has only six
  // connections to a server. The wall and the alerts go on, for their count and sound.
  const rests = document.body.dataset.rests !== undefined;
  document.addEventListener("visibilitychange", () => {
    clearTimeout(hidden);
    if (document.hidden && rests) hidden = setTimeout(() => source.close(), HIDDEN_MS);
    else if (!document.hidden && source.readyState === EventSource.CLOSED) open();
  });
  setInterval(() => {
    const resting = rests && document.hidden;
    if (!resting && Date.now() - heard > SILENT_MS) open();
  }, 5000);
  open();
}
