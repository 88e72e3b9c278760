"use strict";
// Where the page gets its parts from: from itself (a file), or from the server of `doit serve`.
// Both have the same functions, so nothing else needs to know which it is.

function fileStore() {
  const text = (name) => document.getElementById(`data-${name}`)?.textContent ?? null;
  // The scripts run while the browser still reads the large parts behind them.
  const whole = document.readyState === "loading"
    ? new Promise((done) => { document.addEventListener("DOMContentLoaded", done); }) : Promise.resolve();
  const late = async (name) => { await whole; return text(name); };
  const thumbnails = once(async () => JSON.parse(await late("thumbnails")));
  const details = once(async () => JSON.parse(new TextDecoder().decode(await unpack(await late("details")))));
  return {
    isLive: false,
    index: async () => JSON.parse(text("index")),
    // A page with very many pictures may lack some: null says so in their place.
    thumbnail: async (key) => {
      const found = (await thumbnails())[key];
      return found ? `data:image/webp;base64,${found}` : null;
    },
    detail: async (number) => (await details())[number],
    media: async (kind, key) => {
      const packed = await late(`${kind}-${key}`);
      return packed === null ? null : unpack(packed);
    },
    viewer: async () => {
      const packed = await late("viewer");
      return packed === null ? null : new TextDecoder().decode(await unpack(packed));
    },
  };
}

function serverStore() {
  const token = new URLSearchParams(location.search).get("token");
  const address = (path) => (token ? `${path}?token=${encodeURIComponent(token)}` : path);
  const get = async (path) => {
    const answer = await fetch(address(path), { cache: "no-store" });
    if (answer.status === 404) return null;
    if (!answer.ok) throw new Error(`${path}: ${answer.status}`);
    return answer;
  };
  return {
    isLive: true,
    index: async () => (await get("data/index.json")).json(),
    thumbnail: async (key) => address(`media/thumbnail/${key}`),
    detail: async (number, task) => (await get(`data/node/${encodeURIComponent(task)}`)).json(),
    media: async (kind, key) => {
      const answer = await get(`media/${kind}/${key}`);
      return answer && new Uint8Array(await answer.arrayBuffer());
    },
    viewer: async () => (await get("viewer.html"))?.text() ?? null,
    output: (path) => address(`output/${path.split("/").map(encodeURIComponent).join("/")}`),
    events: () => new EventSource(address("events")),
  };
}

function once(make) {
  let value;
  return () => (value ??= make());
}

async function unpack(packed) {
  const bytes = Uint8Array.from(atob(packed), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

function toBase64(bytes) {
  let text = "";
  for (let start = 0; start < bytes.length; start += 32768) {
    text += String.fromCharCode(...bytes.subarray(start, start + 32768));
  }
  return btoa(text);
}

// Make an element. Texts never become HTML: names come from files.
function make(tag, attributes = {}, ...children) {
  const isDrawing = ["svg", "rect", "text", "title", "g"].includes(tag);
  const found = isDrawing
    ? document.createElementNS("http://www.w3.org/2000/svg", tag)
    : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) found.addEventListener(name.slice(2), value);
    else if (value === true) found.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) found.setAttribute(name, value);
  }
  found.append(...children.filter((one) => one !== null && one !== undefined));
  return found;
}

function formatBytes(count) {
  for (const unit of ["B", "kB", "MB"]) {
    const text = unit === "B" ? count.toFixed(0) : count.toFixed(1);
    if (Number(text) < 1000) return `${text} ${unit}`;
    count /= 1000;
  }
  return `${count.toFixed(1)} GB`;
}

function formatSeconds(seconds) {
  return seconds < 0.0995 ? `${(seconds * 1000).toFixed(seconds < 0.00995 ? 1 : 0)} ms` : `${seconds.toFixed(2)} s`;
}
