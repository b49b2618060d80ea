// Stories of a whole planned run of the demo model, as a new user has it: a table, three agents, a file whose name is
// changed in the form, a summary and reports. Both are told by keyboard alone, one of them on a narrow page in Chinese.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { HOME, INSTALLATION } from "./answers.mjs";
import { Issuer } from "./issuer.mjs";
import { box, card, chooseByKeys, conversation, ended, enterUntilGone, tabTo } from "./steps.mjs";
import { System } from "./system.mjs";

const QUESTION = "Compare the three regions in sales.csv, one report each, then a summary";
const table = readFileSync(new URL("../../examples/sales.csv", import.meta.url), "utf8");

/** The words that these stories look for, in both languages of the page. */
const ENGLISH = { add: "Add files", show: "Show", allow: "Allow", next: "Ask the next question" };
const CHINESE = { add: "添加文件", show: "查看", allow: "允许", next: "提出下一个问题" };

/** Adds a file by keyboard. */
async function addByKeys(page, words, name, text) {
  await tabTo(page, page.getByRole("button", { name: words.add }));
  const chosen = page.waitForEvent("filechooser");
  // The browser hands over its chooser from the next command on, so the key follows another one.
  await page.evaluate(() => undefined);
  await page.keyboard.press("Enter");
  await (await chosen).setFiles({ name, mimeType: "text/csv", buffer: Buffer.from(text) });
  await page.getByText("238 B").waitFor();
}

/** Allows all requests until the answer has ended, by keyboard: Alt and R leads to the next one. */
async function allowRestByKeys(page, words) {
  const tray = page.getByRole("button", { name: words.show, exact: true });
  const end = page.getByPlaceholder(words.next);
  for (;;) {
    // The only request has no tray while it is in view.
    const first = conversation(page).locator("section[data-request]").first();
    await tray.or(first).or(end).first().waitFor();
    if (await end.isVisible()) return;
    await page.keyboard.press("Alt+KeyR");
    const request = await page.evaluate(() => document.activeElement?.closest("[data-request]")?.dataset.request ?? null);
    if (request === null) continue;
    const waiting = conversation(page).locator(`[data-request="${request}"]`);
    await tabTo(page, waiting.getByRole("button", { name: words.allow, exact: true }));
    await enterUntilGone(page, waiting);
  }
}

/** Signs in with the two buttons, the page's and the issuer's, by keyboard. */
async function signInByKeys(page) {
  for (const control of [page.getByRole("dialog").getByRole("button", { name: "登录" }), page.getByRole("link", { name: "I am Anna" })]) {
    await tabTo(page, control);
    await page.keyboard.press("Enter");
  }
}

const NARROW = { width: 360, height: 740 };
/** A window in which all rows of a conversation are in the document. */
const TALL = { width: 360, height: 6_000 };

/** What a narrow page shows of a run: the conversation, and the panel that covers it. Without times. */
async function pictureOf(page) {
  await page.setViewportSize(TALL);
  // The rows of the taller window come with one of its next frames.
  await conversation(page).locator("section[data-request]").nth(2).waitFor();
  const talk = await conversation(page).innerText();
  const panel = page.getByRole("complementary");
  await page.keyboard.press("Alt+KeyP");
  const plan = await shown(page);
  await page.keyboard.press("Escape");
  await panel.waitFor({ state: "detached" });
  await page.setViewportSize(NARROW);
  return `${talk}\n${plan}`.replace(/\d+:\d+/g, "…").replace(/[\d.]+ ?(?:s|秒)/g, "…");
}

async function showsTheSame(page, before) {
  for (let look = 1; ; look += 1) {
    const now = await pictureOf(page);
    if (now === before || look === 10) return assert.equal(now, before);
  }
}

/** What the plan and its agents show, without times. */
async function shown(page) {
  const panel = page.getByRole("complementary");
  // The last words of the three agents may come right after the requests.
  for (const name of ["east", "north", "south"]) await panel.getByText(`file_tool · ${name}.md`).waitFor();
  return (await panel.innerText()).replace(/\d+:\d+/g, "…");
}

export const WHOLE = {
  async planned_run_by_keyboard_is_the_same_after_a_closed_tab_and_a_killed_process_and_in_a_second_browser({ page, after }) {
    const system = await System.start({});
    after(() => system.close());
    await page.goto(system.url);
    await box(page).waitFor();
    await addByKeys(page, ENGLISH, "sales.csv", table);
    await chooseByKeys(page, page.getByRole("button", { name: "Answer", exact: true }), page.getByRole("menuitemradio", { name: "Plan", exact: true }));
    await chooseByKeys(page, page.getByRole("button", { name: "Ask me: never" }), page.getByRole("menuitemcheckbox", { name: "before risky calls" }));
    await tabTo(page, box(page), "Shift+Tab");
    await page.keyboard.type(QUESTION);
    await page.keyboard.press("Enter");
    await page.getByText("3 requests wait for you", { exact: true }).waitFor();
    const address = page.url();
    const second = await (await page.context().browser().newContext({ locale: "en-US" })).newPage();
    after(() => second.context().close());
    await second.goto(address);
    await second.getByText("3 requests wait for you", { exact: true }).waitFor();
    const before = await shown(page);

    // The tab is closed and the process killed: both browsers show the same afterwards.
    const tab = await page.context().newPage();
    await page.goto("about:blank");
    await system.kill();
    await system.start();
    await tab.goto(address);
    await tab.getByText("3 requests wait for you", { exact: true }).waitFor();
    assert.equal(await shown(tab), before);
    const request = card(conversation(tab), "May East write a file?");
    await request.waitFor();
    await tabTo(tab, request.getByRole("textbox", { name: "File name" }));
    await tab.keyboard.press("Control+KeyA");
    await tab.keyboard.type("east-2024.md");
    await tabTo(tab, request.getByRole("button", { name: "Allow with changes" }));
    await enterUntilGone(tab, request);
    await allowRestByKeys(tab, ENGLISH);
    for (const browser of [tab, second]) {
      await conversation(browser).getByText("East grew fastest, by 55.9 % from 2021 to 2024.").waitFor();
      await ended(browser);
      for (const name of ["east-2024.md", "north.md", "south.md", "comparison.md"]) {
        await conversation(browser).getByRole("button", { name }).waitFor();
      }
    }
    const panel = tab.getByRole("complementary");
    for (const browser of [tab, second]) {
      for (const region of ["East", "North", "South"]) await browser.getByRole("complementary").getByText(`${region} grew by`).waitFor();
    }
    // The work of an agent, and the costs of all.
    await tabTo(tab, panel.getByRole("button", { name: /^completed East / }));
    await tab.keyboard.press("Enter");
    await panel.getByRole("region", { name: "Work of East" }).waitFor();
    await tabTo(tab, panel.getByRole("tab", { name: /^Plan/ }), "Shift+Tab");
    await tab.keyboard.press("End");
    await tab.keyboard.press("Enter");
    for (const name of ["The run itself", "East", "North", "South"]) {
      await panel.getByRole("row", { name: new RegExp(`^${name} [\\d.]+k?$`) }).waitFor();
    }
    await tab.close();
    await page.goto(address);
    await ended(page);
  },

  planned_run_by_keyboard_on_a_narrow_chinese_page_behind_an_issuer_survives_a_killed_process: Object.assign(
    async ({ page, allow, after }) => {
      allow(/status of 401/);
      const issuer = await Issuer.start();
      after(() => issuer.close());
      const system = await System.start({ ...issuer.variables, DJINN_HOME: HOME });
      after(() => system.close());
      await page.setViewportSize(NARROW);
      await page.goto(system.url);
      await signInByKeys(page);
      const field = page.getByRole("textbox", { name: "您的问题" });
      await field.waitFor();
      await addByKeys(page, CHINESE, "sales.csv", table);
      await chooseByKeys(page, page.getByRole("button", { name: "回答", exact: true }), page.getByRole("menuitemradio", { name: "计划", exact: true }));
      await chooseByKeys(page, page.getByRole("button", { name: "询问我：从不" }), page.getByRole("menuitemcheckbox", { name: "有风险的调用之前" }));
      await tabTo(page, field, "Shift+Tab");
      await page.keyboard.type("比较 sales.csv 中的三个地区，各写一份报告，然后总结");
      await page.keyboard.press("Enter");
      await page.getByText("3 个请求等待您答复", { exact: true }).waitFor();
      const address = page.url();
      const second = await (await page.context().browser().newContext({ locale: "zh-CN", viewport: NARROW })).newPage();
      after(() => second.context().close());
      await second.goto(address);
      await signInByKeys(second);
      await second.getByText("3 个请求等待您答复", { exact: true }).waitFor();
      const before = await pictureOf(page);
      await showsTheSame(second, before);

      // The tab is closed and the process killed. The tab took its tokens with it.
      const tab = await page.context().newPage();
      await tab.setViewportSize(NARROW);
      await page.goto("about:blank");
      await system.kill();
      await system.start();
      await tab.goto(address);
      await signInByKeys(tab);
      await tab.getByText("3 个请求等待您答复", { exact: true }).waitFor();
      await showsTheSame(tab, before);
      const request = card(conversation(tab), "允许“East”写入文件吗？");
      await tabTo(tab, request.getByRole("textbox", { name: "文件名" }));
      await tab.keyboard.press("Control+KeyA");
      await tab.keyboard.type("东部.md");
      await tabTo(tab, request.getByRole("button", { name: "按修改允许" }));
      await enterUntilGone(tab, request);
      await allowRestByKeys(tab, CHINESE);
      for (const browser of [tab, second]) {
        await browser.getByPlaceholder(CHINESE.next).waitFor();
        await conversation(browser).getByText(/^East增长最快/).waitFor();
        for (const name of ["东部.md", "north.md", "south.md", "comparison.md"]) {
          await conversation(browser).getByRole("button", { name }).waitFor();
        }
        assert.equal(await browser.evaluate(() => document.documentElement.scrollWidth), NARROW.width);
        assert.doesNotMatch(await conversation(browser).innerText(), /\b(?:the|agents?|request|took)\b/i);
      }
      const report = tab.getByRole("dialog", { name: "东部.md" });
      await tabTo(tab, conversation(tab).getByRole("button", { name: "东部.md" }).last());
      await tab.keyboard.press("Enter");
      await report.getByRole("table").waitFor();
      await tab.keyboard.press("Escape");
      await report.waitFor({ state: "detached" });

      // The next question draws a chart, which both browsers show.
      await tab.keyboard.press("/");
      await tab.keyboard.type("根据 sales.csv 画出各地区历年的销售额，并写一份报告");
      await tab.keyboard.press("Enter");
      await tab.getByPlaceholder(CHINESE.next).waitFor({ state: "detached" });
      await allowRestByKeys(tab, CHINESE);
      await second.reload();
      for (const browser of [tab, second]) {
        await browser.setViewportSize(TALL);
        const chart = conversation(browser).getByRole("img", { name: "各地区" });
        await chart.waitFor({ timeout: INSTALLATION });
        await chart.evaluate((image) => image.decode());
        assert.equal(await browser.evaluate(() => document.documentElement.scrollWidth), NARROW.width);
      }
      await tab.close();
      await page.goto(address);
      await page.getByPlaceholder(CHINESE.next).waitFor();
    },
    { locale: "zh-CN" },
  ),
};
