// One feed for any number of pages: a browser has only six connections to a server.
//
// A page sends { path, have, browser } when it opens, with every message that it gets, and now and then:
// the path of its feed, the id of what it has, and whose session it is of; { bye } when it leaves. It gets
// { changed }, { refused }, { ended }, { lost }, and { here } for an answer to { ask }.

const SOON_MS = 50; // several pages that open together are one change of the feed
const AGAIN_MS = 2000;
const LATER_MS = 5000; // until something that was refused is asked for again
const SILENT_MS = 15000; // the server says something every five seconds
const GONE_MS = 200000; // a page says every 20 s that it is there; a hidden one may say it once a minute
const MOST_UNHEARD = 250; // messages: a page that a browser has frozen must not gather them
const MOST_PARTS = 200;

export class Hub {
  #pages = new Map(); // by its port
  #source = null;
  #feed = 0; // counts the feeds: a page gets only what comes of one that was asked for with it
  #timer = 0;
  #heard = performance.now();

  constructor() {
    setInterval(() => this.#look(), 5000);
  }

  join(port) {
    port.onmessage = ({ data }) => this.#told(port, data);
  }

  #told(port, { bye, ask, path, have, browser }) {
    if (bye) return this.#leave(port);
    const page = this.#pages.get(port);
    if (ask) port.postMessage({ here: true });
    if (page) Object.assign(page, { have, unheard: 0, here: performance.now() });
    else {
      this.#pages.set(port, { path, have, browser, unheard: 0, here: performance.now(), feed: 0 });
      this.#openIn(SOON_MS);
    }
  }

  #leave(port) {
    this.#pages.delete(port);
    if (!this.#pages.size) this.#close();
  }

  #close() {
    clearTimeout(this.#timer);
    this.#timer = 0;
    this.#source?.close();
    this.#source = null;
  }

  #openIn(ms) {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#open(), ms);
  }

  #open() {
    this.#close();
    if (!this.#pages.size) return;
    this.#heard = performance.now();
    const feed = ++this.#feed, parts = new Map();
    const browser = this.#endOthers();
    for (const page of this.#pages.values()) {
      const { path, have } = page;
      if (!parts.has(path) && parts.size === MOST_PARTS) continue;
      parts.set(path, parts.has(path) ? older(parts.get(path), have) : have);
      page.feed = feed;
    }
    const address = new URL("/stream", location.href);
    if (browser) address.searchParams.set("browser", browser);
    for (const [path, have] of parts) {
      address.searchParams.append("of", path);
      address.searchParams.append("after", have);
    }
    const source = this.#source = new EventSource(address);
    source.onmessage = ({ data, lastEventId }) => this.#changed(JSON.parse(data), lastEventId);
    source.addEventListener("ended", () => this.#ended());
    source.onerror = () => this.#lost(source, address);
  }

  // Someone else has signed in since: the pages of before end. Boards are of no one.
  #endOthers() {
    const newest = [...this.#pages.values()].findLast((page) => page.browser)?.browser ?? "";
    for (const [port, { browser }] of this.#pages)
      if (browser && browser !== newest) this.#send(port, { ended: true });
    for (const [port, { browser }] of this.#pages)
      if (browser && browser !== newest) this.#pages.delete(port);
    return newest;
  }

  #changed({ pages = {}, refused = {}, ...rest }, id) {
    this.#heard = performance.now();
    for (const [port, { path, feed }] of this.#pages) {
      if (feed !== this.#feed) continue;
      if (path in refused) {
        this.#send(port, { refused: refused[path] });
        this.#pages.get(port).feed = 0; // it hears nothing of what is live
      } else this.#send(port, { changed: { ...rest, ...pages[path] }, id });
    }
    if (Object.keys(refused).length) this.#openIn(LATER_MS);
  }

  #send(port, message) {
    const page = this.#pages.get(port);
    if (++page.unheard > MOST_UNHEARD) this.#pages.delete(port); // it comes back when it is heard again
    else port.postMessage(message);
  }

  #ended() {
    this.#close();
    for (const [port, { browser }] of [...this.#pages]) {
      if (!browser) continue;
      port.postMessage({ ended: true });
      this.#pages.delete(port);
    }
    if (this.#pages.size) this.#openIn(AGAIN_MS);
  }

  async #lost(source, address) {
    if (source !== this.#source) return;
    this.#close();
    for (const port of this.#pages.keys()) port.postMessage({ lost: true });
    this.#openIn(AGAIN_MS);
    const answer = await fetch(address, { method: "HEAD" }).catch(() => null);
    if (answer?.status === 401) this.#ended();
  }

  #look() {
    const now = performance.now();
    for (const [port, { here }] of [...this.#pages]) if (now - here > GONE_MS) this.#leave(port);
    if (this.#source && now - this.#heard > SILENT_MS) this.#open();
  }
}

// The older of two ids; of two runs of the server nothing is known, so everything is sent again.
function older(one, other) {
  const [run, version] = one.split("-"), [otherRun, otherVersion] = other.split("-");
  if (run !== otherRun) return "";
  return Number(version) < Number(otherVersion) ? one : other;
}
