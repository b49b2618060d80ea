// A page in Chromium whose server is the simulated Lambda: `node pages.mjs URL djinn|use-chat`. The first line of the
// output says that the page shows half of a sentence; the test then ends the function that answers.

import assert from "node:assert/strict";
import { openChat } from "../clients/browser.mjs";
import { Between } from "../../web/stories/between.mjs";
import { startBrowser } from "../../web/stories/browser.mjs";
import { ask, complete, conversation, textOf } from "../../web/stories/steps.mjs";

const QUESTION = "What is to be done?";

const showHalf = () => console.log("half of a sentence");

/** Djinn's page, which comes back by itself. */
async function showDjinn(page, url) {
  const shown = async () => (await textOf(page)).replace(/\d+:\d\d/g, "…").replace(/\d+(?:\.\d+)? s\b/g, "…");
  await page.goto(url);
  await ask(page, QUESTION);
  await conversation(page).getByText("There ar", { exact: true }).waitFor();
  showHalf();
  await complete(page);
  const text = await shown();
  assert.equal(text.split("There are 0 parts, from part-1.md on.").length, 2, text);
  assert.equal(text.split("There ar").length, 2, text);
  await page.reload();
  await complete(page);
  assert.equal(await shown(), text);
}

/** The page `use_chat.jsx`, whose user loads it again after an error. */
async function showChat(page, url) {
  const shows = (text) => page.getByText(text, { exact: true }).waitFor();
  await openChat(page, url);
  await page.locator("output").getByText("ready", { exact: true }).waitFor();
  await page.getByLabel("Question").fill(QUESTION);
  await page.keyboard.press("Enter");
  await shows("I write");
  showHalf();
  await page.locator("output").getByText("network error").waitFor();
  await page.reload();
  await shows("I write part-1.md.");
  await page.getByRole("button", { name: "Approve file_tool" }).click();
  await shows("There are 1 parts, from part-1.md on.");
  await page.locator("output").getByText("ready", { exact: true }).waitFor();
  const texts = await page.locator("article p").allInnerTexts();
  assert.deepEqual(texts, [QUESTION, "I write part-1.md.", "There are 1 parts, from part-1.md on."]);
}

const [url, name] = process.argv.slice(2);
const browser = await startBrowser();
if (!browser) {
  console.error("*** SKIPPED: no Chromium runs on this machine. Set CHROME to an installed Chrome. ***");
  process.exit(0);
}
// The page has paths of its own, and a function URL of the simulator begins with the function's name.
const server = await Between.start({ url });
const page = await browser.newPage();
page.setDefaultTimeout(120_000);
const problems = [];
page.on("pageerror", (error) => problems.push(String(error.stack ?? error)));
try {
  await (name === "djinn" ? showDjinn : showChat)(page, server.url);
  assert.deepEqual(problems, []);
} catch (error) {
  console.error(`The page shows:\n${await page.locator("body").innerText()}`);
  throw error;
} finally {
  await browser.close();
  server.close();
}
