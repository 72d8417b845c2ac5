"use strict";
// The page of `residual serve --runs`: a list of runs, and the report of those chosen, kept up to date. The part of the
// address after # names the chosen runs, so that a page can be kept or sent.

const kSeconds = 3; // between two looks at the server
const place = (id) => document.getElementById(id);
let page = null; // what is shown: its form, and how to update it
const seen = new Map(); // by path, the tag of the answer that is shown

const fromAddress = () => new URLSearchParams(location.hash.slice(1)).getAll("run");
let chosen = fromAddress();

function choose(names) {
  const query = new URLSearchParams();
  for (const name of names) query.append("run", name);
  location.hash = query.toString();
}

// The answer, or null if it is the one that is shown.
async function ask(path) {
  const tag = seen.get(path);
  const answer = await fetch(path, { headers: tag ? { "If-None-Match": tag } : {}, cache: "no-store" });
  if (answer.status === 304) return null;
  const content = await answer.json();
  if (!answer.ok) throw new Error(content.error);
  seen.set(path, answer.headers.get("ETag"));
  return content;
}

// ---- the list

const text = (value, digits) => (value === null ? "" : String(Number(value.toPrecision(digits))));

function progress({ update, max_updates }) {
  const made = element("td", { className: "number", textContent: update.toLocaleString("en") });
  if (max_updates > 0) {
    const bar = element("progress", { max: max_updates, value: Math.min(update, max_updates) });
    bar.setAttribute("aria-label", `update ${update} of ${max_updates}`);
    made.append(" of " + max_updates.toLocaleString("en"), bar);
  }
  return made;
}

function row(run) {
  const box = element("input", { type: "checkbox", checked: chosen.includes(run.name) });
  box.setAttribute("aria-label", `show ${run.name}`);
  box.onchange = () => choose(box.checked ? [...chosen, run.name] : chosen.filter((name) => name !== run.name));
  const link = element("a", { href: "#" + new URLSearchParams({ run: run.name }), textContent: run.name });
  const name = element("th", { scope: "row" }, link);
  if (run.description) name.append(element("small", { textContent: run.description }));
  const cell = (content) => element("td", { className: "number", textContent: content });
  return element("tr", { className: chosen.includes(run.name) ? "chosen" : "" }, element("td", {}, box), name,
    element("td", {}, element("span", { className: `state ${run.state}`, textContent: run.state })), progress(run),
    cell(text(run.loss, 4)), cell(text(run.perplexity, 4)), cell(text(run.bleu, 3)),
    cell(run.tokens_per_second === null ? "" : Math.round(run.tokens_per_second).toLocaleString("en")),
    element("td", { className: run.problems > 0 ? "problems" : "", textContent: run.problems || "none" }));
}

const kColumns = ["shown", "run", "state", "update", "training loss", "dev perplexity", "BLEU", "tokens/s", "warnings"];
let runs = [];

function showList() {
  const focused = document.activeElement?.getAttribute("aria-label");
  const head = kColumns.map((title) => Object.assign(element("th", { textContent: title }), { scope: "col" }));
  place("list").replaceChildren(element("table", { className: "values" }, element("thead", {}, element("tr", {}, ...head)),
    element("tbody", {}, ...runs.map(row))));
  if (focused) place("list").querySelector(`[aria-label="${CSS.escape(focused)}"]`)?.focus();
  place("list").hidden = runs.length === 0;
}

// ---- the report

function showChosen(report) {
  place("name").textContent = report.title;
  const form = formOf(report);
  if (page?.form === form) {
    page.update(report);
  } else {
    place("report").hidden = false;
    page = { form, ...showReport(report) };
  }
}

function hideReport() {
  page = null;
  place("report").hidden = true;
}

// ---- following

async function look() {
  const list = await ask("/runs/list");
  if (list) {
    runs = list.runs;
    showList();
  }
  const running = runs.filter((run) => run.state === "running").length;
  place("status").textContent = runs.length === 0 ? "There is no run yet." :
    `${runs.length} run${runs.length === 1 ? "" : "s"}, ${running} of them running.`;
  const wanted = chosen.filter((name) => runs.some((run) => run.name === name));
  place("hint").hidden = wanted.length > 0;
  if (wanted.length === 0) return hideReport();
  const query = new URLSearchParams(wanted.map((name) => ["run", name]));
  const report = await ask("/runs/report?" + query);
  if (report && !isAsked) showChosen(report);
}

let timer = 0, isLooking = false, isAsked = false; // asked: to look again at once

// Looks now, and again and again while the page is visible.
async function follow() {
  clearTimeout(timer);
  isAsked = isLooking;
  if (isLooking) return;
  isLooking = true;
  try {
    await look();
  } catch (error) {
    place("status").textContent = `The server does not answer: ${error.message}`;
  }
  isLooking = false;
  if (isAsked) return follow();
  if (!document.hidden) timer = setTimeout(follow, 1000 * kSeconds);
}

addEventListener("hashchange", () => {
  if (!location.hash.startsWith("#run=") && location.hash !== "") return; // a section of the report
  chosen = fromAddress();
  seen.clear();
  showList();
  follow();
});
document.addEventListener("visibilitychange", () => document.hidden || follow());
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => page?.draw());
follow();
