"use strict";
// The page: failures, warnings, sizes, maps, and the list of assets with its filters.

const BATCH = 60; // entries that are added at a time
const SHOWN_NODES = 7; // of an entry in the list

const SHOWN_FAILURES = 6; // at once; the rest unfolds
const GROUPED_FROM = 4; // failures that are alike

const page = {
  store: document.getElementById("data-index") ? fileStore() : serverStore(),
  index: null,
  elements: new Map(), // entries in the list, by name: what they show, and the element
  limit: BATCH,
  image,
  nodeTile,
};
const byId = (id) => document.getElementById(id);

function image(key, text) {
  const found = make("img", { alt: text, loading: "lazy", decoding: "async" });
  found.addEventListener("load", () => found.classList.toggle("small", Math.max(found.naturalWidth, found.naturalHeight) <= 48));
  page.store.thumbnail(key).then((address) => {
    if (address) found.src = address;
    else found.replaceWith("too many pictures for one page");
  });
  return found;
}

function frame(key, text, instead, problem) {
  if (key) return make("span", { class: "frame" }, image(key, text));
  return problem
    ? make("span", { class: "frame empty problem", title: problem }, `no picture: ${problem}`)
    : make("span", { class: "frame empty", "aria-hidden": "true" }, instead);
}

function stateClass(node) {
  if (node.outcome === "failed") return "state-failed";
  if (node.outcome === "not built") return "state-not";
  if (node.warnings) return "state-warned";
  return node.outcome === "unchanged" ? "soft" : "state-built";
}

// Let a name be broken after a dot or an underscore, and not in the middle of a word.
function breakable(name) {
  return name.replace(/[._]/g, "$&\u200b");
}

function nodeTile(number, isOne = false) {
  const node = page.index.nodes[number];
  const files = node.bytes ? formatBytes(node.bytes) : "no file";
  const marks = node.warnings ? `, ${node.warnings} warning${node.warnings > 1 ? "s" : ""}` : "";
  const kind = node.task.slice(node.stem.length + 1).split("/").pop();
  return make(
    "button", { type: "button", class: "tile", title: node.task, onclick: () => openNode(number) },
    frame(node.picture, node.task, kind, node.problem),
    make("b", {}, breakable(node.stem)),
    isOne ? null : make("span", {}, breakable(kind)),
    make("span", {}, files),
    make("span", { class: stateClass(node) }, `${node.outcome}${marks}`),
  );
}

function entryElement(entry, numbers) {
  const nodes = numbers.map((number) => page.index.nodes[number]);
  const failed = nodes.filter((one) => one.error);
  // What has no file to be called by, such as a scene, is called like its task.
  const name = entry.path ? entry.path.split("/").pop() : entry.name.slice(entry.name.indexOf(":") + 1);
  const source = entry.path && make(
    "button", { type: "button", class: "tile source", title: entry.path, onclick: () => openEntry(entry.name) },
    frame(entry.picture, entry.path, name.split(".").pop(), entry.problem),
    make("b", {}, "source"), make("span", {}, formatBytes(entry.bytes)),
  );
  // Those with a picture first, and failures before them.
  const shown = numbers.filter((number) => isShown(page.index.nodes[number]));
  const order = [...shown].sort((a, b) => rank(page.index.nodes[b]) - rank(page.index.nodes[a]));
  const rest = order.length - SHOWN_NODES;
  const tiles = Math.min(order.length, SHOWN_NODES) + (source ? 1 : 0);
  return make(
    "li", { class: failed.length ? "entry failed" : "entry", "data-name": entry.name, style: `--tiles: ${tiles}` },
    make("h3", {}, name),
    make("div", { class: "path" }, entry.path ?? entry.name),
    make(
      "div", { class: "tiles" }, source,
      ...order.slice(0, SHOWN_NODES).map((number) => nodeTile(number, isOnlyOne(number, shown))),
    ),
    rest > 0 ? make("p", {}, make("button", { type: "button", onclick: () => openEntry(entry.name) }, `${rest} more`)) : null,
    ...failed.map((one) => make("p", { class: "problem" }, `${one.task}: ${one.error.problem}`)),
  );
}

// Steps between, which make no file, are among the details; one that failed is of interest here.
function isShown(node) {
  return node.bytes || node.error || node.outcome === "not built";
}

// Whether an entry has no other node of the same manifest, so that the manifest's name says enough.
function isOnlyOne(number, numbers) {
  const { stem } = page.index.nodes[number];
  return numbers.every((other) => other === number || page.index.nodes[other].stem !== stem);
}

function rank(node) {
  if (node.error) return 3;
  return (node.picture ? 1 : 0) + (node.bytes ? 1 : 0);
}

function hasState(node, state) {
  if (state === "with warnings") return Boolean(node.warnings);
  return node.outcome === state;
}

// The entries that pass the filters, each with the numbers of its nodes that do.
function filtered() {
  const words = byId("search").value.toLowerCase().split(/\s+/).filter(Boolean);
  const target = byId("by-target").value;
  const state = byId("by-state").value;
  const found = [];
  for (const entry of page.index.entries) {
    const numbers = entry.nodes.filter((number) => {
      const node = page.index.nodes[number];
      return (!target || node.stem === target || page.targets.get(node.stem) === target) && (!state || hasState(node, state));
    });
    if (!numbers.length) continue;
    const text = `${entry.name} ${numbers.map((number) => page.index.nodes[number].task).join(" ")}`.toLowerCase();
    if (words.every((word) => text.includes(word))) found.push({ entry, numbers });
  }
  return sorted(found);
}

function sorted(found) {
  const key = byId("sort").value;
  if (key === "name") return found;
  const total = ({ numbers }) => numbers.reduce((sum, number) => sum + (page.index.nodes[number][key] ?? 0), 0);
  return found.map((one) => [total(one), one]).sort((a, b) => b[0] - a[0]).map((one) => one[1]);
}

function renderEntries() {
  const found = filtered();
  const nodes = found.reduce((sum, one) => sum + one.numbers.length, 0);
  byId("count").textContent = `${found.length.toLocaleString("en")} of ${page.index.entries.length.toLocaleString("en")} assets, ${nodes.toLocaleString("en")} nodes`;
  const kept = new Map();
  for (const { entry, numbers } of found.slice(0, page.limit)) {
    // An element whose content is the same stays: pictures do not flicker, focus is not lost.
    const content = JSON.stringify([entry, numbers.map((number) => [number, page.index.nodes[number]])]);
    const before = page.elements.get(entry.name);
    const element = before?.content === content ? before.element : entryElement(entry, numbers);
    if (before && before.content !== content && page.isUpdate) element.classList.add("changed");
    kept.set(entry.name, { content, element });
  }
  page.elements = kept;
  byId("entry-list").replaceChildren(...[...kept.values()].map((one) => one.element));
  byId("more").hidden = found.length <= page.limit;
}

// Many failures that are alike are one box, as in the terminal: the first with its facts, and the
// names of the others.
function renderFailures() {
  const { nodes } = page.index;
  const failed = nodes.map((one, number) => ({ ...one, number })).filter((one) => one.error);
  byId("failures").hidden = !failed.length;
  byId("failures-title").textContent = `Failures (${failed.length.toLocaleString("en")})`;
  const alike = new Map(failed.map((one) => [one.alike, []]));
  for (const one of failed) alike.get(one.alike).push(one);
  const open = openKeys("failure-list");
  const boxes = failed.map((one) => {
    const equals = alike.get(one.alike);
    if (equals.length < GROUPED_FROM) return failureBox(one.task, one.error);
    if (equals[0] !== one) return null;
    const box = failureBox(one.task, one.error);
    const others = equals.slice(1).map(failedTask);
    box.append(unfolding(one.alike, `and so ${others.length.toLocaleString("en")} more`, open, make("ul", {}, ...others)));
    return box;
  }).filter(Boolean);
  const rest = boxes.splice(SHOWN_FAILURES);
  if (rest.length) boxes.push(unfolding("", `${rest.length} more`, open, ...rest));
  byId("failure-list").replaceChildren(...boxes);
}

// What the reader has unfolded stays so when the list is drawn again.
function openKeys(id) {
  return new Set([...byId(id).querySelectorAll("details[open]")].map((one) => one.dataset.key));
}

function unfolding(key, text, open, ...children) {
  return make("details", { "data-key": key, open: open.has(key) }, make("summary", {}, text), ...children);
}

function failedTask({ task, number }) {
  return make("li", {}, make("button", { type: "button", class: "link", onclick: () => openNode(number) }, task));
}

function renderWarnings() {
  const groups = page.index.warnings;
  const count = groups.reduce((sum, group) => sum + group.items.reduce((all, one) => all + one.tasks.length, 0), 0);
  byId("warnings").hidden = !groups.length;
  byId("warnings-title").textContent = `Warnings (${count})`;
  const open = openKeys("warning-list");
  byId("warning-list").replaceChildren(...groups.map((group) => {
    const number = group.items.reduce((sum, one) => sum + one.tasks.length, 0);
    const title = make("span", {}, make("b", {}, group.group), ` (${number}): ${group.about}`);
    return unfolding(group.group, title, open, make("ul", {}, ...group.items.slice(0, 500).map(warningLine)));
  }));
}

function warningLine({ text, tasks }) {
  const rest = tasks.length > 5 ? ` and ${tasks.length - 5} more` : "";
  return make("li", {}, text, " ", make("span", { class: "path soft" }, tasks.slice(0, 5).join(", ") + rest));
}

function budgetBox(manifest) {
  const numbers = new Map(page.index.nodes.map((one, number) => [one.task, number]));
  const partOf = ([task, size]) => {
    const name = task.slice(manifest.stem.length + 1);
    return { name, group: name.includes("/") ? name.split("/")[0] : "", size, node: numbers.get(task) };
  };
  // What a packed file says that it holds is nearer to the truth than the files it was made of.
  const pieces = manifest.contents
    ? sizedPieces(manifest.contents, (node) => numbers.get(`${manifest.stem}:${node}`))
    : Object.entries(manifest.parts).map(partOf);
  const { limit } = manifest;
  const size = manifest.used ? formatBytes(manifest.used) : "nothing built";
  const used = `${manifest.what}${manifest.isLargest ? ", the largest" : ""}: ${size}`;
  return make(
    "div", { class: "budget" },
    make("h3", {}, manifest.stem),
    make("p", { class: limit && manifest.used > limit ? "over" : "soft" }, limit ? `${used} of ${formatBytes(limit)}` : `${used}, no budget set`),
    limit ? make("meter", { value: manifest.used, max: limit, high: limit * 0.9, "aria-label": used }) : null,
    // The cache may lack what a pack's own sizes are read from.
    manifest.isPack && !manifest.contents && pieces.length
      ? make("p", { class: "soft" }, "By the sizes of loose files: what the pack holds is not known.") : null,
    ...treemap(pieces, `Sizes of ${manifest.stem}`, openNode),
  );
}

function renderSizes() {
  byId("budget-list").replaceChildren(...page.index.manifests.map(budgetBox));
}

async function renderMaps() {
  const boxes = await Promise.all(page.index.charts.map(async (number) => {
    const { task } = page.index.nodes[number];
    const { chart } = await page.store.detail(number, task);
    return make("div", { class: "map" }, make("h3", {}, `${chart.title} (${task.split(":")[0]})`), ...drawChart(chart));
  }));
  byId("map-list").replaceChildren(...boxes);
}

function fillSelect(id, values) {
  const select = byId(id);
  const chosen = select.value;
  const options = values.map((value) => make("option", { value }, value));
  select.replaceChildren(select.options[0], ...options);
  select.value = values.includes(chosen) ? chosen : "";
}

function renderHead() {
  const { index } = page;
  document.title = `${index.project}: Cartwright report`;
  byId("title").textContent = index.project;
  const counts = new Map();
  for (const node of index.nodes) counts.set(node.outcome, (counts.get(node.outcome) ?? 0) + 1);
  const states = [...counts].map(([name, count]) => `${count.toLocaleString("en")} ${name}`).join(", ");
  const when = index.started && `Built ${new Date(index.started).toLocaleString()} in ${formatSeconds(index.seconds)}, Cartwright ${index.version}.`;
  byId("summary").textContent = when ? `${states}. ${when}` : "There is no build yet.";
  page.targets = new Map(index.manifests.map((one) => [one.stem, one.target]));
  fillSelect("by-target", [...new Set([...page.targets.values(), ...page.targets.keys()])].sort());
  const warned = index.nodes.some((one) => one.warnings) ? ["with warnings"] : [];
  fillSelect("by-state", [...[...counts.keys()].sort(), ...warned]);
}

// The three views; only the one that is shown is drawn.
const VIEWS = { assets: renderEntries, sizes: renderSizes, maps: renderMaps };

async function showView() {
  const wanted = location.hash.slice(1);
  page.view = wanted in VIEWS && !(wanted === "maps" && !page.index.charts.length) ? wanted : "assets";
  for (const name of Object.keys(VIEWS)) byId(name).hidden = name !== page.view;
  const links = Object.keys(VIEWS).filter((name) => name !== "maps" || page.index.charts.length);
  byId("sections").replaceChildren(...links.map((name) => make(
    "a", { href: `#${name}`, "aria-current": name === page.view ? "page" : null }, byId(`${name}-title`).textContent,
  )));
  await VIEWS[page.view]();
}

async function render() {
  renderHead();
  renderFailures();
  renderWarnings();
  await showView();
}

// Load again after a build, and leave the reader where they are.
async function update() {
  page.index = await page.store.index();
  page.isUpdate = true;
  const anchor = topmostEntry();
  const before = anchor?.element.getBoundingClientRect().top;
  await render();
  const after = anchor && page.elements.get(anchor.name)?.element.getBoundingClientRect().top;
  // A failure that appears above pushes everything down: what the reader looks at stays in place.
  if (typeof after === "number" && page.view === "assets" && scrollY > 0) scrollBy({ top: after - before, behavior: "instant" });
  await refreshDetail();
}

// The first entry whose top is seen, or else the one that fills the screen: above the top of what
// the reader looks at, anything may grow or shrink.
function topmostEntry() {
  const places = [...page.elements].map(([name, { element }]) => ({ name, element, place: element.getBoundingClientRect() }));
  const isSeen = ({ place }) => place.top >= 0 && place.top < innerHeight;
  return places.find(isSeen) ?? places.find(({ place }) => place.bottom > 0) ?? null;
}

function follow() {
  const status = byId("live");
  const show = (text, isBad = false) => {
    status.hidden = !text;
    status.textContent = text;
    status.classList.toggle("bad", isBad);
  };
  const showGone = () => show("The server does not answer; the page goes on when it is back.", true);
  const events = page.store.events();
  events.addEventListener("building", (event) => show(`Building: ${JSON.parse(event.data).text}`));
  // One after the other, so that the page never goes back to what it was.
  let last = Promise.resolve();
  const updateAndShow = (text, isBad) => { last = last.then(update).then(() => show(text, isBad), showGone); };
  events.addEventListener("listed", () => updateAndShow("Drawing pictures."));
  events.addEventListener("built", (event) => {
    const { problem, more } = JSON.parse(event.data);
    updateAndShow(problem || (more ? "Drawing the other pictures." : "Watching for changes."), Boolean(problem));
  });
  events.addEventListener("error", showGone);
  events.addEventListener("open", () => show("Watching for changes."));
}

function setUpFilters() {
  const again = () => { page.limit = BATCH; renderEntries(); };
  for (const id of ["search", "by-target", "by-state", "sort"]) byId(id).addEventListener("input", again);
  byId("filters").addEventListener("submit", (event) => event.preventDefault());
  const more = () => { page.limit += BATCH; renderEntries(); };
  byId("show-more").addEventListener("click", more);
  new IntersectionObserver((seen) => seen.some((one) => one.isIntersecting) && more(), { rootMargin: "600px" }).observe(byId("more"));
  document.addEventListener("keydown", (event) => {
    const isTyping = /^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement?.tagName ?? "");
    if (event.key === "/" && !isTyping) { event.preventDefault(); byId("search").focus(); }
  });
}

async function start() {
  setUpDetail(page);
  page.index = await page.store.index();
  await render();
  setUpFilters();
  addEventListener("hashchange", showView);
  if (page.store.isLive) follow();
  document.documentElement.dataset.ready = performance.now().toFixed();
}

start();
