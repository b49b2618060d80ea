// Stories of plans and of the agents that work on their steps.

import assert from "node:assert/strict";
import { Gate } from "./model.mjs";
import { ask, box, choosePlan, complete, conversation, ended, stop } from "./steps.mjs";
import { System } from "./system.mjs";

export const AGENTS = {
  async stop_ends_fifty_agents_and_keeps_what_they_wrote({ page, model, variables, after }) {
    const system = await System.start({ ...variables, DJINN_LIMITS__MAX_PARALLEL_TASKS: "50" });
    after(() => system.close());
    const names = Array.from({ length: 50 }, (_, at) => `metal ${String(at + 1).padStart(2, "0")}`);
    const gates = names.map(() => new Gate());
    model.on("Fifty metals", { tool: "planning", arguments: { command: "create", title: "Metals", steps: names, depends_on: names.map(() => []) } });
    for (const [at, name] of names.entries()) model.on(name, `So much of ${name}`, gates[at], " and no more");
    await page.goto(system.url);
    await choosePlan(page);
    await ask(page, "Fifty metals");
    await Promise.all(gates.map((gate) => gate.reached));
    const panel = page.getByRole("complementary");
    await panel.getByText("50 at once").waitFor();
    for (const name of names) await panel.getByText(`So much of ${name}`, { exact: true }).waitFor();
    await stop(page).click();
    await conversation(page).getByText("Stopped. The answer so far and all complete results are kept.").waitFor();
    await complete(page);
    // All calls of the model have ended, and nobody calls it again.
    await model.rest();
    const { length } = model.requests;
    for (const shown of [() => undefined, () => page.reload()]) {
      await shown();
      await complete(page);
      assert.equal(await panel.getByRole("img", { name: "stopped" }).count(), 50);
      for (const name of names) assert.equal(await panel.getByText(`So much of ${name}`, { exact: true }).count(), 1, name);
    }
    const session = page.url().split("/s/")[1];
    const { turns } = await (await fetch(`${system.url}/sessions/${session}`)).json();
    const events = await (await fetch(`${system.url}/runs/${turns[0].run}/events`)).text();
    const ends = events.split("\n").filter((line) => line.startsWith("data:") && line.includes('"child.'));
    const texts = events.split("\n").filter((line) => line.startsWith("data:") && line.includes('"message.completed"'));
    assert.equal(texts.filter((line) => JSON.parse(line.slice(5)).text?.startsWith("So much of")).length, 50);
    assert.equal(ends.filter((line) => JSON.parse(line.slice(5)).status === "stopped").length, 50);
    assert.equal(model.requests.length, length);
    for (const gate of gates) gate.open();
  },

  async plan_of_the_demo_model_shows_its_agents_side_by_side({ page, after }) {
    const system = await System.start({});
    after(() => system.close());
    await page.goto(system.url);
    await page.getByRole("button", { name: /Compare the three regions/ }).click();
    await page.getByText("238 B").waitFor();
    await box(page).press("Enter");
    const panel = page.getByRole("complementary");
    await panel.getByText("3 at once").waitFor();
    await conversation(page).getByText("East grew fastest, by 55.9 % from 2021 to 2024.").waitFor();
    await ended(page);
    for (const region of ["East", "North", "South"]) await panel.getByText(`${region} grew by`).waitFor();
    await panel.getByText(/ of 50\.0M tokens/).waitFor();
    const shown = await panel.innerText();
    for (const name of ["east.md", "north.md", "south.md", "comparison.md"]) {
      await conversation(page).getByRole("button", { name }).waitFor();
    }
    await page.reload();
    await panel.getByText("South grew by").waitFor();
    await ended(page);
    await panel.getByText(/ of 50\.0M tokens/).waitFor();
    assert.equal(await panel.innerText(), shown);
    // A user's requests and decisions are read and closed.
    await panel.getByRole("tab", { name: "Usage" }).click();
    await panel.getByRole("button", { name: "Requests and decisions" }).click();
    const audit = page.getByRole("dialog", { name: "Requests and decisions" });
    await audit.getByText("Question asked").waitFor();
    await audit.getByRole("button", { name: "Close" }).click();
    // The panel has a button of its own where it covers a phone. Everybody is the same user, so nothing is shared.
    assert.equal(await page.getByRole("button", { name: "Share", exact: true }).count(), 0);
    await page.setViewportSize({ width: 360, height: 740 });
    await page.getByRole("button", { name: "Plan, files and sources" }).click();
    const cover = page.getByRole("dialog", { name: "Plan, files and sources" });
    await cover.getByRole("button", { name: "Close" }).click();
    await cover.waitFor({ state: "detached" });
    // On a phone, a file with a wide table keeps its controls in view, and Back leads to the conversation.
    const address = page.url();
    const file = page.getByRole("dialog", { name: "comparison.md" });
    await conversation(page).getByRole("button", { name: "comparison.md" }).click();
    const chart = file.getByRole("img", { name: /^Line chart of East, South, North, 4 values: lowest 2021 \(655,100\), highest 2024 \(1,391,200\)/ });
    await chart.waitFor();
    await file.getByRole("cell", { name: "1,021,400" }).waitFor();
    await page.keyboard.press("Escape");
    await file.waitFor({ state: "detached" });
    for (const leave of [() => page.goBack(), () => page.mouse.click(180, 3)]) {
      await conversation(page).getByRole("button", { name: "comparison.md" }).click();
      await file.getByRole("table").waitFor();
      const close = await file.getByRole("button", { name: "Close" }).boundingBox();
      assert.ok(close.x + close.width <= 348, `Close ends at ${close.x + close.width}`);
      await leave();
      await file.waitFor({ state: "detached" });
      assert.equal(page.url(), address);
    }
  },
};
