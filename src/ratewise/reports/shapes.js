"use strict";
// What each column adds to the score, and the score of a row that the reader makes.
const Shapes = (() => {
const interpolated = (xs, ys, x) => {
  if (x <= xs[0]) return ys[0];
  if (x >= xs[xs.length - 1]) return ys[ys.length - 1];
  let above = 1;
  while (xs[above] < x) above++;
  return ys[above - 1] + ((ys[above] - ys[above - 1]) * (x - xs[above - 1])) / (xs[above] - xs[above - 1]);
};

// What a column adds at a value; null stands for a missing one.
function adds(column, value) {
  if (column.labels) return column.values[value];
  if (value === null) return column.missing === null ? 0 : column.missing;
  if (!column.straight) return interpolated(column.points, column.values, value);
  const last = column.points.length - 1;
  return column.values[0] + ((column.values[last] - column.values[0]) * (value - column.points[0])) /
    (column.points[last] - column.points[0]);
}

// The score of a row: the values of the columns that can be set, all others as in a typical row.
function scoreOf(shapes, values) {
  const limit = shapes.typical.limit, within = (z) => Math.min(Math.max(z, -limit), limit), z = {};
  for (const [j, [typical]] of Object.entries(shapes.typical.columns)) z[j] = within(typical);
  const parts = [];
  shapes.columns.forEach((column, i) => {
    if (!column.settable) return;
    parts.push({ name: column.name, value: adds(column, values[i]) });
    column.matrix.forEach((j, place) => {
      if (!(j in z)) return;
      const [, centre, spread] = shapes.typical.columns[j];
      if (column.labels) z[j] = within(column.standardized[values[i]][place]);
      else z[j] = values[i] === null ? 0 : within((values[i] - centre) / spread);
    });
  });
  for (const pair of shapes.pairs)
    parts.push({ name: pair.name, value: pair.products.reduce((sum, [a, b, weight, mean]) => sum + weight * (z[a] * z[b] - mean), 0) });
  return { score: shapes.base + parts.reduce((sum, one) => sum + one.value, 0), parts };
}

function probabilityOf(numbers, score) {
  if (!numbers) return null;
  let odds = numbers[0] * score + numbers[1];
  for (let k = 2; k < numbers.length; k += 2) odds += numbers[k + 1] * (Math.max(score - numbers[k], 0) - Math.max(-numbers[k], 0));
  return 1 / (1 + Math.exp(-odds));
}

const valuesOf = (shapes) => shapes.columns.map((column) => column.now);

// ---- pictures ----------------------------------------------------------------------------------------------

const WIDE = 330, TALL = 230, DENSITY = 26;

function endsOf(shapes) {
  const all = shapes.columns.flatMap((column) => column.labels || !column.settable ? column.values
    : [column.low, column.high, ...column.points.filter((x) => x > column.low && x < column.high), null].map((x) => adds(column, x)));
  const low = Math.min(0, ...all), high = Math.max(0, ...all), margin = 0.1 * (high - low) || 1;
  return [low - margin, high + margin];
}

function panel(kit, parent, name, label) {
  const figure = kit.element("figure", { class: "panel" }, null, parent);
  const caption = kit.element("figcaption", {}, null, figure);
  kit.element("b", {}, name, caption);
  const read = kit.element("span", { class: "reading" }, "", caption);
  const svg = kit.element("svg", { viewBox: `0 0 ${WIDE} ${TALL}`, role: "img", "aria-label": label }, null, figure);
  return { svg, read };
}

// Tells what is under the pointer, in the caption.
function onHover(svg, box, tell) {
  const place = (event) => {
    const area = svg.getBoundingClientRect();
    tell(((event.clientX - area.left) / area.width) * WIDE, ((event.clientY - area.top) / area.height) * TALL);
  };
  svg.addEventListener("pointermove", place);
  svg.addEventListener("pointerdown", place);
  svg.addEventListener("pointerleave", () => tell(null));
}

function drawColumn(kit, parent, column, value, ends) {
  const { element, brief } = kit, words = (x, band) => {
    const y = adds(column, x);
    return ` ${column.labels ? column.labels[x] : brief(x)}: ${kit.signed(y)}` +
      (band === null ? "" : ` (${kit.signed(y - band)} to ${kit.signed(y + band)})`);
  };
  const across = column.labels ? [-0.5, column.labels.length - 0.5] : [column.low, column.high];
  const first = adds(column, column.labels ? 0 : column.low), last = adds(column, column.labels ? column.labels.length - 1 : column.high);
  const { svg, read } = panel(kit, parent, column.name,
    `What ${column.name} adds to the score: from ${brief(first)} to ${brief(last)} along its values`);
  const box = kit.boxOf(WIDE, TALL, across, ends);
  box.bottom -= DENSITY - 14; box.top = 10; box.left = 44;
  box.x = (x) => box.left + ((x - across[0]) / (across[1] - across[0])) * (box.right - box.left);
  box.y = (y) => box.bottom - ((y - ends[0]) / (ends[1] - ends[0])) * (box.bottom - box.top);
  for (const tick of kit.nice(...ends, 4)) {
    element("line", { class: "grid", x1: box.left, x2: box.right, y1: box.y(tick), y2: box.y(tick) }, null, svg);
    element("text", { x: box.left - 5, y: box.y(tick) + 4, "text-anchor": "end", class: "faint" }, brief(tick), svg);
  }
  element("line", { class: "axis", x1: box.left, x2: box.right, y1: box.y(0), y2: box.y(0) }, null, svg);
  const floor = box.bottom + DENSITY, at = column.labels ? column.labels.map((_, i) => i) : null;
  if (column.density) {
    const most = Math.max(...column.density) || 1, step = (across[1] - across[0]) / column.density.length;
    column.density.forEach((share, i) => {
      const x = box.x(across[0] + i * step), wide = box.x(across[0] + (i + 1) * step) - x, tall = ((DENSITY - 4) * share) / most;
      element("rect", { class: "density", x: x + (at ? wide * 0.2 : 0), y: floor - tall, width: at ? wide * 0.6 : wide, height: tall }, null, svg);
    });
  }
  const bandAt = (x) => {
    if (!column.band) return null;
    return column.labels ? column.band[x] : interpolated(column.band[0], column.band[1], x);
  };
  const clipped = (y) => Math.min(Math.max(box.y(y), box.top), box.bottom);
  if (column.labels) {
    const few = column.labels.length <= 6;
    column.labels.forEach((label, i) => {
      if (column.band) element("line", { class: "range", x1: box.x(i), x2: box.x(i), y1: clipped(column.values[i] - column.band[i]), y2: clipped(column.values[i] + column.band[i]) }, null, svg);
      element("circle", { class: "dot", cx: box.x(i), cy: box.y(column.values[i]), r: 4 }, null, svg);
      const room = Math.max(3, Math.floor(44 / column.labels.length));
      if (few) element("text", { x: box.x(i), y: floor + 17, "text-anchor": "middle", class: "faint" }, label.length > room ? `${label.slice(0, room - 1)}…` : label, svg);
    });
  } else {
    if (column.band) {
      const [xs, wide] = column.band, edge = (sign) => xs.map((x, i) => [box.x(x), clipped(adds(column, x) + sign * wide[i])]);
      element("path", { class: "band", d: `${kit.line([...edge(1), ...edge(-1).reverse()])}Z` }, null, svg);
    }
    const xs = [column.low, ...column.points.filter((x) => x > column.low && x < column.high), column.high];
    element("path", { class: "run only", d: kit.line(xs.map((x) => [box.x(x), box.y(adds(column, x))])) }, null, svg);
    for (const [tick, text] of column.ticks || kit.nice(...across, 4).map((x) => [x, kit.thousands(x)]))
      element("text", { x: box.x(tick), y: floor + 17, "text-anchor": tick === column.low ? "start" : "middle", class: "faint" }, text, svg);
    if (column.missing !== null && column.missing !== undefined) {
      element("path", { class: "diamond", d: `M${box.right - 5} ${clipped(column.missing)}l5 -5l5 5l-5 5Z` }, null, svg);
      element("text", { x: box.right - 10, y: clipped(column.missing) - 6, "text-anchor": "end", class: "faint halo" }, "missing", svg);
    }
  }
  if (column.settable && value !== null) {
    const x = Math.min(Math.max(box.x(value), box.left), box.right);
    element("circle", { class: "ring", cx: x, cy: clipped(adds(column, value)), r: 6 }, null, svg);
  }
  const cursor = element("line", { class: "cursor", y1: box.top, y2: floor, visibility: "hidden" }, null, svg);
  onHover(svg, box, (x) => {
    cursor.setAttribute("visibility", x === null ? "hidden" : "visible");
    if (x === null) { read.textContent = ""; return; }
    const share = Math.min(Math.max((x - box.left) / (box.right - box.left), 0), 1), raw = across[0] + share * (across[1] - across[0]);
    const here = column.labels ? Math.min(Math.max(Math.round(raw), 0), column.labels.length - 1) : raw;
    cursor.setAttribute("x1", box.x(here));
    cursor.setAttribute("x2", box.x(here));
    read.textContent = words(here, bandAt(here));
  });
}

function drawMap(kit, parent, pair, darkest) {
  const { element, brief } = kit, rows = pair.values.length, columns = pair.values[0].length;
  const { svg, read } = panel(kit, parent, pair.name, `What ${pair.name} adds to the score beyond each of the two alone`);
  const box = { left: 62, right: WIDE - 12, top: 10, bottom: TALL - 24 };
  const wide = (box.right - box.left) / columns, tall = (box.bottom - box.top) / rows;
  pair.values.forEach((row, i) => row.forEach((value, j) => element("rect", {
    class: value < 0 ? "heat down" : "heat up", x: box.left + j * wide, y: box.bottom - (i + 1) * tall,
    width: wide, height: tall, "shape-rendering": "crispEdges", "fill-opacity": (Math.abs(value) / darkest).toFixed(3) }, null, svg)));
  element("rect", { class: "axis", x: box.left, y: box.top, width: box.right - box.left, height: box.bottom - box.top }, null, svg);
  const names = (side, number) => side.points
    ? kit.nice(side.points[0], side.points[side.points.length - 1], 5).map((tick) =>
        [((tick - side.points[0]) / (side.points[side.points.length - 1] - side.points[0])) * (number - 1) + 0.5, kit.thousands(tick)])
    : side.labels.slice(0, 8).map((label, i) => [i + 0.5, label.length > 8 ? `${label.slice(0, 7)}…` : label]);
  for (const [at, text] of names(pair.across, columns)) element("text", { x: box.left + at * wide, y: box.bottom + 16, "text-anchor": "middle", class: "faint" }, text, svg);
  for (const [at, text] of names(pair.up, rows)) element("text", { x: box.left - 5, y: box.bottom - at * tall + 4, "text-anchor": "end", class: "faint" }, text, svg);
  element("div", { class: "help" }, `across: ${pair.across.name}, upwards: ${pair.up.name}`, svg.parentElement);
  const told = (side, i) => side.points ? brief(side.points[i]) : side.labels[i];
  onHover(svg, box, (x, y) => {
    if (x === null) { read.textContent = ""; return; }
    const j = Math.min(Math.max(Math.floor((x - box.left) / wide), 0), columns - 1);
    const i = Math.min(Math.max(Math.floor((box.bottom - y) / tall), 0), rows - 1);
    read.textContent = ` ${told(pair.across, j)}, ${told(pair.up, i)}: ${kit.signed(pair.values[i][j])}`;
  });
}

function draw(kit, shapes, values) {
  const ends = endsOf(shapes), all = document.createElement("div");
  all.className = "panels";
  shapes.columns.forEach((column, i) => drawColumn(kit, all, column, values[i], ends));
  const darkest = Math.max(...shapes.maps.flatMap((pair) => pair.values.flat().map(Math.abs)), 1e-300);
  for (const pair of shapes.maps) drawMap(kit, all, pair, darkest);
  kit.at("shapes").replaceChildren(all);
}

// ---- a row of the reader's ---------------------------------------------------------------------------------

function controls(kit, shapes, values, changed) {
  const { element } = kit, parent = kit.at("row");
  parent.replaceChildren();
  shapes.columns.forEach((column, i) => {
    if (!column.settable) return;
    const one = element("div", { class: "value" }, null, parent), id = `value-${i}`;
    element("label", { for: id }, column.name, one);
    let input;
    if (column.labels) {
      input = element("select", { id }, null, one);
      column.labels.forEach((label, j) => element("option", { value: j }, label, input));
    } else input = element("input", { id, type: "number", step: "any", inputmode: "decimal" }, null, one);
    input.value = values[i];
    input.addEventListener(column.labels ? "change" : "input", () => {
      if (column.labels) values[i] = Number(input.value);
      else if (input.value.trim() === "") values[i] = column.missing === null ? column.now : null;
      else if (Number.isFinite(Number(input.value))) values[i] = Number(input.value);
      changed();
    });
  });
}

function tellRow(kit, shapes, values, names) {
  const { score, parts } = scoreOf(shapes, values), chance = probabilityOf(shapes.calibration, score);
  const words = `Score ${kit.brief(score)}: predicted ${score > 0 ? names.positive : names.negative}` +
    (chance === null ? "." : `; probability of ${names.positive}: ${kit.percent(chance)}.`);
  kit.at("row-score").textContent = words;
  const most = Math.max(...parts.map((one) => Math.abs(one.value)), 1e-300);
  const largest = parts.filter((one) => Math.abs(one.value) > 0.005 * most)
    .sort((a, b) => Math.abs(b.value) - Math.abs(a.value)).slice(0, 12);
  const body = kit.at("row-parts").tBodies[0], rows = [];
  for (const one of [...largest, { name: "a row of means, and all else", value: score - largest.reduce((sum, part) => sum + part.value, 0), rest: true }]) {
    const row = kit.element("tr");
    kit.element("th", { scope: "row" }, one.name, row);
    const svg = kit.element("svg", { viewBox: "0 0 160 16", width: 160, height: 16, "aria-hidden": "true", style: "width:160px" }, null, kit.element("td", {}, null, row));
    const wide = one.rest ? 0 : (Math.abs(one.value) / most) * 78;
    kit.element("rect", { class: one.value < 0 ? "bar influence-down" : "bar influence-up", x: one.value < 0 ? 80 - wide : 80, y: 2, width: wide, height: 12 }, null, svg);
    kit.element("td", {}, kit.signed(one.value), row);
    rows.push(row);
  }
  body.replaceChildren(...rows);
}

return { draw, controls, tellRow, scoreOf, probabilityOf, valuesOf };
})();
