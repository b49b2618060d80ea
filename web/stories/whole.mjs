// Stories of a whole planned run of the demo model, as a new user has it: a table, three agents, a file whose name is
// changed in the form, a summary and reports. One is told by keyboard alone, the other on a phone.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { Issuer } from "./issuer.mjs";
import { box, card, chooseByKeys, conversation, decide, ended, enterUntilGone, tabTo } from "./steps.mjs";
import { System } from "./system.mjs";

const QUESTION = "Compare the three regions in sales.csv, one report each, then a summary";
const table = readFileSync(new URL("../../examples/sales.csv", import.meta.url), "utf8");

/** Drops a file on the page. */
async function drop(page, name, text) {
  const files = await page.evaluateHandle(
    ([name, text]) => {
      const transfer = new DataTransfer();
      transfer.items.add(new File([text], name, { type: "text/csv" }));
      return transfer;
    },
    [name, text],
  );
  await page.dispatchEvent("body", "drop", { dataTransfer: files });
  await page.getByText("238 B").waitFor();
}

/** Allows all requests until the answer has ended, each where the tray leads. */
async function allowRest(page, { show, allow, next }) {
  const tray = page.getByRole("button", { name: show, exact: true });
  const end = page.getByPlaceholder(next);
  for (;;) {
    // The only request has no tray while it is in view.
    const waiting = conversation(page).locator("section[data-request]").first();
    await tray.or(waiting).or(end).first().waitFor();
    if (await end.isVisible()) return;
    if (await tray.isVisible()) await tray.click({ timeout: 2_000 }).catch(() => undefined);
    const request = await waiting.getAttribute("data-request", { timeout: 2_000 }).catch(() => null);
    if (request) await decide(conversation(page).locator(`[data-request="${request}"]`), allow);
  }
}

/** Adds a file by keyboard. */
async function addByKeys(page, name, text) {
  await tabTo(page, page.getByRole("button", { name: "Add files" }));
  const chosen = page.waitForEvent("filechooser");
  // The browser hands over its chooser from the next command on, so the key follows another one.
  await page.evaluate(() => undefined);
  await page.keyboard.press("Enter");
  await (await chosen).setFiles({ name, mimeType: "text/csv", buffer: Buffer.from(text) });
  await page.getByText("238 B").waitFor();
}

/** Allows all requests until the answer has ended, by keyboard: Alt and R leads to the next one. */
async function allowRestByKeys(page) {
  const tray = page.getByRole("button", { name: "Show", exact: true });
  const end = page.getByPlaceholder("Ask the next question");
  for (;;) {
    const first = conversation(page).locator("section[data-request]").first();
    await tray.or(first).or(end).first().waitFor();
    if (await end.isVisible()) return;
    await page.keyboard.press("Alt+KeyR");
    const request = await page.evaluate(() => document.activeElement?.closest("[data-request]")?.dataset.request ?? null);
    if (request === null) continue;
    const waiting = conversation(page).locator(`[data-request="${request}"]`);
    await tabTo(page, waiting.getByRole("button", { name: "Allow", exact: true }));
    await enterUntilGone(page, waiting);
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
    await addByKeys(page, "sales.csv", table);
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
    await allowRestByKeys(tab);
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

  planned_run_of_a_chinese_phone_behind_an_issuer: Object.assign(
    async ({ page, allow, after }) => {
      allow(/status of 401/);
      const issuer = await Issuer.start();
      after(() => issuer.close());
      const system = await System.start(issuer.variables);
      after(() => system.close());
      await page.setViewportSize({ width: 360, height: 740 });
      await page.goto(system.url);
      await page.getByRole("dialog").getByRole("button", { name: "登录" }).click();
      await page.getByRole("link", { name: "I am Anna" }).click();
      const field = page.getByRole("textbox", { name: "您的问题" });
      await field.waitFor();
      await drop(page, "sales.csv", table);
      await page.getByRole("button", { name: "回答", exact: true }).click();
      await page.getByRole("menuitemradio", { name: "计划", exact: true }).click();
      await page.getByRole("button", { name: "询问我：从不" }).click();
      await page.getByRole("menuitemcheckbox", { name: "有风险的调用之前" }).click();
      await page.keyboard.press("Escape");
      await field.fill("比较 sales.csv 中的三个地区，各写一份报告，然后总结");
      await page.getByRole("button", { name: "发送", exact: true }).click();
      await page.getByText("3 个请求等待您答复", { exact: true }).waitFor();
      const request = page.locator("section[data-request]").first();
      await request.getByRole("textbox", { name: "文件名" }).fill("第一份.md");
      await decide(conversation(page).locator(`[data-request="${await request.getAttribute("data-request")}"]`), "按修改允许");
      await allowRest(page, { show: "查看", allow: "允许", next: "提出下一个问题" });
      await conversation(page).getByRole("button", { name: "第一份.md" }).waitFor();
      const width = await page.evaluate(() => document.documentElement.scrollWidth);
      assert.equal(width, 360);
      assert.doesNotMatch(await conversation(page).innerText(), /\b(?:the|agents?|request|took)\b/i);
    },
    { locale: "zh-CN" },
  ),
};
