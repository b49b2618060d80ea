// Takes README's picture: `node picture.mjs FILE`. The demo model works on README's plan question, and its three
// agents wait for their user.

import { writeFileSync } from "node:fs";
import { startBrowser } from "./browser.mjs";
import { askMe, box, card, conversation } from "./steps.mjs";
import { System } from "./system.mjs";

const SIZE = { width: 1320, height: 900 };
/** The quality of WebP, in percent. */
const QUALITY = 82;
/** The most bytes of the picture, to keep README small. */
const MOST = 150_000;

const browser = await startBrowser();
if (!browser) throw new Error("no Chromium runs on this machine: set CHROME to an installed Chrome");
const system = await System.start({});
try {
  const context = await browser.newContext({ viewport: SIZE, deviceScaleFactor: 2, reducedMotion: "reduce", locale: "en-US" });
  const page = await context.newPage();
  await page.goto(system.url);
  await page.getByRole("button", { name: /Compare the three regions/ }).click();
  await page.getByText("238 B").waitFor();
  await askMe(page, "before risky calls");
  await box(page).press("Enter");
  await page.getByText("3 requests wait for you", { exact: true }).waitFor();
  const first = card(conversation(page), "write a file").first();
  await first.getByRole("textbox", { name: "File name" }).fill("east-2024.md");
  await first.evaluate((element) => element.scrollIntoView({ block: "center" }));
  await page.mouse.move(0, 0);
  await page.evaluate(() => document.activeElement.blur());
  await first.locator("button[aria-disabled=false]").first().waitFor();
  const session = await context.newCDPSession(page);
  const { data } = await session.send("Page.captureScreenshot", { format: "webp", quality: QUALITY });
  const picture = Buffer.from(data, "base64");
  if (picture.length > MOST) throw new Error(`the picture has ${picture.length} bytes, and ${MOST} are the most`);
  writeFileSync(process.argv[2], picture);
  console.log(`${process.argv[2]}: ${picture.length} bytes`);
} finally {
  await browser.close();
  await system.close();
}
