// What browser tests have in common.
"use strict";
const assert = require("node:assert");
const path = require("node:path");
const { chromium } = require("playwright-core");

const flags = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update",
  "--disable-sync", "--no-first-run"];

// A page of a file or a server; what goes wrong in it is collected.
async function open(browser, colorScheme, url) {
  const context = await browser.newContext({ colorScheme, viewport: { width: 1280, height: 900 } });
  const page = await context.newPage();
  const problems = [];
  page.on("pageerror", (error) => problems.push(String(error)));
  page.on("console", (message) => message.type() === "error" && problems.push(message.text()));
  const home = url.startsWith("file:") ? "file:" : new URL(url).origin;
  page.on("request", (request) => request.url().startsWith(home) || problems.push(`asked for ${request.url()}`));
  await page.goto(url);
  return { page, problems };
}

// Contrast of text with what is behind it, as WCAG 2 defines it.
const contrast = (page, selector) => page.evaluate((where) => {
  const rgb = (text) => text.match(/[\d.]+/g).map(Number);
  const luminance = (text) => {
    const [r, g, b] = rgb(text).map((v) => v / 255).map((v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const node = document.querySelector(where);
  let behind = node;
  while (rgb(getComputedStyle(behind).backgroundColor)[3] === 0) behind = behind.parentElement;
  const [a, b] = [getComputedStyle(node).color, getComputedStyle(behind).backgroundColor].map(luminance);
  return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
}, selector);

// No finding of axe, the checker of accessibility.
async function checkAccess(page) {
  await page.addScriptTag({ path: require.resolve("axe-core/axe.min.js") });
  const found = await page.evaluate(() => window.axe.run());
  assert.deepStrictEqual(found.violations.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html).join(" ")}`), []);
}

// A chart that was drawn has more colours than its background.
const coloursOf = (page, selector) => page.evaluate((where) => {
  const canvas = document.querySelector(where);
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  const seen = new Set();
  for (let i = 0; i < data.length; i += 4) if (data[i + 3] > 128) seen.add(`${data[i]},${data[i + 1]},${data[i + 2]}`);
  return seen.size;
}, selector);

async function checkPage(page, report) {
  assert.strictEqual(await page.title(), report.title);
  assert.strictEqual(await page.locator("figure").count(), report.figures.length + report.tables.length + report.drawings.length);
  for (const figure of report.figures) {
    assert.ok((await coloursOf(page, `#${figure.id} canvas`)) > 1, `${figure.id} is empty`);
    assert.ok(await page.locator(`#${figure.id} canvas`).getAttribute("aria-label"), `${figure.id} has no label`);
  }
  for (const selector of ["h1", ".note", "dt", "figcaption button"]) {
    assert.ok((await contrast(page, selector)) >= 4.5, `${selector} is hard to read`);
  }
  const overflow = await page.evaluate(() => document.documentElement.scrollWidth > window.innerWidth);
  assert.ok(!overflow, "the page is wider than the window");
}

async function checkPhone(page) {
  await page.setViewportSize({ width: 390, height: 844 });
  await page.waitForTimeout(200); // charts follow the window on its next frames
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth), "too wide for a phone");
}

// Calls check(page) on a report's directory, or the page of a URL, in light and in dark.
async function inBothColours(place, check) {
  const url = place.includes("://") ? place : "file://" + path.join(place, "report.html");
  const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: flags });
  try {
    for (const scheme of ["light", "dark"]) {
      const { page, problems } = await open(browser, scheme, url);
      await check(page, scheme);
      await checkPhone(page);
      assert.deepStrictEqual(problems, []);
    }
  } finally {
    await browser.close();
  }
}

// Keeps an image of the page where $SCREENSHOTS says, to be looked at.
async function keepImage(page, name) {
  if (process.env.SCREENSHOTS) await page.screenshot({ path: path.join(process.env.SCREENSHOTS, `${name}.png`), fullPage: true });
}

module.exports = { checkAccess, checkPage, keepImage, coloursOf, contrast, inBothColours };
