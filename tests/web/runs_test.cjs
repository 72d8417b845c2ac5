// Training runs in the browser: the report that a run leaves, and the page of `residual serve --runs`, which follows
// runs while they are being written. The runs are made of their records alone, so that every warning has its place.
"use strict";
const assert = require("node:assert");
const { execFileSync, spawn } = require("node:child_process");
const fs = require("node:fs");
const os = require("node:os");
const path = require("node:path");
const { checkAccess, coloursOf, contrast, inBothColours, keepImage } = require("./page.cjs");

const directory = fs.mkdtempSync(path.join(os.tmpdir(), "residual-runs-"));
const runs = path.join(directory, "runs");
const time = "2026-11-19 04:21:31  ";

const line = (object) => JSON.stringify(object) + "\n";
const write = (name, file, text) => fs.writeFileSync(path.join(runs, name, file), text);
const append = (name, file, text) => fs.appendFileSync(path.join(runs, name, file), text);

// The records of update 10, 20 ..., of a model that learns, or of one whose decoder gets no gradients any more.
function record(name, update, learns) {
  const wave = 0.04 * Math.sin(update);
  const nll = wave + (learns || update < 60 ? 2 + 8 * Math.exp(-update / 60) : 5.6 + 0.001 * (update % 20));
  append(name, "metrics.jsonl", line({ kind: "train", update, epoch: 1, batch: 1, loss: nll + 0.4, nll, perplexity: 2 ** nll,
    learning_rate: 1e-5 * Math.min(update, 80), gradient_norm: learns ? 1 + 8 / update : 20 / update, skipped: 0 }));
  append(name, "speed.jsonl", line({ update, updates: 10, seconds: 2, tokens_per_second: 4000 + 40 * Math.cos(update),
    peak_memory_bytes: 3e8 }));
  const gradient = learns || update < 60 ? 0.4 : 1e-7;
  append(name, "metrics.jsonl", line({ kind: "probe", update, decoder_gradient_low: gradient / 2, decoder_gradient_high: gradient,
    decoder_change_high: 0.4, decoder_gradients: [1, 2, 3, 4].map((k) => (gradient * k) / 4) }));
  if (update % 50 !== 0) return;
  append(name, "metrics.jsonl", line({ kind: "samples", update, samples: [
    { source: "ein Hund lief", reference: "a dog ran", hypothesis: update < 100 ? "the the the" : "a dog ran" },
    { source: "<b>das Haus & der Baum</b>", reference: "the house", hypothesis: `the house ${update}` }] }));
  append(name, "metrics.jsonl", line({ kind: "valid", update, epoch: 1, loss: nll + 0.5, nll: nll + 0.1, perplexity: 2 ** (nll + 0.1),
    bleu: learns ? update / 10 : 0.3 }));
}

function makeRuns() {
  for (const [name, scheme] of [["resi-dual", "resi-dual"], ["study/runs/post-ln", "post-ln"]]) {
    fs.mkdirSync(path.join(runs, name), { recursive: true });
    write(name, "config.toml", `description = "Words in reverse order"\n[model.residual]\nname = "${scheme}"\n` +
      "[schedule]\nwarmup = 80\npeak = 8e-4\n[train]\nmax_updates = 400\n");
    for (let update = 10; update <= 300; update += 10) record(name, update, name === "resi-dual");
    write(name, "log.txt", `${time}stopped after update 300; continue with: residual train\n`);
  }
}

async function drawn(page, id) {
  assert.ok((await coloursOf(page, `#${id} canvas`)) > 1, `${id} is empty`);
}

async function checkReadable(page, selectors) {
  for (const selector of selectors) {
    const seen = await contrast(page, selector);
    assert.ok(seen >= 4.5, `${selector} is hard to read: ${seen}`);
  }
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth), "wider than the window");
}

async function checkReports() {
  const failed = path.join(runs, "study/runs/post-ln");
  execFileSync("residual", ["-q", "report", failed]);
  await inBothColours(failed, async (page, scheme) => {
    const warnings = await page.locator("#messages li.problem").allTextContents();
    assert.match(warnings[0], /The decoder of post-ln stopped receiving gradients at update 60/);
    assert.match(warnings[1], /The loss is not falling/);
    for (const id of ["loss", "perplexity", "bleu", "gradient-norm", "decoder-gradients", "decoder-blocks", "learning-rate", "speed"]) {
      await drawn(page, id);
    }
    assert.deepStrictEqual((await page.locator("h2").allTextContents()),
      ["Learning curves", "Validation samples", "Gradients", "Learning rate and speed", "Residual scheme"]);
    assert.match(await page.locator("#samples").textContent(), /<b>das Haus & der Baum<\/b>/);
    assert.ok(await page.locator("#scheme img").evaluate((image) => image.naturalWidth > 100), "the scheme is not drawn");
    await checkReadable(page, ["#messages .problem strong", "#messages .problem span", "#samples td", "dd", ".note"]);
    await checkAccess(page);
    await keepImage(page, `report-${scheme}`);
  });
  const both = path.join(directory, "both");
  fs.mkdirSync(both);
  execFileSync("residual", ["-q", "report", path.join(runs, "resi-dual"), failed, "-o", path.join(both, "report.html")]);
  await inBothColours(both, async (page, scheme) => {
    assert.strictEqual(await page.locator("#runs tbody tr").count(), 2);
    assert.deepStrictEqual(await page.locator("#loss-t .u-legend .u-series th").allTextContents(), ["update", "resi-dual", "post-ln"]);
    await checkAccess(page);
    await keepImage(page, `comparison-${scheme}`);
  });
}

const startServer = () => new Promise((resolve, reject) => {
  const server = spawn("residual", ["serve", "--runs", runs, "--port", "0"], { stdio: ["ignore", "pipe", "inherit"] });
  server.stdout.once("data", (address) => resolve({ server, url: String(address).trim() + "/" }));
  server.once("exit", (code) => reject(new Error(`the server ended with ${code}`)));
});

const updateShown = (page) => page.locator("#list tbody tr").first().locator("td").nth(2).textContent();

async function checkFollowing(page, scheme) {
  await page.locator("#list tbody tr").first().waitFor();
  assert.match(page.url(), /\/runs$/); // without a model, / leads there
  assert.deepStrictEqual(await page.locator("#list tbody th a").allTextContents(), ["resi-dual", "study/runs/post-ln"]);
  await keepImage(page, `live-list-${scheme}`);
  await page.locator("#list a", { hasText: "resi-dual" }).click();
  await page.locator("#loss canvas").waitFor();
  await drawn(page, "loss");
  await page.locator("#contents a", { hasText: "Gradients" }).click(); // must not lose the run
  const before = Number((await updateShown(page)).match(/\d+/)[0]);
  const canvas = await page.locator("#loss canvas").elementHandle();
  record("resi-dual", before + 10, true);
  await page.waitForFunction((update) => document.querySelector("#list tbody tr td.number").textContent.startsWith(String(update)),
    before + 10);
  await page.waitForFunction((update) => document.querySelector("#facts").textContent.includes(`update ${update} of 400`), before + 10);
  assert.ok(await canvas.evaluate((node) => node.isConnected), "the chart was made anew instead of updated");
  await page.locator("#loss summary").click();
  const last = page.locator("#loss table.values tbody tr").last().locator("th");
  assert.strictEqual(await last.textContent(), String(before + 10));
  await checkReadable(page, ["#list th a", "#list td", "#list small", "#status", ".problems"]);
  await checkAccess(page);
  await page.locator("#list input").nth(1).check();
  await page.locator("#runs").waitFor();
  assert.strictEqual(await page.locator("#messages li.problem").count() > 0, true);
  await drawn(page, "loss-t");
  await checkAccess(page);
  await keepImage(page, `live-${scheme}`);
  await page.reload(); // the address keeps the choice
  await page.locator("#loss-t canvas").waitFor();
}

async function main() {
  makeRuns();
  const { server, url } = await startServer();
  try {
    await checkReports();
    await inBothColours(url, checkFollowing);
    console.log("reports and the page of runs are drawn, readable and followed");
  } finally {
    server.removeAllListeners("exit");
    server.kill();
    fs.rmSync(directory, { recursive: true });
  }
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
