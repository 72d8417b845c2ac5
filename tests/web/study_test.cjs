// The report of `residual study`: tables, links to runs, curves.
"use strict";
const assert = require("node:assert");
const { execFileSync } = require("node:child_process");
const fs = require("node:fs");
const os = require("node:os");
const path = require("node:path");
const { checkPage, inBothColours } = require("./page.cjs");

const work = fs.mkdtempSync(path.join(os.tmpdir(), "residual-study-"));
const at = (...parts) => path.join(work, ...parts);
const residual = (...args) => execFileSync("residual", ["-q", ...args], { cwd: work, stdio: ["ignore", "ignore", "inherit"] });

const kRecipe = `model = { width = 16, inner = 32, heads = 2 }
batch = { max_tokens = 512 }
train = { max_updates = 30, workers = 1 }
log = { every_updates = 5 }
validate = { every_updates = 10 }
`;
const kPlan = `tables = 2
recipe = "tiny.toml"
corpus = "prepared"
depths = [1, 6]
probe_every = 10
schemes = [{ name = "pre-ln" }, { name = "resi-dual" }]
`;

function makeStudy() {
  const lines = [...Array(200).keys()].map((i) => `a b ${i % 7} c ${i % 5} d`);
  fs.writeFileSync(at("text.en"), lines.join("\n") + "\n");
  fs.writeFileSync(at("text.de"), lines.map((line) => [...line].reverse().join("")).join("\n") + "\n");
  residual("prepare", "--source-lang", "en", "--target-lang", "de", "--train", "text", "--test", "text", "--set",
    "split.dev_every=20", "--set", "text.tokenizer=none", "--set", "subwords.kind=none", "--set", "clean.overlap=keep",
    "-o", "prepared");
  fs.writeFileSync(at("tiny.toml"), kRecipe);
  fs.writeFileSync(at("plan.toml"), kPlan);
  residual("study", "plan.toml", "-o", "study");
}

async function checkTables(page, report) {
  for (const table of report.tables) {
    const rows = page.locator(`#${table.id} tbody tr`);
    assert.strictEqual(await rows.count(), table.rows.length);
    assert.strictEqual(await rows.first().locator("th, td").count(), table.columns.length);
  }
  assert.strictEqual(await page.locator("#table-2 tbody tr").last().locator("td").first().textContent(), "35.63");
  const link = await page.locator("#runs tbody a").first().evaluate((a) => a.href);
  assert.ok(fs.existsSync(new URL(link)), `${link} is not there`);
}

async function main() {
  try {
    makeStudy();
    const directory = at("study", "report", "plan");
    const report = JSON.parse(fs.readFileSync(path.join(directory, "report.json"), "utf8"));
    await inBothColours(directory, async (page) => {
      await checkPage(page, report);
      await checkTables(page, report);
    });
    console.log(`${report.tables.length} tables and ${report.figures.length} figures`);
  } finally {
    fs.rmSync(work, { recursive: true });
  }
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
