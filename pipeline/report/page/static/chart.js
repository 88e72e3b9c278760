"use strict";
// Maps and treemaps as SVG. Every area can be reached with the keyboard, and what it is called
// stands in a line below the drawing, for touch screens and screen readers.

const TONES = [
  "#4c8fcb", "#d98a3d", "#5aa469", "#b0719c", "#c9b458", "#8a7fc7",
  "#5fa3a3", "#c46a5a", "#9bbf6a", "#a08a4a", "#d58bb0", "#8a93a0",
];
const LETTER = 0.57; // the width of a letter, in heights of the text

// How many units of a drawing are a pixel on this screen, so that texts can be read on a phone too.
function unitsOfPixel(width, boxWidth) {
  return width / Math.min(boxWidth, document.documentElement.clientWidth - 56);
}

// As much of a name as fits into a length.
function shorten(name, length, size) {
  const letters = Math.floor(length / (size * LETTER));
  return name.length > letters ? `${name.slice(0, Math.max(letters - 1, 0))}…` : name;
}

function readout() {
  return make("p", { class: "readout", "aria-live": "polite" });
}

// Let an area tell its name in the line below, on hover, focus and touch.
function tell(area, line, text) {
  const show = () => { line.textContent = text; };
  for (const event of ["pointerenter", "focus", "click"]) area.addEventListener(event, show);
  area.append(make("title", {}, text));
  return area;
}

// Let an area be pressed as buttons are: with the pointer, Enter and the space bar.
function asButton(press) {
  const onkeydown = (event) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault(); // the space bar would scroll
    press();
  };
  return { role: "button", onclick: press, onkeydown };
}

// Lay out sizes in a rectangle so that pieces are close to squares (squarified treemap).
function squarify(items, x, y, width, height, place) {
  let total = items.reduce((sum, one) => sum + one.size, 0);
  let start = 0;
  while (start < items.length && total > 0) {
    const side = Math.min(width, height);
    const scale = (width * height) / total;
    let end = start;
    let row = 0;
    let worst = Infinity;
    while (end < items.length) {
      const sum = (row + items[end].size) * scale;
      const largest = items[start].size * scale;
      const smallest = items[end].size * scale;
      const ratio = Math.max((side * side * largest) / (sum * sum), (sum * sum) / (side * side * smallest));
      if (ratio > worst) break;
      worst = ratio;
      row += items[end].size;
      end += 1;
    }
    const thickness = (row * scale) / side;
    let offset = 0;
    for (const one of items.slice(start, end)) {
      const length = (one.size * scale) / thickness;
      if (width >= height) place(one, x, y + offset, thickness, length);
      else place(one, x + offset, y, length, thickness);
      offset += length;
    }
    if (width >= height) { x += thickness; width -= thickness; }
    else { y += thickness; height -= thickness; }
    total -= row;
    start = end;
  }
}

// Say what colours stand for, each a pair of a name and a colour.
function legendOf(colors) {
  const entry = ([name, color]) => make("span", {}, make("i", { style: `background:${color}` }), name);
  return make("p", { class: "legend" }, ...colors.map(entry));
}

const MOST_PIECES = 150;

function treemap(pieces, label, open, [width, height] = [400, 220]) {
  const sorted = pieces.filter((one) => one.size > 0).sort((a, b) => b.size - a.size);
  const shown = sorted.slice(0, MOST_PIECES);
  const rest = sorted.slice(MOST_PIECES);
  if (rest.length) {
    shown.push({ name: `${rest.length} smaller files`, group: "", size: rest.reduce((sum, one) => sum + one.size, 0) });
    shown.sort((a, b) => b.size - a.size);
  }
  // In the order of their largest pieces: where colours are too few, small pieces share them.
  const groups = [...new Set(shown.map((one) => one.group))];
  const toneOf = (group) => TONES[groups.indexOf(group) % TONES.length];
  const line = readout();
  const textSize = 10.5 * unitsOfPixel(width, width);
  const drawing = make("svg", { viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": label });
  squarify(shown, 0, 0, width, height, (one, x, y, w, h) => {
    const text = `${one.name}, ${formatBytes(one.size)}`;
    const area = make("rect", {
      x, y, width: Math.max(w - 1, 0.5), height: Math.max(h - 1, 0.5),
      fill: toneOf(one.group), tabindex: 0, "aria-label": text,
      ...(one.node === undefined ? { role: "img" } : asButton(() => open(one.node))),
    });
    drawing.append(tell(area, line, text));
    const name = one.name.split("/").pop();
    if (w > 4 * textSize && h > 1.5 * textSize) {
      const shownName = shorten(name, w - 6, textSize);
      drawing.append(make("text", { x: x + 3, y: y + 1.2 * textSize, "font-size": textSize, fill: "#10151b" }, shownName));
    }
  });
  // Pieces of one folder have one colour, which says nothing where all are of one.
  const legend = groups.length > 1 ? legendOf(groups.map((one) => [one || "others", toneOf(one)])) : null;
  return [drawing, legend, line];
}

// The pieces of a packed file; `numberOf` gives the number of the node that made one.
function sizedPieces(parts, numberOf) {
  return parts.map((one) => ({ name: one.name, group: one.kind, size: one.bytes, node: one.node ? numberOf(one.node) : undefined }));
}

function sizeMap(chart) {
  return treemap(sizedPieces(chart.parts, () => undefined), chart.title, () => {}, [900, 360]);
}

// The name of an area, turned where it only fits along the area's height; none where it does not.
function areaLabel(area, size) {
  const name = area.name.split(",")[0].split("/").pop();
  const isTurned = area.height > area.width && name.length * size * LETTER + 6 > area.width;
  const [length, thickness] = isTurned ? [area.height, area.width] : [area.width, area.height];
  // What is called like its kind stands in the legend.
  const fewest = name === area.kind ? name.length : Math.min(name.length, 6);
  if (thickness <= 1.3 * size || length - 6 < fewest * size * LETTER) return null;
  const place = isTurned
    ? { transform: `translate(${area.x + 1.1 * size} ${area.y + area.height - 4}) rotate(-90)` }
    : { x: area.x + 4, y: area.y + 1.1 * size };
  return make("text", { ...place, "font-size": size, fill: "#10151b" }, shorten(name, length - 6, size));
}

const MAP_WIDTH = 640; // pixels of a map on a wide screen

function areaMap(chart) {
  const line = readout();
  const drawing = make(
    "svg", { viewBox: `0 0 ${chart.width} ${chart.height}`, role: "group", "aria-label": chart.title },
    make("rect", { class: "plane", width: chart.width, height: chart.height }),
  );
  for (const one of chart.areas) {
    const place = `at ${one.x}, ${one.y}, ${one.width} x ${one.height} words`;
    const text = one.name === one.kind ? `${one.kind} ${place}` : `${one.kind} ${one.name} ${place}`;
    const area = make("rect", {
      class: `area-${one.kind}`, x: one.x, y: one.y, width: one.width, height: one.height,
      stroke: "#10151b", "stroke-width": one.height > 4 ? 1 : 0, tabindex: 0, role: "img", "aria-label": text,
    });
    drawing.append(tell(area, line, text));
    const label = areaLabel(one, 10 * unitsOfPixel(chart.width, MAP_WIDTH));
    if (label) drawing.append(label);
  }
  const colors = { framebuffer: "#8a93a0", reserved: "#b08968", texture: "#4c8fcb", palette: "#d98a3d" };
  const kinds = [...new Set(chart.areas.map((one) => one.kind))];
  const legend = legendOf(kinds.map((kind) => [kind, colors[kind] ?? TONES[2]]));
  return [drawing, legend, line];
}

function tileMap(chart) {
  const xs = chart.tiles.flatMap((one) => [one.low[0], one.high[0]]);
  const ys = chart.tiles.flatMap((one) => [one.low[1], one.high[1]]);
  const [left, top] = [Math.min(...xs), Math.min(...ys)];
  const [width, height] = [Math.max(...xs) - left || 1, Math.max(...ys) - top || 1];
  const scale = MAP_WIDTH / width;
  const textSize = 13 * Math.min(unitsOfPixel(MAP_WIDTH, MAP_WIDTH), 1.4);
  const rowHeight = 1.15 * textSize;
  const most = Math.max(...chart.tiles.map((one) => one.levels[0]?.triangles ?? 0), 1);
  const line = readout();
  const drawing = make("svg", { viewBox: `0 0 ${MAP_WIDTH} ${height * scale}`, role: "group", "aria-label": chart.title });
  for (const tile of chart.tiles) {
    const counts = tile.levels.map((one) => `${one.name} ${one.triangles.toLocaleString("en")}`);
    const bytes = tile.levels.reduce((sum, one) => sum + one.bytes, 0);
    const text = `${tile.name}: triangles ${counts.join(", ")}; ${formatBytes(bytes)}`;
    const share = (tile.levels[0]?.triangles ?? 0) / most;
    const x = (tile.low[0] - left) * scale;
    const y = (tile.low[1] - top) * scale;
    const [w, h] = [(tile.high[0] - tile.low[0]) * scale, (tile.high[1] - tile.low[1]) * scale];
    const area = make("rect", {
      x, y, width: Math.max(w, 2), height: Math.max(h, 2), fill: `hsl(${150 - 130 * share} 45% 62%)`,
      stroke: "#10151b", tabindex: 0, role: "img", "aria-label": text,
    });
    drawing.append(tell(area, line, text));
    if (w > 4.5 * textSize) {
      tile.levels.slice(0, Math.floor((h - 8) / rowHeight)).forEach((one, row) => {
        const label = w > 8.5 * textSize ? `${one.name} ${one.triangles.toLocaleString("en")}` : one.triangles.toLocaleString("en");
        drawing.append(make("text", { x: x + 6, y: y + 4 + rowHeight * (row + 0.85), "font-size": textSize, fill: "#10151b" }, label));
      });
    }
  }
  return [drawing, line];
}

function palette(chart) {
  const list = make("div", { class: "palette", role: "img", "aria-label": `${chart.colors.length} colours` });
  for (const color of chart.colors) list.append(make("span", { style: `background:${color}`, title: color }));
  return [list];
}

function drawChart(chart) {
  const draw = { areas: areaMap, tiles: tileMap, sizes: sizeMap, palette }[chart.kind];
  return draw ? draw(chart) : [];
}
