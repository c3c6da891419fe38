// The players' board: shows what comes, and connects again by itself for ever.

const SILENT_MS = 25000;
const line = document.getElementById("line");
let source = null, heard = 0;

function say(text) {
  line.textContent = text;
  line.hidden = text === "";
}

function open() {
  source?.close();
  heard = Date.now();
  source = new EventSource(document.body.dataset.live);
  source.onmessage = (event) => {
    heard = Date.now();
    say("");
    const { parts } = JSON.parse(event.data);
    if (parts?.board) document.getElementById("board").innerHTML = parts.board;
  };
  source.onerror = () => say("Connection lost");
}

setInterval(() => {
  const lost = source.readyState === EventSource.CLOSED ? 5000 : SILENT_MS;
  if (Date.now() - heard > lost) open();
}, 5000);
open();
