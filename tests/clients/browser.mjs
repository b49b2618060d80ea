// The page `use_chat.jsx` in Chromium: it is reloaded in mid-text, approves a call, and stops an answer.

import assert from "node:assert/strict";
import { startBrowser } from "../../web/stories/browser.mjs";
import { Gate } from "../../web/stories/model.mjs";

const here = new URL("./", import.meta.url).pathname;
const web = new URL("../../web/node_modules/", import.meta.url).pathname;

/** Returns the page's script, bundled by the tools of Djinn's own page. React comes from there, so that there is one. */
async function bundle() {
  const { build } = await import(`${web}vite/dist/node/index.js`);
  const { output } = await build({
    configFile: false,
    logLevel: "error",
    root: here,
    define: { "process.env.NODE_ENV": JSON.stringify("production") },
    resolve: { alias: { "react-dom": `${web}react-dom`, react: `${web}react` } },
    build: { write: false, rollupOptions: { input: `${here}use_chat.jsx` } },
  });
  return output.find((chunk) => chunk.isEntry).code;
}

/** Opens the page as one of this server's. */
export async function openChat(page, url) {
  const script = await bundle();
  const html = '<!doctype html><title>Chat</title><div id="root"></div><script type="module" src="/use-chat.js"></script>';
  await page.route(`${url}/use-chat`, (route) => route.fulfill({ contentType: "text/html", body: html }));
  await page.route(`${url}/use-chat.js`, (route) => route.fulfill({ contentType: "text/javascript", body: script }));
  await page.goto(`${url}/use-chat`);
}

/** Runs the story; returns false on a machine without a browser. */
export async function chatInBrowser(model, system) {
  const browser = await startBrowser();
  if (!browser) return false;
  try {
    const page = await browser.newPage();
    const problems = [];
    page.on("pageerror", (error) => problems.push(String(error.stack ?? error)));
    page.on("console", (message) => ["error", "warning"].includes(message.type()) && problems.push(message.text()));
    await page.clock.install();
    await openChat(page, system.url);
    await story(page, model);
    assert.deepEqual(problems, []);
  } finally {
    await browser.close();
  }
  return true;
}

/** Checks that the page sends nothing while its run waits for the user. */
async function isQuietForAMinute(page) {
  const requests = [];
  const listen = (request) => requests.push(request.url());
  page.on("request", listen);
  await page.clock.runFor(60_000);
  page.off("request", listen);
  assert.deepEqual(requests, []);
}

async function story(page, model) {
  const shows = (text) => page.getByText(text, { exact: true }).waitFor();
  const isReady = () => page.locator("output").getByText("ready", { exact: true }).waitFor();
  const ask = async (question) => {
    await isReady();
    await page.getByLabel("Question").fill(question);
    await page.keyboard.press("Enter");
  };

  const reload = new Gate();
  model.on("How long?", "A whole ", reload, "day.");
  await ask("How long?");
  await shows("A whole");
  await page.reload();
  await shows("A whole");
  reload.open();
  await shows("A whole day.");
  await isReady();
  assert.equal(await page.locator("article").count(), 2);

  model.on("Note an eight.", "I note it.", { tool: "file_tool", arguments: { command: "upload", filename: "note.md", content: "9" } });
  model.on("I note it.", "So be it.");
  await ask("Note an eight.");
  await isReady();
  await isQuietForAMinute(page);
  await page.getByRole("button", { name: "Approve file_tool" }).click();
  await shows("So be it.");
  await isReady();
  assert.equal(await page.locator("article").count(), 4, "the answer continues in its message");

  const stop = new Gate();
  model.on("How deep?", "Very ", stop, "deep.");
  await ask("How deep?");
  await shows("Very");
  await page.getByRole("button", { name: "Stop" }).click();
  await isReady();
  stop.open();
  // The run goes on without its reader.
  const hasEnded = async () => {
    const { turns } = await (await fetch("/sessions/browser")).json();
    return turns.some(({ answer }) => answer === "Very deep.");
  };
  await page.waitForFunction(hasEnded);
  model.on("And the second?", "Deeper.");
  await ask("And the second?");
  await shows("Deeper.");
}
