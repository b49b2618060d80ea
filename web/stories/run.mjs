// Runs the stories: `node run.mjs [NAME]`.

import { checkAccess } from "./axe.mjs";
import { startBrowser } from "./browser.mjs";
import { ScriptedModel } from "./model.mjs";
import { ANSWERS } from "./answers.mjs";
import { ACCESS } from "./access.mjs";
import { AGENTS } from "./agents.mjs";
import { PEOPLE } from "./people.mjs";
import { SAFETY } from "./safety.mjs";
import { SIGN_IN } from "./sign_in.mjs";
import { OPEN_STATES } from "./states.mjs";
import { CONVERSATIONS } from "./conversations.mjs";
import { System } from "./system.mjs";
import { WHOLE } from "./whole.mjs";

const STORIES = { ...CONVERSATIONS, ...AGENTS, ...ANSWERS, ...PEOPLE, ...ACCESS, ...SAFETY, ...SIGN_IN, ...WHOLE, ...OPEN_STATES };

/** The longest wait of a step, in milliseconds: far above what it takes on two busy cores. */
const PATIENCE = Number(process.env.STORY_PATIENCE ?? 60_000);

/** A connection that ends with its process, or with its page, is reported by the browser itself. */
const EXPECTED = /net::ERR_(CONNECTION_REFUSED|CONNECTION_RESET|EMPTY_RESPONSE|INCOMPLETE_CHUNKED_ENCODING)/;

const browser = await startBrowser();
if (!browser) {
  console.log("\n*** SKIPPED: no Chromium runs on this machine. Set CHROME to an installed Chrome. ***\n");
  process.exit(0);
}
const model = await ScriptedModel.start();
const variables = { OPENAI_API_KEY: "story-key", OPENAI_BASE_URL: model.url, OPENAI_MODEL: "story" };
const system = await System.start(variables);
let failed = 0;
const wanted = Object.entries(STORIES).filter(([name]) => name.includes(process.argv[2] ?? ""));
if (wanted.length === 0) throw new Error(`no story is called ${process.argv[2]}`);
for (const [name, story] of wanted) {
  const started = performance.now();
  const locale = story.locale ?? "en-US";
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, locale });
  context.setDefaultTimeout(PATIENCE);
  const page = await context.newPage();
  const messages = [];
  const closings = [];
  const expected = [EXPECTED];
  const isExpected = (text) => expected.some((pattern) => pattern.test(text));
  context.on("console", (message) => isExpected(message.text()) || messages.push(message.text()));
  // Of all tabs.
  context.on("weberror", (error) => messages.push(String(error.error().stack ?? error.error())));
  try {
    await story({ page, model, system, variables, allow: (pattern) => expected.push(pattern), after: (close) => closings.push(close) });
    await checkAccess(page);
    if (messages.length > 0) throw new Error(`the console has: ${messages.join("\n")}`);
    console.log(`ok      ${name} (${Math.round(performance.now() - started)} ms)`);
  } catch (error) {
    failed += 1;
    console.log(`FAILED  ${name}: ${error.stack}`);
    const text = await page.locator("body").innerText().catch(() => "");
    console.log(`The page shows:\n${text.slice(0, 3_000)}\nThe console has: ${messages.join("\n")}`);
    const picture = new URL(`../../target/tmp/story-${name}.png`, import.meta.url).pathname;
    await page.screenshot({ path: picture }).then(() => console.log(`picture: ${picture}`), () => undefined);
  }
  await context.close();
  for (const close of closings) await close();
}
await browser.close();
await system.close();
model.close();
console.log(`${wanted.length - failed} of ${wanted.length} stories passed`);
process.exit(failed === 0 ? 0 : 1);
