// The page of `residual serve`, as somebody who tries a model meets it.
"use strict";
const assert = require("node:assert");
const { execFileSync, spawn } = require("node:child_process");
const fs = require("node:fs");
const os = require("node:os");
const path = require("node:path");
const { checkAccess, contrast, inBothColours } = require("./page.cjs");

const directory = fs.mkdtempSync(path.join(os.tmpdir(), "residual-serve-"));

// A model that half-learnt to reverse letters.
function makeModel() {
  const letters = path.join(directory, "letters");
  fs.writeFileSync(letters, [..."abcdefghijklmnopqrst"].map((letter) => `${letter} 1\n`).join(""));
  const model = path.join(directory, "model");
  execFileSync("residual", ["-q", "import-fairseq", path.join(__dirname, "../fixtures/fairseq/resi-dual-beam.safetensors"),
    "--source-dictionary", letters, "--source-language", "de", "--target-language", "en", "--tokenizer", "none",
    "-o", model]);
  return model;
}

const startServer = (model) => new Promise((resolve, reject) => {
  const server = spawn("residual", ["serve", "--model", model, "--port", "0"]);
  server.stdout.once("data", (address) => resolve({ server, url: String(address).trim() + "/" }));
  server.once("exit", (code) => reject(new Error(`the server ended with ${code}`)));
});

const lines = (page) => page.locator("#target .line").allTextContents();
const isIdle = (page) => page.locator("#go", { hasText: /^Translate$/ }).waitFor();

async function checkTranslation(page) {
  await page.locator("#source").fill("a b c d e\n\nf g h");
  await page.locator("#source").press("Control+Enter");
  await isIdle(page);
  assert.deepStrictEqual(await lines(page), ["d e b", "", "h f g"]);
  assert.match(await page.locator("#state").textContent(), /^3 lines in /);
  assert.ok((await page.locator("#target mark").count()) >= 1, "no word is doubtful");
  const details = page.locator("#details section");
  await details.waitFor();
  assert.strictEqual(await details.count(), 1);
  assert.strictEqual(await details.locator(".pieces").first().locator(".piece").count(), 5);
  await details.locator("button.piece").first().hover();
  assert.strictEqual(await details.locator(".piece.attended").count(), 1);
  await details.locator("summary").click();
  assert.strictEqual(await details.locator("tbody td").count(), 3 * 5);
  await details.getByRole("button", { name: "Next line" }).click();
  await page.locator("h2", { hasText: "Line 3" }).waitFor();
  await page.locator("#target .line").first().click();
  await page.locator("h2", { hasText: "Line 1" }).waitFor();
}

async function checkAlternatives(page) {
  const first = page.locator("#details section");
  await first.locator(".words button").nth(1).click();
  await first.locator(".others button").first().waitFor();
  const others = await first.locator(".others button").allTextContents();
  assert.strictEqual(others.length, 5);
  assert.strictEqual(new Set(others.map((text) => text.split(" ")[1])).size, 5);
  for (const text of others) assert.match(text, /^d/);
  const chosen = others.find((text) => text.startsWith("d ") && text !== "d e b");
  await first.locator(".others button", { hasText: new RegExp(`^${chosen}$`) }).click();
  assert.deepStrictEqual(await lines(page), [chosen, "", "h f g"]);
  assert.strictEqual(await first.locator(".words").textContent(), `${chosen} `);
  assert.strictEqual(await first.locator(".others button").count(), 0);
}

async function checkCopy(page) {
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await page.locator("#copy").click();
  await page.locator("#copy", { hasText: "Copied" }).waitFor();
  const shown = (await lines(page)).join("\n");
  assert.strictEqual(await page.evaluate(() => navigator.clipboard.readText()), shown);
}

async function checkLists(page) {
  await page.locator("#best").fill("3");
  await page.locator("#target .line").nth(2).click();
  await page.waitForFunction(() => document.querySelectorAll("#details section > .pieces").length === 4);
  await page.locator("#beam").fill("2");
  assert.strictEqual(await page.locator("#best:invalid").count(), 1);
  await page.locator("#beam").fill("5");
  await page.locator("#best").fill("1");
}

// Waits for handlers, because the page also asks for the details of a line after it is idle.
const routesEnd = (page) => page.unrouteAll({ behavior: "wait" });

// A text of 300 lines: its progress shows, it can be stopped, and the page stays small. Answers are
// held back, so that the test sees progress however fast the machine is.
async function checkLongText(page) {
  let delay = 10;
  const later = async (route) => {
    await new Promise((go) => setTimeout(go, delay));
    await route.continue().catch(() => {}); // the page may have given the request up
  };
  await page.route("**/translate", later);
  await page.locator("#source").fill(Array.from({ length: 300 }, (_, i) => `a b c d ${"efghij"[i % 6]}`).join("\n"));
  const progress = page.locator("#progress").waitFor();
  await page.locator("#go").click();
  await progress;
  await isIdle(page);
  assert.strictEqual((await lines(page)).filter((line) => line).length, 300);
  const nodes = await page.evaluate(() => document.querySelectorAll("*").length);
  assert.ok(nodes < 3000, `${nodes} elements for 300 lines`);

  delay = 100;
  await page.locator("#go").click();
  await page.waitForFunction(() => document.querySelector("#progress").value >= 8);
  await page.locator("#go").click();
  await isIdle(page);
  assert.match(await page.locator("#state").textContent(), /^\d+ of 300 lines in /);
  await routesEnd(page);
}

// A translation that is its source is marked.
async function checkWarnings(page) {
  await page.route("**/translate", async (route) => {
    const response = await route.fetch();
    const answer = await response.json();
    answer.lines[0].translations[0].warnings = ["untranslated"];
    await route.fulfill({ response, json: answer });
  });
  await page.locator("#source").fill("a b c");
  await page.locator("#go").click();
  await isIdle(page);
  assert.match((await lines(page))[0], /⚠ not translated$/);
  assert.match(await page.locator("#state").textContent(), /⚠ 1 probably wrong$/);
  await routesEnd(page);
}

async function main() {
  const { server, url } = await startServer(makeModel());
  try {
    await inBothColours(url, async (page) => {
      await page.waitForFunction(() => document.querySelector("#about").textContent !== "");
      assert.match(await page.locator("#about").textContent(), /^resi-dual, /);
      assert.strictEqual(await page.locator("#from").textContent(), "German");
      await checkTranslation(page);
      await checkAlternatives(page);
      await checkCopy(page);
      for (const selector of ["h1", "#about", "label", ".note", "#form button", ".piece"]) {
        assert.ok((await contrast(page, selector)) >= 4.5, `${selector} is hard to read`);
      }
      await checkLists(page);
      await checkAccess(page);
      await checkLongText(page);
      await checkWarnings(page);
    });
  } finally {
    server.removeAllListeners("exit");
    server.kill();
    fs.rmSync(directory, { recursive: true });
  }
}

main().catch((error) => { console.error(error); process.exit(1); });
