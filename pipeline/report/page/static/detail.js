"use strict";
// The dialog about one node or one source: pictures side by side, facts, 3D view, sound, graph.

// What was asked for last, what the dialog is filled with, its title, and all that it shows as one text.
const NOTHING_SHOWN = { shown: null, filled: null, title: "", content: "" };
const detail = { ...NOTHING_SHOWN };

function setUpDetail(page) {
  const dialog = document.getElementById("detail");
  document.getElementById("detail-close").addEventListener("click", () => dialog.close());
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
  dialog.addEventListener("close", () => {
    // The event comes late: by now something else may be open, or about to be.
    if (dialog.open || detail.shown !== detail.filled) return;
    // A 3D view and a sound end with the dialog.
    document.getElementById("detail-body").replaceChildren();
    Object.assign(detail, NOTHING_SHOWN);
  });
  addEventListener("message", (event) => {
    const view = dialog.querySelector("iframe");
    if (view && event.source === view.contentWindow && event.data === "escape") dialog.close();
  });
  detail.page = page;
}

// Show something in the dialog, or the same again after a build: then the reader keeps the place.
function fillDetail(title, facts, makeParts) {
  const dialog = document.getElementById("detail");
  const heading = document.getElementById("detail-title");
  const content = JSON.stringify(facts);
  const isUpdate = dialog.open && detail.title === title;
  detail.filled = detail.shown;
  if (isUpdate && detail.content === content) return;
  const place = isUpdate ? dialog.scrollTop : 0;
  Object.assign(detail, { title, content });
  heading.textContent = title;
  replaceParts(makeParts().flat().filter(Boolean), isUpdate);
  if (!dialog.open) dialog.showModal();
  else if (!isUpdate) heading.focus();
  dialog.scrollTop = place;
}

// Put parts into the dialog. In an update, a 3D view or a sound that is the same stays: it would
// begin again. A view of a model that changed is opened again.
function replaceParts(parts, isUpdate) {
  const body = document.getElementById("detail-body");
  const before = isUpdate ? [...body.children] : [];
  const sameOf = (part) => part.dataset.media && before.find((one) => one.dataset.media === part.dataset.media);
  const found = parts.map((part) => sameOf(part) ?? part);
  const view = before.find((one) => one.matches(".model:has(iframe)"));
  const box = found.find((one) => one.matches(".model"));
  if (view && box && view !== box) {
    box.style.minHeight = `${view.offsetHeight}px`;
    showModel(box);
  }
  for (const one of [...body.children]) if (!found.includes(one)) one.remove();
  // What stays is not moved, because a frame that is moved loads again.
  let next = null;
  for (const one of found.reverse()) {
    if (one.parentNode !== body) body.insertBefore(one, next);
    next = one;
  }
}

async function openNode(number, isUpdate = false) {
  const { index, store } = detail.page;
  const node = index.nodes[number];
  const shown = isUpdate ? detail.shown : { node: node.task };
  detail.shown = shown;
  const more = await store.detail(number, node.task);
  if (detail.shown !== shown) return; // it was closed meanwhile, or something else was opened
  const entry = index.entries.find((one) => one.nodes.includes(number));
  const source = entry && [entry.path, entry.bytes, entry.picture, entry.problem];
  fillDetail(node.task, [source, node, more], () => [
    pictures(entry, node),
    more.glb && modelView(more.glb),
    more.sound && soundPlayer(more.sound),
    more.error && failureBox(node.task, more.error),
    factTable(node, more),
    more.warnings.length && listOf("Warnings", more.warnings),
    Object.keys(more.options).length && heading("Options", tableOf(Object.entries(more.options))),
    more.chart && heading(more.chart.title ?? "Palette", ...drawChart(more.chart)),
    graph(more),
    more.outputs.length && heading("Files", fileTable(more.outputs)),
  ]);
}

function openEntry(name, isUpdate = false) {
  const { index } = detail.page;
  const entry = index.entries.find((one) => one.name === name);
  if (!entry) return;
  if (!isUpdate) detail.shown = { entry: name };
  const tiles = make("div", { class: "tiles" }, ...entry.nodes.map((number) => detail.page.nodeTile(number)));
  const nodes = entry.nodes.map((number) => index.nodes[number]);
  fillDetail(entry.path ?? entry.name, [entry, nodes], () => [
    entry.picture && make("div", { class: "side" }, figure(entry.picture, `source, ${formatBytes(entry.bytes)}`)),
    entry.problem && make("p", { class: "problem" }, `No picture: ${entry.problem}`),
    entry.glb && modelView(entry.glb),
    entry.sound && soundPlayer(entry.sound),
    heading(`What becomes of it (${entry.nodes.length})`, tiles),
  ]);
}

async function refreshDetail() {
  const { index } = detail.page;
  if (detail.shown?.entry) openEntry(detail.shown.entry, true);
  if (detail.shown?.node) {
    const number = index.nodes.findIndex((one) => one.task === detail.shown.node);
    if (number >= 0) await openNode(number, true);
    else document.getElementById("detail").close();
  }
}

function heading(text, ...children) {
  return [make("h3", {}, text), ...children];
}

function listOf(title, texts) {
  return heading(title, make("ul", {}, ...texts.map((one) => make("li", {}, one))));
}

function tableOf(rows) {
  const body = rows.map(([name, value]) => make("tr", {}, make("td", { class: "key" }, name), make("td", {}, String(value))));
  return make("table", {}, make("tbody", {}, ...body));
}

function fileTable(outputs) {
  const { store } = detail.page;
  const rows = outputs.slice(0, 200).map(([path, bytes]) => make(
    "tr", {},
    make("td", { class: "path" }, store.output ? make("a", { href: store.output(path), download: true }, path) : path),
    make("td", { class: "number" }, formatBytes(bytes)),
  ));
  const rest = outputs.length - rows.length;
  return make("table", {}, make("tbody", {}, ...rows, rest > 0 ? make("tr", {}, make("td", {}, `${rest} more`)) : null));
}

function figure(key, text) {
  const frame = make("div", { class: "frame big" }, detail.page.image(key, text));
  return make("figure", {}, frame, make("figcaption", {}, text));
}

function pictures(entry, node) {
  const found = [];
  if (entry?.picture) found.push(figure(entry.picture, `source: ${entry.path}, ${formatBytes(entry.bytes)}`));
  if (node.picture) found.push(figure(node.picture, `${node.stem}: ${formatBytes(node.bytes ?? 0)}`));
  const problems = [entry?.path && entry.problem, node.problem].filter(Boolean);
  return [
    found.length ? make("div", { class: "side" }, ...found) : null,
    ...problems.map((one) => make("p", { class: "problem" }, `No picture: ${one}`)),
  ];
}

function factTable(node, more) {
  const rows = [["state", node.outcome]];
  if (more.reason) rows.push(["why it was built", more.reason]);
  rows.push(["time", formatSeconds(node.seconds ?? 0)], ["size", node.bytes ? formatBytes(node.bytes) : "no file"]);
  if (more.peak) rows.push(["memory", formatBytes(more.peak)]);
  return make("dl", {}, ...rows.flatMap(([name, value]) => [make("dt", {}, name), make("dd", {}, value)]));
}

function failureBox(task, error) {
  const facts = Object.entries(error.facts).flatMap(([name, value]) => [make("dt", {}, name), make("dd", {}, value)]);
  return make(
    "article", { class: "failure" },
    make("h3", {}, `${task}: ${error.problem}`),
    facts.length ? make("dl", {}, ...facts) : null,
    error.hint ? make("p", { class: "hint" }, error.hint) : null,
  );
}

function graph(more) {
  const { index } = detail.page;
  const numbers = new Map(index.nodes.map((one, number) => [one.task, number]));
  const node = (task) => make("li", {}, numbers.has(task)
    ? make("button", { type: "button", onclick: () => openNode(numbers.get(task)) }, task) : task);
  const sources = more.inputs.filter(([path]) => !index.nodes.some((one) => one.task === path));
  const from = [...sources.map(([path, bytes]) => make("li", { class: "path" }, `${path}, ${formatBytes(bytes)}`)), ...more.needs.map(node)];
  const part = (title, items) => make("div", {}, make("h3", {}, title), items.length ? make("ul", {}, ...items) : make("p", { class: "soft" }, "nothing else"));
  return make("div", { class: "graph" }, part("Made from", from), part("Goes into", more.used_by.map(node)));
}

function soundPlayer(key) {
  const player = make("audio", { controls: true, preload: "none" });
  const box = make("div", { "data-media": `sound-${key}` }, ...heading("Sound"), player);
  detail.page.store.media("sound", key).then((bytes) => {
    if (bytes) player.src = URL.createObjectURL(new Blob([bytes], { type: "audio/wav" }));
    else player.replaceWith(make("p", { class: "soft" }, "The sound is too large for this page; `doit serve` plays it."));
  });
  return box;
}

function modelView(key) {
  const box = make("div", { class: "model", "data-media": key });
  const open = async () => {
    button.disabled = true;
    const frame = await showModel(box);
    // Not before: what is in it by then would have the focus, and be gone.
    frame?.addEventListener("load", () => frame.focus());
  };
  const button = make("button", { type: "button", onclick: open }, "Open the 3D view");
  box.append(button);
  return [make("h3", {}, "3D view"), box];
}

// Show a model in its box; return the frame, or null where there is none. The viewer is a large
// script: it is read when somebody asks for it.
async function showModel(box) {
  const { store } = detail.page;
  const [viewer, bytes] = await Promise.all([store.viewer(), store.media("glb", box.dataset.media)]);
  if (!viewer || !bytes) {
    const reason = viewer ? "The model is too large for this page; `doit serve` shows it."
      : 'There is no viewer; install it with `pip install "cartwright-build[report]"`.';
    box.replaceChildren(make("p", { class: "soft" }, reason));
    return null;
  }
  const frame = make("iframe", { title: "3D view: drag to turn, scroll to zoom; arrow keys turn, + and - zoom", sandbox: "allow-scripts" });
  const isDark = matchMedia("(prefers-color-scheme: dark)").matches;
  frame.srcdoc = viewer.replace("@model@", () => toBase64(bytes)).replace("@theme@", isDark ? "dark" : "light");
  box.replaceChildren(frame);
  return frame;
}
