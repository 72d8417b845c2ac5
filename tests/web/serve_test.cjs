// The page of `residual serve`, as somebody who tries a model meets it.
"use strict";
const assert = require("node:assert");
const { execFileSync, spawn } = require("node:child_process");
const fs = require("node:fs");
const os = require("node:os");
const path = require("node:path");
const { contrast, inBothColours } = require("./page.cjs");

const directory = fs.mkdtempSync(path.join(os.tmpdir(), "residual-serve-"));

// A model that half-learnt to reverse letters.
function makeModel() {
  const letters = path.join(directory, "letters");
  fs.writeFileSync(letters, [..."abcdefghijklmnopqrst"].map((letter) => `${letter} 1\n`).join(""));
  const model = path.join(directory, "model");
  execFileSync("residual", ["-q", "import-fairseq", path.join(__dirname, "../fixtures/fairseq/resi-dual-beam.safetensors"),
    "--source-dictionary", letters, "--source-language", "ab", "--target-language", "ba", "--tokenizer", "none",
    "-o", model]);
  return model;
}

const startServer = (model) => new Promise((resolve, reject) => {
  const server = spawn("residual", ["serve", "--model", model, "--port", "0"]);
  server.stdout.once("data", (address) => resolve({ server, url: String(address).trim() + "/" }));
  server.once("exit", (code) => reject(new Error(`the server ended with ${code}`)));
});

async function checkTranslation(page) {
  await page.locator("#source").fill("a b c d e\n\nf g h");
  await page.locator("#source").press("Control+Enter");
  await page.locator("#details section").nth(1).waitFor();
  assert.strictEqual(await page.locator("#target").textContent(), "d e b\n\nh f g");
  assert.strictEqual(await page.locator("#details section").count(), 2);
  const first = page.locator("#details section").first();
  assert.strictEqual(await first.locator(".pieces").first().locator(".piece").count(), 5);
  await first.locator("button.piece").first().hover();
  assert.strictEqual(await first.locator(".piece.attended").count(), 1);
  await first.locator("summary").click();
  assert.strictEqual(await first.locator("tbody td").count(), 3 * 5);
}

async function checkAlternatives(page) {
  const first = page.locator("#details section").first();
  await first.locator(".words button").nth(1).click();
  await first.locator(".others button").first().waitFor();
  const others = await first.locator(".others button").allTextContents();
  assert.strictEqual(others.length, 5);
  assert.strictEqual(new Set(others.map((text) => text.split(" ")[1])).size, 5);
  for (const text of others) assert.match(text, /^d/);
  const chosen = others.find((text) => text.startsWith("d ") && text !== "d e b");
  await first.locator(".others button", { hasText: new RegExp(`^${chosen}$`) }).click();
  assert.strictEqual(await page.locator("#target").textContent(), `${chosen}\n\nh f g`);
  assert.strictEqual(await first.locator(".words").textContent(), `${chosen} `);
  assert.strictEqual(await first.locator(".others button").count(), 0);
}

async function checkLists(page) {
  await page.locator("#best").fill("3");
  await page.locator("#form button").click();
  await page.waitForFunction(() => document.querySelectorAll("#details section:first-child > .pieces").length === 4);
  await page.locator("#beam").fill("2");
  assert.strictEqual(await page.locator("#best:invalid").count(), 1);
}

async function main() {
  const { server, url } = await startServer(makeModel());
  try {
    await inBothColours(url, async (page) => {
      await page.waitForFunction(() => document.querySelector("#about").textContent !== "");
      assert.match(await page.locator("#about").textContent(), /^resi-dual, /);
      await checkTranslation(page);
      await checkAlternatives(page);
      for (const selector of ["h1", "#about", "label", ".note", "#form button", ".piece"]) {
        assert.ok((await contrast(page, selector)) >= 4.5, `${selector} is hard to read`);
      }
      await checkLists(page);
    });
  } finally {
    server.removeAllListeners("exit");
    server.kill();
    fs.rmSync(directory, { recursive: true });
  }
}

main().catch((error) => { console.error(error); process.exit(1); });
