// Stories of requests: what a run asks its user, and what it does with the response.

import assert from "node:assert/strict";
import { LocalServer } from "./local_server.mjs";
import { Gate } from "./model.mjs";
import { ask, askMe, box, card, choosePlan, conversation, decide, ended, repeatUntil, stop, WRITE } from "./steps.mjs";
import { System } from "./system.mjs";

/** Returns a color of the page's styles, as the browser computes it. */
const colorOf = (page, name) =>
  page.evaluate((name) => {
    const element = document.body.appendChild(document.createElement("i"));
    element.style.color = `var(${name})`;
    const { color } = getComputedStyle(element);
    element.remove();
    return color;
  }, name);

/** Counts customers for those who send a key. */
class Customers extends LocalServer {
  seen = [];
  #key;

  constructor(key) {
    super();
    this.#key = key;
  }

  answer(request, response) {
    this.seen.push(request.headers.authorization);
    const isKnown = request.headers.authorization === this.#key;
    response.writeHead(isKnown ? 200 : 401).end(isKnown ? "Seven customers." : "Who are you?");
  }
}

export const PEOPLE = {
  async question_of_the_model_is_answered_in_words({ page, model, system }) {
    const questions = [{ question: "Which metal?", choices: ["Copper", "Tin"] }, "In which currency?"];
    model.on("Note the price", "It may be either.", { tool: "ask_user", arguments: { questions } });
    model.on("Note the price", "Nine euros.");
    await page.goto(system.url);
    await askMe(page, "when something is unclear");
    await ask(page, "Note the price");
    const request = card(page, "The run asks you");
    for (const question of ["Which metal?", "In which currency?"]) await request.getByText(question).waitFor();
    // The card alone shows what waits.
    assert.equal(await conversation(page).getByText("ask_user").count(), 0);
    const metal = request.getByRole("button", { name: "Copper", exact: true });
    const currency = request.getByRole("textbox", { name: "In which currency?" });
    await metal.click();
    await currency.fill("In euros");
    // What was chosen and typed is still there after the card was out of sight.
    await page.getByRole("button", { name: "New question" }).click();
    // Beside it, the list marks what waits, by a colour and a shape of its own.
    const list = page.getByRole("navigation", { name: "Conversations" });
    const mark = list.getByRole("link", { name: /^Note the price.*waits for you/ }).locator("[aria-hidden]");
    const look = await mark.evaluate((element) => {
      const { backgroundColor, rotate, transform } = getComputedStyle(element);
      return { backgroundColor, isTurned: rotate !== "none" || transform !== "none" };
    });
    assert.deepEqual(look, { backgroundColor: await colorOf(page, "--ask-rule"), isTurned: true });
    await page.goBack();
    assert.deepEqual([await metal.getAttribute("aria-pressed"), await currency.inputValue()], ["true", "In euros"]);
    await decide(request, "Answer");
    await conversation(page).getByText("Nine euros.").waitFor();
    await ended(page);
    await conversation(page).getByText("Answered in words by you").waitFor();
    assert.ok(JSON.stringify(model.requests.at(-1)).includes(JSON.stringify("1. Copper\n2. In euros").slice(1, -1)));
  },

  async call_that_needs_a_key_asks_for_it_and_nothing_keeps_it({ page, model, variables, after, allow }) {
    allow(/status of 400/);
    const canary = "canary-7c1e";
    const customers = await Customers.start(`Bearer ${canary}-new`);
    after(() => customers.close());
    const origin = customers.url;
    const tool = [
      'description = "Counts customers."', 'trust = "all"', 'effect = "read"', "[request]", 'method = "GET"',
      `url = "${origin}/count"`, 'headers = { authorization = "Bearer {user_key:CRM}" }',
    ];
    const system = await System.start({ ...variables, DJINN_EGRESS_ORIGINS: origin }, { "tools/crm.toml": tool.join("\n") });
    after(() => system.close());
    model.on("How many customers", { tool: "crm", arguments: {} });
    model.on("How many customers", "There are seven.");
    await page.goto(system.url);
    await ask(page, "How many customers?");
    // The card before stays until the next look at the run.
    const request = card(page, "crm needs a key of yours").last();
    const field = request.getByLabel(`Your key CRM for ${origin}`);
    const save = "Store the key and try again";
    await field.waitFor();
    assert.equal(await request.getByText("rejected").count(), 0);
    // What cannot be a key is rejected by the server, and stays to be corrected.
    await field.fill(`${canary}-ß`);
    await repeatUntil(() => field.press("Enter"), request.getByText("invalid_field"));
    await field.fill(`${canary}-old`);
    const rejected = request.getByText(`${origin} rejected the stored key.`);
    await repeatUntil(() => request.getByRole("button", { name: save }).click({ timeout: 2_000 }), rejected);
    assert.equal(await field.inputValue(), "");
    // A reload forgets what was typed.
    await field.fill(`${canary}-half`);
    await page.reload();
    await rejected.waitFor();
    assert.equal(await field.inputValue(), "");
    await field.fill(`${canary}-new`);
    await decide(request, save);
    await conversation(page).getByText("There are seven.").waitFor();
    await ended(page);
    assert.deepEqual(customers.seen, [`Bearer ${canary}-old`, `Bearer ${canary}-new`]);
    const kept = await page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.body.innerHTML]));
    assert.ok(!kept.includes(canary), kept);
    assert.ok(!system.keeps(canary) && system.keeps("How many customers"));
    assert.ok(!JSON.stringify(model.requests).includes(canary));
  },

  async four_calls_at_once_are_decided_in_two_tabs_singly_and_together({ page, model, system, allow }) {
    allow(/status of 409/);
    const names = ["one.md", "two.md", "three.md", "four.md"];
    model.on("Four notes", "I write four.", ...names.map((filename) => ({ tool: "file_tool", arguments: { ...WRITE, filename } })));
    model.on("Four notes", "Three are written.");
    await page.goto(system.url);
    await askMe(page, "before risky calls");
    await ask(page, "Four notes, please");
    await page.getByText("4 requests wait for you", { exact: true }).waitFor();
    // Cards take no focus.
    assert.equal(await box(page).evaluate((field) => field === document.activeElement), true);
    const request = (page, name) => card(conversation(page), "write a file").filter({ has: page.locator(`input[value="${name}"]`) });
    const first = await request(page, "one.md").getAttribute("data-request");
    const other = await page.context().newPage();
    await other.goto(page.url());
    await decide(other.locator(`[data-request="${first}"]`), "Allow");
    // The first tab says who decided.
    await conversation(page).getByText("Allowed by you").waitFor();
    await page.getByText("3 requests wait for you", { exact: true }).waitFor();
    await request(page, "three.md").getByRole("textbox", { name: "File name" }).fill("drei.md");
    await decide(request(page, "two.md"), "Skip");
    await page.setViewportSize({ width: 1440, height: 560 });
    const talk = page.locator("[data-talk]");
    await talk.evaluate((element) => element.scrollTo(0, element.scrollHeight));
    await repeatUntil(
      () => page.getByRole("button", { name: "Allow all" }).click({ timeout: 2_000 }),
      conversation(page).getByText("Three are written."),
    );
    for (const tab of [page, other]) {
      await tab.evaluate(() => document.dispatchEvent(new Event("visibilitychange")));
      await conversation(tab).getByText("Three are written.").waitFor();
      await ended(tab);
    }
    // The decided cards are small, and the reader at their end still sees the answer.
    const both = [conversation(page).getByText("Three are written."), talk].map((locator) => locator.elementHandle());
    await page.waitForFunction(([answer, talk]) => answer.getBoundingClientRect().top > talk.getBoundingClientRect().top, await Promise.all(both));
    const session = page.url().split("/s/")[1];
    const { files } = await (await fetch(`${system.url}/sessions/${session}/files`)).json();
    assert.deepEqual(files.map(({ name }) => name).toSorted(), ["drei.md", "four.md", "one.md"]);
    await other.close();
  },

  async plan_and_results_of_steps_are_reviewed({ page, after }) {
    const system = await System.start({});
    after(() => system.close());
    await page.goto(system.url);
    await page.getByRole("button", { name: /Compare the three regions/ }).click();
    await page.getByText("238 B").waitFor();
    await askMe(page, "before a plan starts", "after each step");
    await page.getByRole("textbox", { name: "Your question" }).press("Enter");
    const panel = page.getByRole("complementary");
    await decide(card(page, "Start this plan?"), "Start");
    await decide(card(page, "Accept this result?"), "Accept");
    await panel.getByText("3 at once").waitFor();
    await page.getByText("3 requests wait for you", { exact: true }).waitFor();
    // The results of the three, and then of their comparison.
    for (let left = 4; left > 0; left -= 1) {
      const waiting = conversation(page).locator("section[data-request]").first();
      const request = await waiting.getAttribute("data-request");
      await decide(conversation(page).locator(`[data-request="${request}"]`), "Accept");
    }
    await conversation(page).getByText("East grew fastest, by 55.9 % from 2021 to 2024.").waitFor();
    await ended(page);
  },

  async used_up_budget_is_extended_by_less_than_offered({ page, model, variables, after }) {
    const system = await System.start({ ...variables, DJINN_LIMITS__MAX_TOKENS: "1000" });
    after(() => system.close());
    const list = { tool: "file_tool", arguments: { command: "get", filename: "sales.csv" } };
    model.on("How did it go", "I look.", list, { tokens: 1_100 });
    model.on("How did it go", "It went well.");
    await page.goto(system.url);
    await askMe(page, "before risky calls");
    await ask(page, "How did it go?");
    const request = card(page, "The budget is used up. Extend it?");
    const tokens = request.getByRole("textbox", { name: "Tokens" });
    assert.equal(await tokens.inputValue(), "1000");
    // The limits are shown while the run waits.
    await page.getByRole("button", { name: "Plan, files and sources" }).click();
    await page.getByRole("tab", { name: "Usage" }).click();
    await page.getByRole("complementary").getByText("1.1k of 1.0k", { exact: true }).waitFor();
    await tokens.fill("1001");
    await request.getByText("Enter at most the offered amount, and more than nothing.").waitFor();
    assert.equal(await request.getByRole("button", { name: "Extend" }).isDisabled(), true);
    await tokens.fill("500");
    await decide(request, "Extend");
    await conversation(page).getByText("It went well.").waitFor();
    await ended(page);
    await page.getByRole("complementary").getByText("1.2k of 1.5k", { exact: true }).waitFor();
  },

  async interrupted_model_is_called_again({ page, model, system }) {
    model.on("Anything new", { status: 402, message: "Insufficient Balance" });
    model.on("Anything new", "Nothing new.");
    await page.goto(system.url);
    await ask(page, "Anything new?");
    const request = card(page, "The model was interrupted. Try again?");
    await request.getByText(/Add credit/).waitFor();
    await decide(request, "Try again");
    await conversation(page).getByText("Nothing new.").waitFor();
    await ended(page);
  },

  async steps_of_a_plan_are_dragged({ page, model, system }) {
    const gate = new Gate();
    const create = { command: "create", title: "Metals", steps: ["look at tin", "look at zinc", "look at lead"], depends_on: [[], [1], [1]] };
    model.on("Three metals", { tool: "planning", arguments: create });
    model.on("look at tin", gate, "Tin is cheap.");
    await page.goto(system.url);
    await choosePlan(page);
    await ask(page, "Three metals");
    await gate.reached;
    await page.getByRole("complementary").getByRole("button", { name: "Edit plan" }).click();
    const dialog = page.getByRole("dialog");
    const details = (number) => dialog.getByRole("textbox", { name: `Step ${number}`, exact: true });
    const handle = await dialog.getByTitle("Drag to move the step").nth(1).boundingBox();
    const target = await details(2).boundingBox();
    await page.mouse.move(handle.x + 5, handle.y + 5);
    await page.mouse.down();
    await page.mouse.move(target.x + 20, target.y + 2, { steps: 8 });
    await page.mouse.up();
    assert.equal(await details(2).inputValue(), "look at lead");
    await dialog.getByRole("button", { name: "Save", exact: true }).click();
    await dialog.waitFor({ state: "hidden" });
    const session = page.url().split("/s/")[1];
    const { turns } = await (await fetch(`${system.url}/sessions/${session}`)).json();
    const { plan } = await (await fetch(`${system.url}/runs/${turns[0].run}`)).json();
    assert.deepEqual(plan.steps.map((step) => step.details), ["look at tin", "look at lead", "look at zinc"]);
    await stop(page).click();
    await ended(page);
    gate.open();
  },

  async plan_that_somebody_else_changed_shows_both_and_keeps_what_was_typed({ page, model, variables, allow, after }) {
    allow(/status of 409/);
    const prices = ["[prices.story]", "input = 100000000", "cached_input = 100000000", "output = 100000000"];
    const system = await System.start(variables, { "djinn.toml": prices.join("\n") });
    after(() => system.close());
    const gate = new Gate();
    const steps = ["look at gold", "look at silver"];
    const create = { command: "create", title: "Prices", steps, depends_on: [[], [1]] };
    model.on("Prices of two metals", { tool: "planning", arguments: create });
    model.on("look at gold", gate, "Gold is dear.");
    model.on("mine, in euros", "Silver is 30 euros.");
    model.on("Prices of two metals", { tool: "planning", arguments: { command: "finish" } });
    model.on("Prices of two metals", "Gold is dear, silver is 30 euros.");
    await page.goto(system.url);
    await choosePlan(page);
    await ask(page, "Prices of two metals");
    await gate.reached;
    const panel = page.getByRole("complementary");
    await panel.getByRole("button", { name: "Edit plan" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("textbox", { name: "Step 2", exact: true }).fill("look at silver, mine, in euros");
    const session = page.url().split("/s/")[1];
    const { turns } = await (await fetch(`${system.url}/sessions/${session}`)).json();
    const path = `${system.url}/runs/${turns[0].run}`;
    const { plan, plan_version } = await (await fetch(path)).json();
    const theirs = plan.steps.map(({ id, depends_on }, index) => ({ id, depends_on, details: index === 1 ? "theirs" : steps[0] }));
    const headers = { "content-type": "application/json" };
    const body = JSON.stringify({ version: plan_version, steps: theirs });
    // The dialog has read the first version, so its own change comes too late.
    const changed = await fetch(`${path}/plan`, { method: "PATCH", headers, body });
    assert.equal(changed.ok, true, await changed.text());
    await dialog.getByRole("button", { name: "Save", exact: true }).click();
    await dialog.getByText("Somebody changed the plan meanwhile.").waitFor();
    await dialog.getByText("theirs").waitFor();
    await dialog.getByRole("button", { name: "Save mine over it" }).click();
    await dialog.waitFor({ state: "hidden" });
    gate.open();
    await conversation(page).getByText("Gold is dear, silver is 30 euros.").waitFor();
    await ended(page);
    // One figure for the run, and each agent's behind it.
    await panel.getByRole("tab", { name: "Usage" }).click();
    for (const lane of ["The run itself", "look at gold", "look at silver, mine, in euros"]) {
      await panel.getByRole("row", { name: new RegExp(`^${lane} [\\d.]+k? \\$0\\.\\d{3}$`) }).waitFor();
    }
    await conversation(page).getByText(/ · \$0\.\d{3}$/).first().waitFor();
  },
};
