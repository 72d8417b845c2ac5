// The report of `residual probe`, as a reader meets it: opened from a file, with no network.
"use strict";
const assert = require("node:assert");
const { execFileSync } = require("node:child_process");
const fs = require("node:fs");
const os = require("node:os");
const path = require("node:path");
const { checkAccess, checkPage, coloursOf, inBothColours } = require("./page.cjs");

const directory = fs.mkdtempSync(path.join(os.tmpdir(), "residual-report-"));

function makeReport() {
  execFileSync("residual", ["-q", "probe", "--compare", "post-ln,resi-dual", "--layers", "2", "--tokens", "64",
    "--set", "model.width=16", "--set", "model.inner=32", "--set", "model.heads=2", "-o", directory]);
  return JSON.parse(fs.readFileSync(path.join(directory, "report.json"), "utf8"));
}

async function checkTable(page, figure) {
  await page.locator(`#${figure.id} summary`).click();
  const cells = page.locator(`#${figure.id} table.values tbody tr`).first().locator("td");
  await cells.first().waitFor(); // the table is made when it is first opened
  assert.strictEqual(await cells.count(), figure.series.length);
  const shown = Number(await cells.first().textContent());
  assert.ok(Math.abs(shown - figure.rows[0][1]) <= 1e-3 * Math.abs(figure.rows[0][1]), "the table shows another value");
}

async function checkScaleButton(page, figure) {
  const button = page.locator(`#${figure.id} figcaption button`);
  const before = await button.getAttribute("aria-pressed");
  await button.focus();
  await page.keyboard.press("Enter");
  assert.notStrictEqual(await button.getAttribute("aria-pressed"), before);
  assert.ok((await coloursOf(page, `#${figure.id} canvas`)) > 1);
}

async function main() {
  const report = makeReport();
  try {
    await inBothColours(directory, async (page) => {
      await checkPage(page, report);
      await checkTable(page, report.figures[0]);
      await checkScaleButton(page, report.figures[0]);
      await checkAccess(page);
    });
    console.log(`${report.figures.length} figures drawn and readable`);
  } finally {
    fs.rmSync(directory, { recursive: true });
  }
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
