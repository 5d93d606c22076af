"use strict";
(() => {
const data = JSON.parse(document.getElementById("data").textContent);
const at = (id) => document.getElementById(id);
const DRAWS = data.normals.length / 4;
const SHARE = 0.95;
const PREVALENCE_ENDS = [-9.2, 4.6]; // log odds: 0.01% to 99%
const state = { model: 0, measure: data.models[0].measure, stop: data.models[0].own, prevalence: null };
const functions = Object.fromEntries(
  data.measures.map((one) => [one.name, one.formula ? measureFrom(one.formula) : null]));

// ---- numbers -----------------------------------------------------------------------------------------------

const shown = (number, digits = 4) => number.toFixed(digits);
const percent = (share) => `${shown(100 * share, 1)}%`;
const count = (number) => (Number.isInteger(number) ? number : Number(number.toFixed(1))).toLocaleString("en-US");
// Four digits, as people write them; numbers that only rounding keeps from 0 are 0.
const brief = (number) => Math.abs(number) < 1e-12 ? "0"
  : Math.abs(number) < 1e-5 ? String(Number(number.toPrecision(4)))
  : number.toLocaleString("en-US", { maximumSignificantDigits: 4 });

function confusionOf(model, stop) {
  const counts = (above) => [above[0][stop], above[0][0] - above[0][stop], above[1][stop], above[1][0] - above[1][stop]];
  return { counts: counts(model.above), squares: model.squares && counts(model.squares) };
}

function ratesOf(c) {
  const positives = c[0] + c[1], negatives = c[2] + c[3];
  return {
    tpr: c[0] / Math.max(positives, 1e-300),
    tnr: c[3] / Math.max(negatives, 1e-300),
    prevalence: positives / Math.max(positives + negatives, 1e-300),
  };
}

// The same draws as ratewise.decisions.draws.resampled: cubes of normal numbers, half a row more in every count.
function resampled(counts, squares) {
  let rowWeight = [1, 1, 1, 1];
  if (squares) {
    const sum = (list) => list.reduce((a, b) => a + b, 0);
    const typical = sum(squares) / sum(counts);
    rowWeight = counts.map((one, i) => (one > 0 ? squares[i] / Math.max(one, 1e-300) : typical));
  }
  const shape = counts.map((one, i) => one / rowWeight[i] + 0.5);
  const draws = { tpr: new Float64Array(DRAWS), tnr: new Float64Array(DRAWS), prevalence: new Float64Array(DRAWS) };
  const cell = [0, 0, 0, 0];
  for (let i = 0; i < DRAWS; i++) {
    for (let j = 0; j < 4; j++) {
      const normal = data.normals[4 * i + j] / 1000;
      const root = Math.max(1 - 1 / (9 * shape[j]) + normal / (3 * Math.sqrt(shape[j])), 0);
      cell[j] = shape[j] * (root * root * root) * rowWeight[j];
    }
    const rates = ratesOf(cell);
    draws.tpr[i] = rates.tpr;
    draws.tnr[i] = rates.tnr;
    draws.prevalence[i] = rates.prevalence;
  }
  return draws;
}

function percentile(sorted, share) {
  const place = share * (sorted.length - 1), below = Math.floor(place), part = place - below;
  const a = sorted[below], b = sorted[Math.min(below + 1, sorted.length - 1)];
  return part >= 0.5 ? b - (b - a) * (1 - part) : a + (b - a) * part;
}

function estimate(values, value) {
  const sorted = values.slice().sort(), tail = (50 * (1 - SHARE)) / 100;
  return { value, low: Math.min(percentile(sorted, tail), value), high: Math.max(percentile(sorted, 1 - tail), value) };
}

// Everything that is shown of a model at a stop; prevalence is null for that of the rows.
function evaluate(model, stop, prevalence) {
  const { counts, squares } = confusionOf(model, stop);
  const rates = ratesOf(counts), draws = resampled(counts, squares);
  if (prevalence !== null) {
    rates.prevalence = prevalence;
    draws.prevalence.fill(prevalence);
  }
  const over = (value) => {
    const values = new Float64Array(DRAWS);
    for (let i = 0; i < DRAWS; i++) values[i] = value(draws.tpr[i], draws.tnr[i], draws.prevalence[i]);
    return estimate(values, value(rates.tpr, rates.tnr, rates.prevalence));
  };
  const found = { rates, counts, TPR: estimate(draws.tpr, rates.tpr), TNR: estimate(draws.tnr, rates.tnr),
                  precision: over(precisionOf), alerts: over(alertsOf), measures: {} };
  for (const { name, needs_prevalence } of data.measures) {
    if (functions[name]) found.measures[name] = over(functions[name]);
    else {
      const table = model.tables[name];
      const known = prevalence === null || !needs_prevalence;
      found.measures[name] = known ? { value: table.value[stop], low: table.low[stop], high: table.high[stop] } : null;
    }
  }
  return found;
}

const alertsOf = (tpr, tnr, prevalence) => tpr * prevalence + (1 - tnr) * (1 - prevalence);

const valueAt = (model, stop, name, prevalence) => {
  if (!functions[name]) return model.tables[name].value[stop];
  const rates = ratesOf(confusionOf(model, stop).counts);
  return functions[name](rates.tpr, rates.tnr, prevalence === null ? rates.prevalence : prevalence);
};

// ---- drawing -----------------------------------------------------------------------------------------------

function element(name, attributes = {}, text = null, parent = null) {
  const svg = ["svg", "path", "line", "circle", "rect", "text", "g", "title"].includes(name);
  const one = svg ? document.createElementNS("http://www.w3.org/2000/svg", name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) one.setAttribute(key, value);
  if (text !== null) one.textContent = text;
  if (parent) parent.append(one);
  return one;
}

function canvas(id, width, height, label) {
  const svg = element("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label });
  at(id).replaceChildren(svg);
  return svg;
}

const line = (points) => points.map(([x, y], i) => `${i ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`).join("");

function nice(low, high, about) {
  const rough = (high - low) / about || 1, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((one) => one * power).find((one) => one >= rough * 0.999);
  const found = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + 1e-9 * step; i++) found.push(i * step);
  return found;
}

function frame(svg, box, xs, ys, names) {
  for (const tick of xs.ticks) {
    const x = box.x(tick);
    element("line", { class: "grid", x1: x, x2: x, y1: box.top, y2: box.bottom }, null, svg);
    element("text", { x, y: box.bottom + 17, "text-anchor": "middle", class: "faint" }, brief(tick), svg);
  }
  for (const tick of ys.ticks) {
    const y = box.y(tick);
    element("line", { class: "grid", x1: box.left, x2: box.right, y1: y, y2: y }, null, svg);
    element("text", { x: box.left - 7, y: y + 4, "text-anchor": "end", class: "faint" }, brief(tick), svg);
  }
  element("path", { class: "axis", d: `M${box.left} ${box.top}V${box.bottom}H${box.right}` }, null, svg);
  element("text", { x: (box.left + box.right) / 2, y: box.bottom + 38, "text-anchor": "middle" }, names[0], svg);
  element("text", { x: box.left - 40, y: box.top - 10 }, names[1], svg);
}

function boxOf(width, height, xEnds, yEnds) {
  const box = { left: 55, right: width - 15, top: 28, bottom: height - 48 };
  box.x = (value) => box.left + ((value - xEnds[0]) / (xEnds[1] - xEnds[0])) * (box.right - box.left);
  box.y = (value) => box.bottom - ((value - yEnds[0]) / (yEnds[1] - yEnds[0])) * (box.bottom - box.top);
  return box;
}

// The lines of equal value: where a level crosses the sides of each small square.
function levelLine(values, side, level, place) {
  const segments = [];
  for (let i = 0; i < side - 1; i++) {
    for (let j = 0; j < side - 1; j++) {
      const corner = [[i, j], [i + 1, j], [i + 1, j + 1], [i, j + 1]], found = [];
      for (let k = 0; k < 4; k++) {
        const [a, b] = [corner[k], corner[(k + 1) % 4]];
        const u = values[a[0] * side + a[1]], v = values[b[0] * side + b[1]];
        if (u < level !== v < level) {
          const t = (level - u) / (v - u);
          found.push(place(a[0] + t * (b[0] - a[0]), a[1] + t * (b[1] - a[1])));
        }
      }
      for (let k = 0; k + 1 < found.length; k += 2) segments.push([found[k], found[k + 1]]);
    }
  }
  return segments;
}

function gridOf(name, prevalence, low) {
  const one = data.measures.find((candidate) => candidate.name === name);
  if (!functions[name]) return { values: one.grid, side: Math.sqrt(one.grid.length), low: 0 };
  const side = 61, values = new Float64Array(side * side);
  for (let i = 0; i < side; i++)
    for (let j = 0; j < side; j++)
      values[i * side + j] =
        functions[name](low + ((1 - low) * i) / (side - 1), low + ((1 - low) * j) / (side - 1), prevalence);
  return { values, side, low };
}

function drawPlane(found) {
  const model = data.models[state.model];
  const own = ratesOf(confusionOf(model, model.own).counts), here = found.rates;
  let low = Math.max(0, Math.floor((Math.min(own.tpr, own.tnr) - 0.2) * 10) / 10);
  if (Math.min(here.tpr, here.tnr) < low) low = 0;
  const words = `TPR ${percent(here.tpr)}, TNR ${percent(here.tnr)}, on the curve of all thresholds, over lines of ` +
    `equal ${state.measure}`;
  const svg = canvas("plane", 460, 440, words), box = boxOf(460, 440, [low, 1], [low, 1]);
  const ticks = nice(low, 1, 5);
  frame(svg, box, { ticks }, { ticks }, [`TPR: share of ${data.positive} found`, `TNR: share of ${data.negative} predicted so`]);
  const grid = gridOf(state.measure, here.prevalence, low);
  const place = (i, j) => [box.x(grid.low + ((1 - grid.low) * i) / (grid.side - 1)), box.y(grid.low + ((1 - grid.low) * j) / (grid.side - 1))];
  const sorted = Float64Array.from(grid.values).sort();
  const labels = element("g");
  for (const level of nice(percentile(sorted, 0.15), sorted[sorted.length - 1], 8)) {
    const inside = ([[a, b], [c, d]]) => Math.min(a, c) >= box.left - 0.1 && Math.max(b, d) <= box.bottom + 0.1;
    const segments = levelLine(grid.values, grid.side, level, place).filter(inside);
    if (!segments.length) continue;
    element("path", { class: "level", d: segments.map((one) => line(one)).join("") }, null, svg);
    const slant = ([[x, y]]) => Math.abs(x - box.left - (box.bottom - y));
    const [[x, y]] = segments.reduce((best, one) => (slant(one) < slant(best) ? one : best));
    element("text", { x, y, class: "faint", "text-anchor": "middle", style: "font-size:11px" }, brief(level), labels);
  }
  const frontier = (other) => {
    const points = [];
    for (let stop = 0; stop < other.thresholds.length; stop++) {
      const rates = ratesOf(confusionOf(other, stop).counts);
      if (rates.tpr >= low && rates.tnr >= low) points.push([box.x(rates.tpr), box.y(rates.tnr)]);
    }
    return line(points);
  };
  data.models.forEach((other, i) => {
    if (i !== state.model) element("path", { class: "frontier other", d: frontier(other) }, null, svg);
  });
  element("path", { class: "frontier", d: frontier(model) }, null, svg);
  svg.append(labels);
  element("circle", { class: "ring", cx: box.x(Math.max(own.tpr, low)), cy: box.y(Math.max(own.tnr, low)), r: 7 }, null, svg);
  const span = (ends) => [Math.max(ends.low, low), Math.max(ends.high, low)];
  const [p0, p1] = span(found.TPR), [n0, n1] = span(found.TNR), [x, y] = [box.x(here.tpr), box.y(here.tnr)];
  element("path", { class: "here", d: `M${box.x(p0)} ${y}H${box.x(p1)}M${x} ${box.y(n0)}V${box.y(n1)}` }, null, svg);
}

function drawHistogram() {
  const model = data.models[state.model], { low, high, positives, negatives } = model.histogram;
  const threshold = model.thresholds[state.stop], height = 300;
  const width = Math.min(Math.max(at("histogram").clientWidth, 360), 940); // letters keep their size on a phone
  const svg = canvas("histogram", width, height, "Histogram of the scores of each class, and the threshold");
  const box = boxOf(width, height, [low, high], [0, 1]), middle = (box.top + box.bottom) / 2;
  frame(svg, box, { ticks: nice(low, high, width / 110) }, { ticks: [] }, ["score", ""]);
  const largest = Math.sqrt(Math.max(...positives, ...negatives)), step = (high - low) / positives.length;
  const tall = (share) => (Math.sqrt(share) / largest) * (middle - box.top);
  positives.forEach((share, i) => {
    const x = box.x(low + i * step), wide = Math.max(box.x(low + (i + 1) * step) - x - 1, 0.5);
    element("rect", { class: "bar positives", x, y: middle - tall(share), width: wide, height: tall(share) }, null, svg);
    element("rect", { class: "bar negatives", x, y: middle, width: wide, height: tall(negatives[i]) }, null, svg);
  });
  element("text", { x: box.left + 4, y: box.top + 4 }, `${data.positive}: upwards`, svg);
  element("text", { x: box.left + 4, y: box.bottom - 8 }, `${data.negative}: downwards`, svg);
  const x = Math.min(Math.max(box.x(threshold === null ? low : threshold), box.left), box.right);
  element("line", { class: "ring", x1: x, x2: x, y1: box.top, y2: box.bottom }, null, svg);
}

function drawCalibration() {
  const model = data.models[state.model], groups = model.calibration;
  at("calibration-section").hidden = groups.length < 2;
  if (groups.length < 2) return;
  const svg = canvas("calibration", 460, 380, "The share of positives among rows with similar scores");
  const scores = groups.map((one) => one.score);
  const ends = model.probabilities ? [0, 1] : [Math.min(...scores), Math.max(...scores)];
  const top = model.probabilities ? 1 : Math.min(1, Math.max(...groups.map((one) => one.high)) * 1.05);
  const box = boxOf(460, 380, ends, [0, top]);
  frame(svg, box, { ticks: nice(...ends, 5) }, { ticks: nice(0, top, 5) },
    [model.probabilities ? "probability that the model states" : "mean score", `share that is ${data.positive}`]);
  if (model.probabilities)
    element("path", { class: "level", "stroke-dasharray": "4 4", d: line([[box.x(0), box.y(0)], [box.x(1), box.y(1)]]) }, null, svg);
  element("path", { class: "run only", d: line(groups.map((one) => [box.x(one.score), box.y(one.value)])) }, null, svg);
  for (const one of groups) {
    element("line", { class: "range", x1: box.x(one.score), x2: box.x(one.score), y1: box.y(Math.min(one.low, top)), y2: box.y(Math.min(one.high, top)) }, null, svg);
    element("circle", { class: "dot", cx: box.x(one.score), cy: box.y(one.value), r: 4 }, null, svg);
  }
  at("calibration-caption").textContent = model.probabilities
    ? "Rows with similar scores, in groups of equal size, with 95% intervals. On the dashed line the stated probability is the true share."
    : "Rows with similar scores, in groups of equal size, with 95% intervals. The scores are not probabilities. A rising line means that they order the rows well.";
}

function drawPath() {
  const runs = data.models[state.model].path;
  at("path-section").hidden = !runs.some((run) => run.values.length > 1);
  if (at("path-section").hidden) return;
  const points = runs.flatMap((run) => run.points), values = runs.flatMap((run) => run.values);
  const svg = canvas("path", 460, 380, "The value of the measure at the checkpoints of the fit");
  const bottom = Math.min(...values), top = Math.max(...values), pad = 0.05 * (top - bottom) || 0.05;
  const ends = [bottom - pad, top + pad], across = [Math.min(...points), Math.max(...points)];
  const box = boxOf(460, 380, across[0] < across[1] ? across : [across[0] - 1, across[1] + 1], ends);
  frame(svg, box, { ticks: nice(...across, 4) }, { ticks: nice(...ends, 5) },
    ["rows seen", data.models[state.model].measure]);
  for (const run of runs) {
    const drawn = run.points.map((one, i) => [box.x(one), box.y(run.values[i])]);
    if (drawn.length > 1)
      element("path", { class: runs.length === 1 ? "run only" : "run", d: line(drawn) }, null, svg);
    else element("circle", { class: "dot", cx: drawn[0][0], cy: drawn[0][1], r: 2.5 }, null, svg);
  }
  at("path-caption").textContent = runs.length === 1
    ? "The measure on the training rows, during the fit."
    : `The measure on the training rows, during the fit: one line for each of its ${runs.length} runs (folds and starts).`;
}

function drawInfluences() {
  const found = data.models[state.model].influences;
  at("influences-section").hidden = !found;
  if (!found) return;
  const shown_ = found.rows.length, linear = found.kind === "coefficients";
  at("influences-words").textContent = linear
    ? `The ${shown_} of ${found.columns} columns that change the score most: the change when the column grows by one standard deviation. Bars to the right raise the score of ${data.positive}.`
    : `The ${shown_} of ${found.columns} columns that matter most: how much the measure falls when the values of the column are shuffled (mean, least and most of five repetitions, on ${count(found.sampled)} rows).`;
  const table = element("table", { class: "numbers" });
  element("caption", {}, linear ? "Largest coefficients" : "Permutation importances", table);
  const head = element("tr", {}, null, element("thead", {}, null, table));
  const headings = linear ? ["column", "", "per standard deviation", "per unit"] : ["column", "", "mean fall", "least", "most"];
  for (const name of headings) element(name ? "th" : "td", name ? { scope: "col" } : {}, name, head);
  const body = element("tbody", {}, null, table), largest = Math.max(...found.rows.map((one) => Math.abs(one.value))) || 1;
  const anyNegative = found.rows.some((one) => one.value < 0);
  for (const one of found.rows) {
    const row = element("tr", {}, null, body);
    element("th", { scope: "row" }, one.name, row);
    const svg = element("svg", { viewBox: "0 0 200 16", width: 200, height: 16, "aria-hidden": "true", class: "meter" },
      null, element("td", {}, null, row));
    const zero = anyNegative ? 100 : 0, scale = anyNegative ? 98 : 198, wide = (Math.abs(one.value) / largest) * scale;
    element("rect", { class: one.value < 0 ? "bar influence-down" : "bar influence-up", x: one.value < 0 ? zero - wide : zero, y: 2, width: wide, height: 12 }, null, svg);
    const numbers = linear ? [one.value, one.raw] : [one.value, one.low, one.high];
    for (const number of numbers) element("td", {}, brief(number), row);
  }
  const scroll = element("div", { class: "scroll", tabindex: "0", role: "region", "aria-labelledby": "influences-title" });
  scroll.append(table);
  at("influences").replaceChildren(scroll);
}

const signed = (number) => `${number < 0 ? "−" : "+"}${brief(Math.abs(Number(number.toPrecision(3))))}`;
const thousands = (number) => (Math.abs(number) >= 10000 ? `${brief(number / 1000)}k` : brief(number));
const kit = { at, element, boxOf, nice, line, brief, percent, signed, thousands };

function drawShapes() {
  const found = data.models[state.model].shapes;
  at("shapes-section").hidden = at("row-section").hidden = !found;
  if (!found) return;
  at("shapes-note").textContent = found.note;
  state.row = Shapes.valuesOf(found);
  const show = () => { Shapes.draw(kit, found, state.row); Shapes.tellRow(kit, found, state.row, data); };
  const typical = () => { state.row = Shapes.valuesOf(found); Shapes.controls(kit, found, state.row, show); show(); };
  at("row-typical").onclick = typical;
  typical();
}

function drawColumns() {
  const found = data.models[state.model].columns;
  at("columns-section").hidden = !found;
  if (!found) return;
  const table = element("table", { class: "numbers" });
  const head = element("tr", {}, null, element("thead", {}, null, table)), body = element("tbody", {}, null, table);
  for (const name of ["column", "taken for", "columns", "why"]) element("th", { scope: "col" }, name, head);
  for (const one of found) {
    const row = element("tr", {}, null, body);
    element("th", { scope: "row" }, one.raw_column, row);
    for (const value of [one.taken_for, count(one.columns), one.why]) element("td", {}, value, row);
  }
  const scroll = element("div", { class: "scroll", tabindex: "0", role: "region", "aria-labelledby": "columns-title" });
  scroll.append(table);
  at("columns").replaceChildren(scroll);
}

// ---- tables ------------------------------------------------------------------------------------------------

const cells = (one) => (one ? [shown(one.value), shown(one.low), shown(one.high)] : ["–", "–", "–"]);
const withEnds = (one) => (one ? `${shown(one.value)} (${shown(one.low)} to ${shown(one.high)})` : "–");

function fill(table, rows) {
  const body = at(table).tBodies[0], kept = [];
  for (const { name, values, kind } of rows) {
    const row = element("tr", kind ? { class: kind } : {});
    element("th", { scope: "row" }, name, row);
    for (const value of values) element("td", {}, value, row);
    kept.push(row);
  }
  body.replaceChildren(...kept);
}

function heading(table, names) {
  const row = element("tr");
  for (const name of names) element("th", { scope: "col" }, name, row);
  at(table).tHead.replaceChildren(row);
}

function fillConfusion(found) {
  const [hits, misses, alarms, quiet] = found.counts, { tpr, tnr, prevalence } = found.rates;
  const expected = [tpr * prevalence, (1 - tpr) * prevalence, (1 - tnr) * (1 - prevalence), tnr * (1 - prevalence)];
  const as = state.prevalence === null ? [hits, misses, alarms, quiet].map(count)
    : expected.map((one) => count(Math.round(10000 * one)));
  ["true-positives", "false-negatives", "false-positives", "true-negatives"].forEach((id, i) => { at(id).textContent = as[i]; });
  at("confusion-caption").textContent = state.prevalence === null
    ? `The ${count(data.rows)} rows of this report${data.weighted ? ", by weight" : ""}`
    : `Expected of 10,000 rows, ${percent(prevalence)} of them ${data.positive}`;
}

// What people look at first, beside the measure chosen.
const USUAL = [["recall (TPR)", (one) => one.TPR], ["TNR", (one) => one.TNR], ["precision", (one) => one.precision],
  ["f1", (one) => one.measures.f1], ["alert rate", (one) => one.alerts]];

function fillModels() {
  at("side-by-side").hidden = data.models.length < 2;
  if (data.models.length < 2) return;
  const all = data.models.map((model) => evaluate(model, model.own, state.prevalence));
  heading("models", ["measure", ...data.models.map((model) => model.name)]);
  const row = (name, pick) => ({ name, values: all.map((one) => withEnds(pick(one))), kind: name === state.measure ? "chosen" : "" });
  fill("models", [
    row(state.measure, (one) => one.measures[state.measure]),
    ...USUAL.filter(([name]) => name !== state.measure).map(([name, pick]) => row(name, pick)),
  ]);
}

function fillGroups() {
  const model = data.models[state.model], groups = model.groups;
  at("groups-section").hidden = !groups.length;
  if (!groups.length) return;
  const worse = groups.filter((one) => one.worse).length;
  at("groups-words").textContent = `${groups.length} groups of rows with the same value of a column, or in the same ` +
    `quarter of its numbers. ${worse === 0 ? "In none of them" : `In ${worse} of them (marked)`} the ${model.measure} is lower ` +
    `than in all rows by more than chance explains, with the number of groups taken into account. It is computed at the prevalence of all rows.`;
  heading("groups", ["group", "rows", `share of ${data.positive}`, "TPR", "TNR", model.measure]);
  fill("groups", groups.slice(0, 25).map((one) => ({
    name: `${one.column}: ${one.value}${one.worse ? " (worse)" : ""}`,
    values: [count(one.rows), percent(one.prevalence), withEnds(one.tpr), withEnds(one.tnr), withEnds(one.measure)],
    kind: one.worse ? "worse" : "",
  })));
}

// ---- sliders -----------------------------------------------------------------------------------------------

const prevalenceAt = (position) => {
  const [low, high] = PREVALENCE_ENDS, odds = low + (position / 400) * (high - low);
  return Number((1 / (1 + Math.exp(-odds))).toPrecision(3));
};
const positionOf = (prevalence) => {
  const [low, high] = PREVALENCE_ENDS, odds = Math.log(prevalence / (1 - prevalence));
  return Math.round(Math.min(Math.max(((odds - low) / (high - low)) * 400, 0), 400));
};
const percentOf = (prevalence) => `${brief(100 * prevalence)}%`;

let later = 0; // the live region speaks when the slider rests, not at every step
let first = true;
function show(everything) {
  const model = data.models[state.model], found = evaluate(model, state.stop, state.prevalence);
  const own = evaluate(model, model.own, state.prevalence), threshold = model.thresholds[state.stop];
  const cut = threshold === null ? "below every score" : brief(threshold);
  const which = state.stop === model.own ? `${cut}, the model's own` : cut;
  at("threshold").value = state.stop;
  at("threshold").setAttribute("aria-valuetext", which);
  at("threshold-shown").textContent = which;
  const share = percentOf(found.rates.prevalence) + (state.prevalence === null ? ", as on these rows" : "");
  at("prevalence").value = positionOf(found.rates.prevalence);
  at("prevalence").setAttribute("aria-valuetext", share);
  at("prevalence-shown").textContent = share;
  const value = found.measures[state.measure];
  const words = `${data.models.length > 1 ? model.name : "The model"} finds ${percent(found.TPR.value)} of the rows that are ${data.positive}, and predicts ` +
    `${percent(1 - found.TNR.value)} of the others ${data.positive}. Where it predicts ${data.positive}, it is right in ${percent(found.precision.value)} of the cases. ` +
    `${state.measure}: ${value ? withEnds(value) : "not known at this prevalence"}.`;
  at("now").textContent = words;
  clearTimeout(later);
  if (!first) later = setTimeout(() => { at("spoken").textContent = words; }, 400);
  first = false;
  fillConfusion(found);
  fill("rates", [
    { name: state.measure, values: cells(value), kind: "chosen" },
    ...USUAL.filter(([name]) => name !== state.measure).map(([name, pick]) => ({ name, values: cells(pick(found)) })),
  ]);
  fill("measures", data.measures.map(({ name }) => ({
    name, values: [...cells(found.measures[name]), own.measures[name] ? shown(own.measures[name].value) : "–"],
    kind: name === state.measure ? "chosen" : "",
  })));
  drawPlane(found);
  drawHistogram();
  if (everything) {
    fillModels(); fillGroups(); drawCalibration(); drawPath(); drawInfluences(); drawColumns();
    if (state.drawn !== state.model) { state.drawn = state.model; drawShapes(); } // sliders leave them as they are
    for (const one of document.querySelectorAll(".measure-name")) one.textContent = state.measure;
  }
}

let waiting = false, whole = false;
function refresh(everything = false) {
  whole = whole || everything;
  if (waiting) return;
  waiting = true;
  requestAnimationFrame(() => { const all = whole; waiting = false; whole = false; show(all); });
}

function start() {
  for (const one of document.querySelectorAll(".positive-name")) one.textContent = data.positive;
  for (const one of document.querySelectorAll(".negative-name")) one.textContent = data.negative;
  data.models.forEach((model, i) => element("option", { value: i }, model.name, at("model")));
  at("model-choice").hidden = data.models.length < 2;
  for (const { name } of data.measures) element("option", { value: name }, name, at("measure"));
  const choose = (model) => {
    state.model = model;
    state.stop = data.models[model].own;
    at("threshold").max = data.models[model].thresholds.length - 1;
  };
  choose(0);
  at("measure").value = state.measure;
  at("model").addEventListener("change", () => { choose(Number(at("model").value)); refresh(true); });
  at("measure").addEventListener("change", () => { state.measure = at("measure").value; refresh(true); });
  at("threshold").addEventListener("input", () => { state.stop = Number(at("threshold").value); refresh(); });
  at("own").addEventListener("click", () => { state.stop = data.models[state.model].own; refresh(); });
  at("best").addEventListener("click", () => {
    const model = data.models[state.model];
    let best = 0, highest = -Infinity;
    for (let stop = 0; stop < model.thresholds.length; stop++) {
      const value = valueAt(model, stop, state.measure, state.prevalence);
      if (value > highest) [best, highest] = [stop, value];
    }
    state.stop = best;
    refresh();
  });
  at("prevalence").addEventListener("input", () => { state.prevalence = prevalenceAt(Number(at("prevalence").value)); refresh(true); });
  at("as-here").addEventListener("click", () => { state.prevalence = null; refresh(true); });
  show(true);
}

window.ratewise = { data, state, Shapes, evaluate, functions, shown, prevalenceAt };
start();
})();
