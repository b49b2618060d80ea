// Stories of answers: their sources, tables, charts and files.

import assert from "node:assert/strict";
import { Between, longRun, SESSION } from "./between.mjs";
import { Gate } from "./model.mjs";
import { ask, complete, conversation, ended, repeatUntil, WRITE } from "./steps.mjs";
import { System } from "./system.mjs";

const CITED = "Gold is warm [1], zinc is cold [2].\n\n## Sources\n\n- [1] [Of gold](https://gold.example/warm)";

/** The home of the system with tables, whose Python is installed once: about a minute. */
export const HOME = new URL("../../target/page-tables", import.meta.url).pathname;
export const INSTALLATION = 300_000;

/** Asks a data question of the demo model. Returns the first result of its query. */
async function askForData(page, question) {
  await ask(page, question);
  await page.getByPlaceholder("Ask the next question").waitFor({ timeout: INSTALLATION });
  await complete(page);
  return conversation(page).getByRole("region").filter({ has: page.locator("[data-chart]") }).first();
}

/** Scrolls to the top: rows far from the view are not in the document. */
async function scrollToTop(page) {
  await page.locator("[data-talk]").hover();
  await page.mouse.wheel(0, -100_000);
}

/** Returns the levels of the headings of the conversation that are in the document. */
const headingLevels = (page) =>
  page.locator("[data-talk]").evaluate((talk) => [...talk.querySelectorAll("h1,h2,h3,h4,h5,h6")].map(({ tagName }) => Number(tagName[1])));

export const ANSWERS = {
  async citation_leads_to_its_source_also_of_an_older_answer({ page, model, system }) {
    model.on("Which metal is warm", { tool: "file_tool", arguments: WRITE });
    model.on("Which metal is warm", CITED);
    model.on("And tea", "Tea is warm, too.");
    await page.goto(system.url);
    await ask(page, "Which metal is warm?");
    await ended(page);
    const panel = page.getByRole("complementary");
    const cite = conversation(page).getByRole("button", { name: "Source 1: Of gold" }).first();
    await cite.click();
    const source = panel.getByRole("listitem").filter({ hasText: "Of gold" });
    await source.getByText("gold.example").waitFor();
    assert.equal(await conversation(page).getByText("[2]").count(), 1);
    await ask(page, "And tea?");
    await conversation(page).getByText("Tea is warm, too.").waitFor();
    await ended(page);
    // After a reload, the older answer has its sources and files before its work is read.
    await page.reload();
    await complete(page);
    await panel.getByText("Of gold").waitFor({ state: "detached" });
    await scrollToTop(page);
    await conversation(page).getByRole("button", { name: "Show the work" }).waitFor();
    assert.equal(await conversation(page).getByText(/^wrote note\.md/).count(), 0);
    await conversation(page).getByRole("button", { name: /note\.md/ }).waitFor();
    await cite.click();
    await source.waitFor();
    await panel.getByText("Which metal is warm?").waitFor();
    // An answer's headings follow that of its question.
    await conversation(page).getByRole("heading", { name: "Which metal is warm?", level: 2 }).waitFor();
    await conversation(page).getByRole("button", { name: "Show the work" }).click();
    await conversation(page).getByText(/^wrote note\.md/).first().waitFor();
    // On no width does a line begin with the number of a source.
    for (let width = 150; width < 330; width += 6) {
      await cite.evaluate((number, width) => number.closest("p").style.setProperty("width", `${width}px`), width);
      assert.equal(await cite.evaluate((number) => number.parentElement.getClientRects().length), 1, `${width} px`);
    }
  },

  async opened_conversation_is_scrolled_by_its_reader_alone({ page, model, system }) {
    const parts = Array.from({ length: 8 }, (_, part) => [
      `## Part ${part + 1}`,
      ...Array.from({ length: 8 }, (_, index) => `Paragraph ${index + 1} of part ${part + 1}, of gold.`),
    ]);
    const gates = Array.from({ length: 30 }, () => new Gate());
    model.on("Tell of gold", parts.flat().join("\n\n"));
    model.on("Tell of zinc", ...gates.flatMap((gate, index) => [`Zinc, paragraph ${index + 1}.\n\n`, gate]), "The end.");
    await page.goto(system.url);
    await ask(page, "Tell of gold");
    await conversation(page).getByText("Paragraph 1 of part 1, of gold.").waitFor();
    await ended(page);
    await ask(page, "Tell of zinc");
    await gates[0].reached;
    // The new question is at the top of the view.
    await conversation(page).getByText("Zinc, paragraph 1.").waitFor();
    await page.waitForFunction(() => {
      const asked = [...document.querySelectorAll("[data-talk] h2")].find((heading) => heading.textContent === "Tell of zinc");
      const distance = asked.getBoundingClientRect().top - document.querySelector("[data-talk]").getBoundingClientRect().top;
      return distance >= 0 && distance < 120;
    });
    await page.reload();
    await conversation(page).getByText("Zinc, paragraph 1.").waitFor();
    // The reader goes to the top, and stays there while the newest answer grows.
    await scrollToTop(page);
    const first = conversation(page).getByRole("heading", { name: "Part 1", exact: true });
    await first.waitFor();
    for (const gate of gates) {
      await gate.reached;
      gate.open();
      await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
    }
    await ended(page);
    const talk = page.locator("[data-talk]");
    assert.equal(await talk.evaluate((element) => element.scrollTop), 0);
    // In the middle of the long answer, its question is above the view, and headings still follow it.
    await talk.evaluate((element) => element.scrollTo(0, 2_000));
    await conversation(page).getByRole("heading", { name: "Part 6", exact: true }).waitFor();
    await conversation(page).getByText("Paragraph 1 of part 1, of gold.").waitFor({ state: "detached" });
    const levels = await headingLevels(page);
    assert.ok(levels.includes(3) && levels.every((level, at) => level <= (levels[at - 1] ?? 1) + 1), levels.join());
    // The button leads to the end, and the reader away from it.
    await page.getByRole("button", { name: "To the end" }).click();
    await conversation(page).getByText("The end.").waitFor();
  },

  async rows_of_a_query_are_a_chart_and_a_sorted_table({ page, after }) {
    const system = await System.start({ DJINN_HOME: HOME });
    after(() => system.close());
    await page.goto(system.url);
    // The next question keeps the mode.
    await page.getByRole("button", { name: "Answer", exact: true }).click();
    await page.getByRole("menuitemradio", { name: "Data query" }).click();
    const months = await askForData(page, "2024年各月销量变化趋势如何？");
    await months.locator('[data-chart="line"]').waitFor();
    assert.equal(await months.locator("[data-point]").count(), 12);
    const name = await months.getByRole("img").getAttribute("aria-label");
    assert.match(name, /^Line chart of .+, 12 values: lowest .+, highest /);
    assert.equal(await months.getByRole("row").count(), 13);
    // The answer is the table, and not repeated as text.
    assert.equal(await conversation(page).getByRole("table").count(), 1);
    await page.getByRole("button", { name: "New question" }).click();
    const shares = await askForData(page, "各地区销售额占比是多少？");
    await shares.locator('[data-chart="pie"]').waitFor();
    assert.match(await shares.getByRole("img").getAttribute("aria-label"), /^Pie chart of .+, 5 values: /);
    assert.equal(await shares.locator("[data-slice]").count(), 5);
    await page.getByRole("button", { name: "New question" }).click();
    const products = await askForData(page, "采购成本最高的前十名商品是什么？");
    await products.locator('[data-chart="bar"]').waitFor();
    assert.equal(await products.locator("[data-bar]").count(), 10);
    const first = products.getByRole("columnheader").first();
    const column = products.getByRole("row").locator("td:first-child");
    const before = await column.allInnerTexts();
    await first.getByRole("button").click();
    assert.equal(await first.getAttribute("aria-sort"), "ascending");
    const sorted = await column.allInnerTexts();
    assert.deepEqual(sorted.toSorted(), before.toSorted());
    assert.notDeepEqual(sorted, before);
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    const asCsv = page.getByRole("menuitem", { name: "As CSV" });
    // On a busy machine, a click is sometimes lost here, perhaps because the table moves between press and release.
    await repeatUntil(() => products.getByRole("button", { name: "Copy table" }).click(), asCsv);
    await asCsv.click();
    const copy = await page.evaluate(() => navigator.clipboard.readText());
    assert.deepEqual(copy.trim().split("\r\n").slice(1).map((line) => line.split(",")[0]), sorted);
    await products.getByText("Query", { exact: true }).click();
    await products.getByText(/SELECT/).first().waitFor();
  },

  async chart_of_an_answer_takes_the_place_of_its_block({ page, model, system }) {
    const gate = new Gate();
    const begin = 'Prices rise.\n\n```chart\n{"type": "bar", "title": "Prices of metals", "unit": "euros",';
    const end = ' "labels": ["Gold", "Zinc"], "series": [{"name": "Price", "values": [1300, 40]}]}\n```\n\nGold leads.';
    model.on("Draw the metals", begin, gate, end);
    await page.goto(system.url);
    await ask(page, "Draw the metals");
    await gate.reached;
    await conversation(page).getByText("A chart is being written…").waitFor();
    assert.equal(await conversation(page).getByText("Prices of metals").count(), 0);
    gate.open();
    for (const show of [() => undefined, () => page.reload()]) {
      await show();
      await complete(page);
      await conversation(page).getByRole("img", { name: /^Bar chart of Price, 2 values: lowest Zinc \(40\), highest Gold \(1,300\)/ }).waitFor();
      await conversation(page).getByText("Prices of metals euros").waitFor();
    }
    await conversation(page).getByText("Values", { exact: true }).click();
    await conversation(page).getByRole("row", { name: "Gold 1,300" }).waitFor();
  },

  async conversation_of_fifty_questions_opens_with_three_requests({ page, model, system }) {
    const session = "50".repeat(16);
    for (let n = 0; n <= 50; n += 1) {
      model.on(`Count to ${n}.`, `It is ${n}.`);
      // The oldest ones are summed up for the newest.
      if (n === 50) model.on(`Count to ${n}.`, `It is ${n}.`);
      const body = JSON.stringify({ question: `Count to ${n}.`, session_id: session });
      const headers = { "content-type": "application/json", accept: "text/event-stream" };
      await (await fetch(`${system.url}/runs`, { method: "POST", headers, body })).text();
    }
    const paths = [];
    page.on("request", (request) => paths.push(new URL(request.url()).pathname));
    await page.goto(`${system.url}/#/s/${session}`);
    await complete(page);
    await conversation(page).getByText("It is 50.").waitFor();
    const own = paths.filter((path) => path.includes(session) || path.startsWith("/runs/"));
    assert.ok(own.length >= 2 && own.length <= 3, own.join(" "));
    // The one before the newest fifty is read when it is asked for.
    await scrollToTop(page);
    await conversation(page).getByText("It is 1.", { exact: true }).waitFor();
    await page.getByRole("button", { name: "Show earlier questions" }).click();
    await conversation(page).getByText("It is 0.", { exact: true }).waitFor();
    await page.getByRole("button", { name: "Show earlier questions" }).waitFor({ state: "detached" });
  },

  async run_of_ten_thousand_entries_is_shown_with_few_elements({ page, system, after }) {
    const between = await Between.start(system);
    after(() => between.close());
    between.events = longRun();
    between.isOver = true;
    await page.goto(`${between.url}/#/s/${SESSION}`);
    await page.locator("header").getByText("7.0M tokens").waitFor();
    const count = () => page.evaluate(() => document.querySelectorAll("*").length);
    const counts = [await count()];
    await scrollToTop(page);
    await conversation(page).getByRole("heading", { name: "How fast?", level: 2 }).waitFor();
    await conversation(page).getByText("Paragraph 1:").waitFor();
    counts.push(await count());
    assert.ok(Math.max(...counts) <= 3_000, `${counts.join(" and ")} elements`);
  },

  async page_without_storage_asks_and_answers({ page, model, system }) {
    await page.addInitScript(() => {
      for (const name of ["localStorage", "sessionStorage"]) {
        Object.defineProperty(window, name, {
          get() {
            throw new DOMException("denied", "SecurityError");
          },
        });
      }
    });
    model.on("Without storage", "Nothing is kept.");
    await page.goto(system.url);
    await ask(page, "Without storage");
    await conversation(page).getByText("Nothing is kept.").waitFor();
    await ended(page);
    await conversation(page).getByRole("button", { name: "Edit question" }).click();
    assert.equal(await page.getByRole("textbox", { name: "Your question" }).inputValue(), "Without storage");
    await page.reload();
    await conversation(page).getByText("Nothing is kept.").waitFor();
  },

  async conversation_that_was_deleted_elsewhere_says_so({ page, model, system, allow }) {
    allow(/status of 404/);
    model.on("Soon gone", "For now.");
    await page.goto(system.url);
    await ask(page, "Soon gone");
    await conversation(page).getByText("For now.").waitFor();
    await ended(page);
    const session = page.url().split("/s/")[1];
    const { status } = await fetch(`${system.url}/sessions/${session}`, { method: "DELETE" });
    assert.equal(status, 204);
    await page.reload();
    await conversation(page).getByText("session_not_found").waitFor();
    await page.getByRole("textbox", { name: "Your question" }).waitFor({ state: "detached" });
    await conversation(page).getByRole("button", { name: "New question" }).click();
    await page.getByRole("textbox", { name: "Your question" }).waitFor();
  },
};
