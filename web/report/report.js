"use strict";
// Draws a report: showReport(report) fills the page. The page of a report contains it as JSON; the page of a server,
// live.js, fetches it again and again.

const kColours = 8; // --c0 to --c7 in report.css; further series reuse them
const kChartHeight = 280;

function element(tag, properties = {}, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const superscript = (n) => [...String(n)].map((c) => c === "-" ? "⁻" : "⁰¹²³⁴⁵⁶⁷⁸⁹"[c]).join("");

// Formats a number with four significant digits, without trailing zeros.
function number(value) {
  if (value === null || value === undefined) return "–";
  if (Number.isInteger(value) && Math.abs(value) < 1e6) return String(value);
  const size = Math.abs(value);
  return size !== 0 && (size < 1e-3 || size >= 1e5) ? value.toExponential(3) : String(Number(value.toPrecision(4)));
}

function tick(value) {
  const size = Math.abs(value);
  if (size === 0 || (size >= 1e-2 && size < 1e5)) return String(Number(value.toPrecision(6)));
  const exponent = Math.floor(Math.log10(size) + 1e-9);
  const factor = Number((value / 10 ** exponent).toPrecision(3));
  return (factor === 1 ? "" : factor + "·") + "10" + superscript(exponent);
}

// ---- line charts

// uPlot takes a column for x and one for each series.
function columns(figure, logarithmic) {
  const shown = (v) => (v !== null && logarithmic && v <= 0 ? null : v);
  return [0, ...figure.series.map((_, s) => s + 1)].map((c) =>
    figure.rows.map((row) => (c === 0 ? row[0] : shown(row[c]))));
}

// Keeps grid lines at powers of ten only, unless there would be fewer than three.
function wholeDecades(_, values) {
  const isDecade = (v) => Math.abs(Math.log10(v) - Math.round(Math.log10(v))) < 1e-9;
  return values.filter(isDecade).length < 3 ? values : values.map((v) => (isDecade(v) ? v : null));
}

// The cursor reads each line at the nearest update at which it has a value.
function nearest(chart, series, index) {
  const values = chart.data[series];
  for (let away = 0; away < values.length; away++) {
    if ((values[index - away] ?? null) !== null) return index - away;
    if ((values[index + away] ?? null) !== null) return index + away;
  }
  return index;
}

// The vertical range of a linear axis, with some air.
function range(figure, low, high) {
  if (low === null) return [0, 1];
  return uPlot.rangeNum(figure.from_zero ? Math.min(low, 0) : low, high, 0.08, true);
}

function isSparse(figure, s) {
  return figure.rows.filter((row) => row[s + 1] !== null).length < 30;
}

function chartOptions(figure, width, logarithmic) {
  const axis = { stroke: colour("--soft"), grid: { stroke: colour("--grid"), width: 1 }, ticks: { show: false },
    font: "12px system-ui, sans-serif", labelFont: "12px system-ui, sans-serif", labelSize: 20 };
  return {
    width, height: kChartHeight,
    legend: { live: true, markers: { width: 3, dash: (_, s) => (s > 0 && figure.series[s - 1].dashed ? "dashed" : "solid") } },
    cursor: { drag: { x: true, y: false }, points: { size: 6 }, dataIdx: (chart, s, i) => (s === 0 ? i : nearest(chart, s, i)) },
    scales: {
      x: { time: false },
      y: logarithmic ? { distr: 3 } : { range: (_, low, high) => range(figure, low, high) },
    },
    axes: [
      { ...axis, label: figure.x_label, size: 30, labelGap: 0, values: (_, at) => at.map((v) => (Number.isInteger(v) ? v : tick(v))) },
      { ...axis, label: figure.y_label, size: 62, values: (_, at) => at.map((v) => (v === null ? "" : tick(v))),
        grid: { ...axis.grid, filter: logarithmic ? wholeDecades : (_, at) => at } },
    ],
    series: [
      { label: figure.x_label, value: (_, v) => number(v) },
      ...figure.series.map((series, s) => ({
        label: series.name, stroke: colour(`--c${series.colour % kColours}`), width: 2, dash: series.dashed ? [7, 5] : undefined,
        spanGaps: series.spans, points: { show: isSparse(figure, s) && !series.dashed, size: 5 },
        value: (_, v) => number(v),
      })),
    ],
  };
}

const namesOf = (figure) => figure.series.map((series) => series.name).join("\n");

function lineChart(given, caption) {
  let figure = given;
  const place = element("div", { className: "chart" });
  let logarithmic = figure.log_y;
  let chart = null;
  const draw = () => {
    chart?.destroy();
    chart = new uPlot(chartOptions(figure, Math.max(place.clientWidth, 240), logarithmic),
      columns(figure, logarithmic), place);
    const canvas = place.querySelector("canvas");
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", `${figure.title}: ${figure.y_label} over ${figure.x_label}; values in the table below`);
  };
  // New values. A reader who has zoomed in stays there, unless the lines have other names.
  const update = (newer) => {
    if (namesOf(newer) !== namesOf(figure)) {
      figure = newer;
      return draw();
    }
    const x = chart.data[0], { min, max } = chart.scales.x;
    const isZoomed = x.length > 1 && (min > x[0] || max < x[x.length - 1]);
    figure = newer;
    chart.setData(columns(figure, logarithmic), !isZoomed);
    if (isZoomed) chart.redraw();
  };
  const toggle = element("button", { type: "button", textContent: "log scale" });
  toggle.setAttribute("aria-pressed", logarithmic);
  toggle.onclick = () => {
    logarithmic = !logarithmic;
    toggle.setAttribute("aria-pressed", logarithmic);
    draw();
  };
  caption.append(toggle);
  new ResizeObserver(() => {
    if (chart && place.clientWidth > 0 && chart.width !== place.clientWidth) {
      chart.setSize({ width: place.clientWidth, height: kChartHeight });
    }
  }).observe(place);
  return { nodes: [place], draw, update };
}

// ---- heat maps

function heatMap(figure) {
  const size = figure.matrix.length;
  const canvas = element("canvas", { className: "matrix", width: size, height: size });
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", `${figure.title}; values in the table below`);
  const reading = element("div", { className: "reading" });
  const draw = () => {
    const context = canvas.getContext("2d");
    context.clearRect(0, 0, size, size);
    context.fillStyle = colour("--c0");
    figure.matrix.forEach((row, r) => row.forEach((value, c) => {
      context.globalAlpha = Math.min(Math.max(value, 0), 1);
      context.fillRect(c, r, 1, 1);
    }));
  };
  canvas.onpointermove = (event) => {
    const at = (offset, extent) => Math.min(size - 1, Math.max(0, Math.floor((offset / extent) * size)));
    const row = at(event.offsetY, canvas.clientHeight), column = at(event.offsetX, canvas.clientWidth);
    reading.textContent = `blocks ${row + 1} and ${column + 1}: ${number(figure.matrix[row][column])}`;
  };
  canvas.onpointerleave = () => { reading.textContent = figure.y_label; };
  reading.textContent = figure.y_label;
  return { nodes: [canvas, reading], draw };
}

// Labelled rows and columns: a table whose cells are coloured by the logarithm of their values.
function labelledMap(figure) {
  const values = figure.matrix.flat().filter((value) => value !== null);
  const low = Math.min(...values), high = Math.max(...values);
  const range = high > low ? Math.log(high / low) : 1;
  const shade = (value) => Math.round((60 * Math.log(high / value)) / range);
  const head = (text, scope) => {
    const made = element("th", { textContent: text });
    made.scope = scope;
    return made;
  };
  const cell = (value) => {
    const made = element("td", { textContent: value === null ? "–" : Number(value.toPrecision(4)) });
    if (value !== null) made.style.background = `color-mix(in srgb, var(--c0) ${shade(value)}%, transparent)`;
    return made;
  };
  const table = element("table", { className: "values" },
    element("thead", {}, element("tr", {}, head("", "col"),
      ...figure.column_labels.map((text) => head(text, "col")))),
    element("tbody", {}, ...figure.matrix.map((row, r) =>
      element("tr", {}, head(figure.row_labels[r], "row"), ...row.map(cell)))));
  const scroll = element("div", { className: "scroll", tabIndex: 0 }, table);
  scroll.setAttribute("role", "region");
  scroll.setAttribute("aria-label", figure.title);
  return { nodes: [scroll], draw: () => {} };
}

// ---- tables

function tableOf(figure) {
  if (figure.matrix) {
    return { head: [figure.x_label, ...figure.matrix.map((_, c) => c + 1)],
      rows: figure.matrix.map((row, r) => [r + 1, ...row]) };
  }
  return { head: [figure.x_label, ...figure.series.map((s) => s.name)], rows: figure.rows };
}

// The table is filled when it is first opened: a page may have tens of thousands of cells.
function valueTable(given) {
  let figure = given;
  const details = element("details", {}, element("summary", { textContent: "Values as a table" }));
  const fill = () => {
    const { head, rows } = tableOf(figure);
    const cell = (text, scope) => {
      const made = element(scope ? "th" : "td", { textContent: typeof text === "string" ? text : number(text) });
      if (scope) made.scope = scope;
      return made;
    };
    const table = element("table", { className: "values" },
      element("thead", {}, element("tr", {}, ...head.map((text) => cell(text, "col")))),
      element("tbody", {}, ...rows.map((row) =>
        element("tr", {}, ...row.map((value, c) => cell(value, c === 0 ? "row" : ""))))));
    const scroll = element("div", { className: "scroll", tabIndex: 0 }, table);
    scroll.setAttribute("role", "region");
    scroll.setAttribute("aria-label", `Values of: ${figure.title}`);
    details.querySelector(".scroll")?.remove();
    details.append(scroll);
  };
  details.addEventListener("toggle", fill, { once: true });
  const update = (newer) => {
    figure = newer;
    if (details.open) fill();
  };
  return { details, update };
}

// ---- the page

function show(figure, section) {
  const caption = element("figcaption", {}, element("h3", { textContent: figure.title }));
  const chart = figure.row_labels ? labelledMap(figure)
    : figure.matrix ? heatMap(figure) : lineChart(figure, caption);
  const shown = element("figure", { id: figure.id }, caption, ...chart.nodes);
  if (figure.note) shown.append(element("p", { className: "note", textContent: figure.note }));
  const values = figure.row_labels ? null : valueTable(figure);
  if (values) shown.append(values.details);
  section.append(shown);
  return { draw: chart.draw, update: (newer) => { chart.update(newer); values.update(newer); } };
}

// An image between two frames of text. As an image its style is its own.
function showDrawing(drawing, section) {
  const image = element("img", { src: "data:image/svg+xml," + encodeURIComponent(drawing.svg), alt: drawing.title });
  const shown = element("figure", { id: drawing.id },
    element("figcaption", {}, element("h3", { textContent: drawing.title })), image);
  if (drawing.note) shown.append(element("p", { className: "note", textContent: drawing.note }));
  section.append(shown);
}

// A table of text: its first column names the rows.
function tableElement(table) {
  const content = ({ text, link }) => (link ? element("a", { href: link, textContent: text }) : text);
  const row = (cells) => element("tr", {}, ...cells.map((cell, c) => {
    const made = element(c === 0 ? "th" : "td", {}, content(cell));
    if (c === 0) made.scope = "row";
    return made;
  }));
  const head = table.columns.map((text) => Object.assign(element("th", { textContent: text }), { scope: "col" }));
  const scroll = element("div", { className: "scroll text", tabIndex: 0 }, element("table", { className: "values" },
    element("thead", {}, element("tr", {}, ...head)), element("tbody", {}, ...table.rows.map(row))));
  scroll.setAttribute("role", "region");
  scroll.setAttribute("aria-label", table.title);
  const shown = element("figure", { id: table.id, className: "wide" },
    element("figcaption", {}, element("h3", { textContent: table.title })), scroll);
  if (table.note) shown.append(element("p", { className: "note", textContent: table.note }));
  return shown;
}

function showFacts(report) {
  document.getElementById("facts").replaceChildren(...Object.entries(report.facts).map(([name, value]) =>
    element("div", {}, element("dt", { textContent: name }), element("dd", { textContent: value }))));
}

const kWords = { problem: "Warning", note: "Note", good: "Good" };

function showMessages(report) {
  const list = document.getElementById("messages");
  list.hidden = report.messages.length === 0;
  list.replaceChildren(...report.messages.map(({ kind, text }) =>
    element("li", { className: kind }, element("strong", { textContent: kWords[kind] }), element("span", { textContent: text }))));
}

// Fills the page. Returns what redraws it and what takes a newer report of the same form.
function showReport(report) {
  const main = document.getElementById("figures"), contents = document.getElementById("contents");
  main.replaceChildren();
  contents.replaceChildren();
  const sections = new Map();
  const items = [...report.tables, ...report.drawings, ...report.figures];
  const names = [...report.sections.filter((name) => items.some((item) => item.section === name)),
    ...items.map((item) => item.section)];
  for (const name of names) {
    if (sections.has(name)) continue;
    const id = `section-${sections.size + 1}`;
    const section = element("section");
    section.setAttribute("aria-labelledby", id);
    main.append(element("h2", { id, textContent: name }), section);
    contents.append(element("a", { href: `#${id}`, textContent: name }));
    sections.set(name, section);
  }
  showFacts(report);
  showMessages(report);
  const tables = report.tables.map((table) => {
    const shown = tableElement(table);
    sections.get(table.section).append(shown);
    return shown;
  });
  for (const drawing of report.drawings) showDrawing(drawing, sections.get(drawing.section));
  const figures = report.figures.map((figure) => show(figure, sections.get(figure.section)));
  const draw = () => figures.forEach((figure) => figure.draw());
  draw();
  const update = (newer) => {
    showFacts(newer);
    showMessages(newer);
    newer.tables.forEach((table, t) => {
      const shown = tableElement(table);
      tables[t].replaceWith(shown);
      tables[t] = shown;
    });
    newer.figures.forEach((figure, f) => figures[f].update(figure));
  };
  return { draw, update };
}

// What a newer report must share with the one shown for its values to take their places.
function formOf(report) {
  return JSON.stringify([report.title, report.tables.map((table) => table.id), report.drawings.map((drawing) => drawing.id),
    report.figures.map((figure) => [figure.id, figure.series?.length ?? figure.matrix])]);
}

const stored = document.getElementById("report");
if (stored) {
  const page = showReport(JSON.parse(stored.textContent));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", page.draw);
}
