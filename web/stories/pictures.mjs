// Takes pictures of the page's states, to look at: `node pictures.mjs FOLDER [NAME]`. Each state is taken light, dark,
// in a low window, on a phone and in Chinese.

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { startBrowser } from "./browser.mjs";
import { Gate, ScriptedModel } from "./model.mjs";
import { STATES } from "./states.mjs";
import { System } from "./system.mjs";

const [folder, part = ""] = process.argv.slice(2);
mkdirSync(folder, { recursive: true });
const browser = await startBrowser();
const model = await ScriptedModel.start();
const variables = { OPENAI_API_KEY: "key", OPENAI_BASE_URL: model.url, OPENAI_MODEL: "story" };
const system = await System.start(variables);
const demo = await System.start({});
for (const [name, prepare] of Object.entries(STATES)) {
  if (!name.includes(part)) continue;
  const gate = new Gate();
  const closings = [];
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, locale: "en-US", reducedMotion: "reduce" });
  context.setDefaultTimeout(20_000);
  const page = await context.newPage();
  const take = (page, variant) => page.screenshot({ path: join(folder, `${name}-${variant}.png`) });
  try {
    await prepare({ page, model, system, demo, variables, gate, after: (close) => closings.push(close) });
    await page.mouse.move(0, 0);
    await take(page, "light");
    await page.setViewportSize({ width: 1280, height: 600 });
    await take(page, "low");
    await page.setViewportSize({ width: 1440, height: 900 });
    await page.emulateMedia({ colorScheme: "dark" });
    await take(page, "dark");
    await page.emulateMedia({ colorScheme: "light" });
    await page.setViewportSize({ width: 360, height: 740 });
    await take(page, "phone");
    await context.setOffline(false);
    const chinese = await (await browser.newContext({ viewport: { width: 1440, height: 900 }, locale: "zh-CN" })).newPage();
    await chinese.goto(page.url());
    await chinese.locator("main").waitFor();
    await chinese.waitForLoadState("networkidle", { timeout: 2_000 }).catch(() => undefined);
    await take(chinese, "chinese");
    await chinese.context().close();
    console.log(`ok      ${name}`);
  } catch (error) {
    await take(page, "failed").catch(() => undefined);
    console.log(`FAILED  ${name}: ${error.message.split("\n")[0]}`);
  }
  gate.open();
  await context.close();
  for (const close of closings) await close();
}
await browser.close();
await system.close();
await demo.close();
model.close();
