// Stories of conversations in a real browser, against `cargo dev` and a scripted model. No story sleeps: each waits for
// what a user would wait for.

import assert from "node:assert/strict";
import { workbook } from "../test/workbook.ts";
import { Gate } from "./model.mjs";
import { ask, askMe, box, card, complete, conversation, decide, ended, stop, textOf, WRITE } from "./steps.mjs";
import { System } from "./system.mjs";

export const CONVERSATIONS = {
  async answer_streams_and_has_an_address({ page, model, system }) {
    const gate = new Gate();
    model.on("Which tea", { reasoning: "I think of teas." }, "Green tea is **green**.\n\nIt costs $5 and $10, or $$x^2$$.\n\n| Tea | Color |\n| --- | --- |\n| Sencha | **green** |\n\nBlack", gate, " tea is black.");
    await page.goto(system.url);
    await ask(page, "Which tea is green?");
    await gate.reached;
    await conversation(page).getByText("Black").waitFor();
    assert.match(page.url(), /#\/s\/[0-9a-f]{32}$/);
    assert.equal(await conversation(page).locator("strong").first().innerText(), "green");
    // Two prices are no formula.
    await conversation(page).getByText("It costs $5 and $10, or").waitFor();
    await conversation(page).locator("math").waitFor();
    await page.getByRole("navigation", { name: "Conversations" }).getByRole("link", { name: /Which tea.*running/ }).waitFor();
    gate.open();
    await conversation(page).getByText("Black tea is black.").waitFor();
    await ended(page);
    assert.match(await textOf(page), /120 tokens/);
    // The table is copied as Markdown, and with its form.
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"], { origin: system.url });
    const copy = async (form, type) => {
      await conversation(page).getByRole("button", { name: "Copy table" }).click();
      await page.getByRole("menuitem", { name: form }).click();
      // The page writes to the clipboard on its own.
      return page.evaluate(async (type) => {
        for (let look = 0; look < 500; look += 1) {
          const [item] = await navigator.clipboard.read();
          if (item?.types.includes(type)) return (await item.getType(type)).text();
          await new Promise(requestAnimationFrame);
        }
        return "";
      }, type);
    };
    assert.match(await copy("As Markdown", "text/plain"), /^\| Tea \| Color \|\n\| -+ \| -+ \|\n\| Sencha \| .*green.* \|/);
    assert.match(await copy("As formatted text", "text/html"), /<table[\s>].*Sencha.*<strong[\s>][^]*green/s);
  },

  async reload_at_any_of_twenty_places_shows_the_same({ page, model, system }) {
    const gates = Array.from({ length: 19 }, () => new Gate());
    const part = (word, from, to) => gates.slice(from, to).flatMap((gate, at) => [`${word} ${from + at}, half a wo`, gate, "rd. "]);
    const thoughts = part("Thought", 0, 4).map((piece) => (typeof piece === "string" ? { reasoning: piece } : piece));
    const call = { tool: "file_tool", arguments: WRITE };
    model.on("Write slowly", ...thoughts, "I begin", ...part("Text", 4, 8), call);
    model.on("Write slowly", ...part("Words", 8, 12), { ...call, arguments: { ...WRITE, filename: "more.md" } });
    model.on("Write slowly", "The first para", gates[12], "graph.\n\n", ...part("Answer", 13, 19), "The end.");
    await page.goto(system.url);
    await askMe(page, "before risky calls");
    await ask(page, "Write slowly");
    // Clocks run, and Allow and Skip rest at first.
    const shown = async () => (await textOf(page)).replace(/\d+:\d\d/g, "…").replace(/\d+(?:\.\d+)? s\b/g, "…");
    const reload = async () => {
      const before = await shown();
      await page.reload();
      for (const end = Date.now() + 20_000; (await shown().catch(() => "")) !== before; ) {
        if (Date.now() > end) assert.equal(await shown(), before);
      }
    };
    const isOpen = () => card(page, "write a file").waitFor();
    for (const [at, gate] of gates.entries()) {
      await gate.reached;
      if (at === 12) await conversation(page).getByText("The first para", { exact: true }).waitFor();
      else if (at >= 4) await conversation(page).getByText(`${at}, half a wo`).last().waitFor();
      else await conversation(page).getByText("Reasoning", { exact: true }).first().waitFor();
      await reload();
      gate.open();
      // The two calls wait for their user; the first wait is the twentieth place.
      if (at !== 7 && at !== 11) continue;
      await isOpen();
      if (at === 7) await reload();
      await decide(card(page, "write a file"), "Allow");
    }
    await conversation(page).getByText("The end.").waitFor();
    await complete(page);
    await reload();
  },

  async two_tabs_show_the_same_run({ page, model, system, allow }) {
    allow(/status of 409/);
    const gate = new Gate();
    model.on("For both", "One half", gate, " and the other.");
    await page.goto(system.url);
    await page.getByRole("button", { name: "Ask me: never" }).click();
    await page.getByRole("menuitemradio", { name: "Document" }).click();
    await page.keyboard.press("Escape");
    const sent = page.waitForRequest((request) => request.method() === "POST" && request.url().endsWith("/runs"));
    await ask(page, "For both");
    assert.equal((await sent).postDataJSON().output_style, "docs");
    await gate.reached;
    await conversation(page).getByText("One half").waitFor();
    const other = await page.context().newPage();
    await other.goto(page.url());
    await conversation(other).getByText("One half").waitFor();
    gate.open();
    for (const tab of [page, other]) {
      await conversation(tab).getByText("One half and the other.").waitFor();
      await complete(tab);
    }
    assert.equal(await textOf(page), await textOf(other));
    // A question of one tab finds the session busy with that of the other, which it can stop.
    const held = new Gate();
    model.on("A slow one", "It takes", held);
    model.on("A quick one", "It is done.");
    await ask(page, "A slow one");
    await held.reached;
    await ask(other, "A quick one");
    await conversation(other).getByText("session_busy").waitFor();
    await conversation(other).getByRole("button", { name: "Follow it" }).waitFor();
    const stopOther = conversation(other).getByRole("button", { name: "Stop it and ask" });
    const isSeen = conversation(other).getByText("The other run is being stopped; then your question is asked.").waitFor();
    await other.route(/\/stop$/, async (route) => {
      await isSeen;
      await route.continue();
    });
    await stopOther.click();
    await isSeen;
    await conversation(other).getByText("It is done.").waitFor();
    await conversation(page).getByText("Stopped. The answer so far and all complete results are kept.").waitFor();
    await ended(other);
    held.open();
    await other.close();
  },

  async stop_keeps_what_was_written({ page, model, system }) {
    const gate = new Gate();
    model.on("Never end", "This much was written", gate, "and never this");
    await page.goto(system.url);
    await box(page).fill("Never end");
    // Stop takes the place of Send: the second click does not mean it.
    await page.getByRole("button", { name: "Send", exact: true }).dblclick();
    await gate.reached;
    await conversation(page).getByText("This much was written").waitFor();
    assert.equal(await conversation(page).getByText("Stopped.").count(), 0);
    await stop(page).click();
    await conversation(page).getByText("Stopped. The answer so far and all complete results are kept.").waitFor();
    await ended(page);
    assert.match(await textOf(page), /This much was written/);
    gate.open();
  },

  async approval_with_changed_arguments_continues_the_run({ page, model, system }) {
    model.on("Write a note", "I write it down.", { tool: "file_tool", arguments: WRITE });
    const gate = new Gate();
    model.on("Write a note", gate, "It is in tea.md.");
    await page.goto(system.url);
    await askMe(page, "before risky calls");
    await ask(page, "Write a note");
    const request = card(page, "write a file");
    await request.waitFor();
    assert.match(await page.title(), /^\(1\) /);
    const name = request.getByRole("textbox", { name: "File name" });
    assert.equal(await name.inputValue(), "note.md");
    await name.fill("tea.md");
    // The card is longer than a phone's view; without it, its reader stays in the place where the answer appears.
    await page.setViewportSize({ width: 360, height: 560 });
    const top = () => page.locator("[data-talk]").evaluate((element) => element.scrollTop);
    await page.locator("[data-talk]").hover();
    await page.mouse.wheel(0, 10_000);
    await page.waitForFunction(() => document.querySelector("[data-talk]").scrollTop > 100);
    await request.getByRole("button", { name: "Allow with changes" }).hover();
    await decide(request, "Allow with changes");
    // The card has closed before the model writes.
    await gate.reached;
    await request.waitFor({ state: "detached" });
    gate.open();
    const answer = conversation(page).getByText("It is in tea.md.");
    await answer.waitFor();
    await ended(page);
    assert.ok((await top()) > 48, "the reader is at the question above");
    const [view, place] = [await page.locator("[data-talk]").boundingBox(), await answer.boundingBox()];
    assert.ok(place.y >= view.y && place.y + place.height <= view.y + view.height, JSON.stringify([view, place]));
    await page.setViewportSize({ width: 1440, height: 900 });
    assert.equal(await card(page, "write a file").count(), 0);
    assert.doesNotMatch(await page.title(), /^\(/);
    // The run has written the file under the changed name.
    const session = page.url().split("/s/")[1];
    const { files } = await (await fetch(`${system.url}/sessions/${session}/files`)).json();
    assert.deepEqual(files.map((file) => file.name), ["tea.md"]);
  },

  async request_is_still_open_after_a_reload_and_can_be_skipped({ page, model, system }) {
    model.on("Write another note", { tool: "file_tool", arguments: WRITE });
    model.on("Write another note", "I left it.");
    await page.goto(system.url);
    await askMe(page, "before risky calls");
    await ask(page, "Write another note");
    await card(page, "write a file").waitFor();
    await page.reload();
    // Its buttons are in view on a phone, without a pointer to them.
    await page.setViewportSize({ width: 360, height: 560 });
    await page.getByText("1 request waits for you", { exact: true }).waitFor({ state: "hidden" });
    const allow = await card(page, "write a file").getByRole("button", { name: "Allow", exact: true }).boundingBox();
    assert.ok(allow.y + allow.height <= (await box(page).boundingBox()).y);
    await decide(card(page, "write a file"), "Skip");
    await conversation(page).getByText("I left it.").waitFor();
    await ended(page);
  },

  async dropped_file_goes_with_the_question({ page, model, system }) {
    model.on("What is in it", "A table of teas.");
    await page.goto(system.url);
    await box(page).waitFor();
    const dataTransfer = await page.evaluateHandle(() => {
      const transfer = new DataTransfer();
      transfer.items.add(new File(["tea,color\nsencha,green\n"], "teas.csv", { type: "text/csv" }));
      return transfer;
    });
    await page.dispatchEvent("body", "drop", { dataTransfer });
    // The size replaces the progress when the upload is complete.
    await page.getByText("23 B").waitFor();
    await page.reload();
    await page.getByRole("button", { name: "Remove teas.csv" }).waitFor();
    await ask(page, "What is in it?");
    await conversation(page).getByText("A table of teas.").waitFor();
    await ended(page);
    // The question still has its file after a reload.
    await page.reload();
    await complete(page);
    const asked = conversation(page).getByRole("region", { name: "You asked" });
    await asked.getByRole("button", { name: "teas.csv" }).waitFor();
    const request = JSON.stringify(model.requests.at(-1));
    assert.match(request, /teas\.csv/);
  },

  async large_file_goes_to_the_bucket_with_progress_and_can_be_removed_on_the_way({ page, model, system }) {
    model.on("What is in both", "Two files.");
    const puts = [];
    const held = new Gate();
    await page.route(/\/djinn\/tenants\//, async (route) => {
      if (route.request().method() !== "PUT") return route.continue();
      puts.push(route.request().url());
      if (puts.length === 1) await held.pass();
      await route.continue().catch(() => undefined);
    });
    const file = { name: "large.txt", mimeType: "text/plain", buffer: Buffer.alloc(5_000_000, "tea ") };
    await page.goto(system.url);
    const add = () => page.locator("input[type=file]").setInputFiles(file);
    await add();
    await held.reached;
    await page.getByRole("progressbar").waitFor();
    await page.getByText(/^\d+ %$/).waitFor();
    const aborted = page.waitForEvent("requestfailed", (request) => request.method() === "PUT");
    await page.getByRole("button", { name: "Remove large.txt" }).click();
    await aborted;
    await page.getByRole("button", { name: "Remove large.txt" }).waitFor({ state: "detached" });
    held.open();
    await add();
    await page.getByText(/^[\d.]+ MB$/).waitFor();
    assert.equal(puts.length, 2);
    // A file is pasted, too.
    await box(page).evaluate((field) => {
      const clipboardData = new DataTransfer();
      clipboardData.items.add(new File(["pasted"], "pasted.txt", { type: "text/plain" }));
      field.dispatchEvent(new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true }));
    });
    await page.getByText("6 B", { exact: true }).waitFor();
    await ask(page, "What is in both?");
    await conversation(page).getByText("Two files.").waitFor();
    await ended(page);
    const request = JSON.stringify(model.requests.at(-1));
    for (const name of ["large.txt", "pasted.txt"]) assert.ok(request.includes(name), name);
    const session = page.url().split("/s/")[1];
    const { files } = await (await fetch(`${system.url}/sessions/${session}/files`)).json();
    assert.equal(files.find(({ name }) => name.startsWith("large"))?.size, 5_000_000);
  },

  async workbook_is_shown_as_a_table({ page, model, system }) {
    model.on("What is in the workbook", "It lists leaves.");
    const rows = '<row r="1"><c t="inlineStr"><is><t>tea</t></is></c></row><row r="2"><c s="1"><v>45292</v></c></row>';
    await page.goto(system.url);
    await page.locator("input[type=file]").setInputFiles({
      name: "teas.xlsx",
      mimeType: "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
      buffer: Buffer.from(workbook(rows)),
    });
    await page.getByRole("button", { name: "Remove teas.xlsx" }).waitFor();
    await page.getByText(/^[\d.]+ kB$/).waitFor();
    await ask(page, "What is in the workbook?");
    await conversation(page).getByText("It lists leaves.").waitFor();
    await ended(page);
    await conversation(page).getByRole("button", { name: "teas.xlsx" }).first().click();
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("columnheader", { name: "tea" }).waitFor();
    await dialog.getByText("2024-01-01").waitFor();
    await dialog.getByRole("button", { name: "Last" }).click();
    await dialog.getByText("by formula").waitFor();
  },

  async message_to_a_run_at_work_is_read_by_its_next_turn({ page, model, system, allow }) {
    // A question on its way is in no session yet.
    allow(/ERR_INTERNET_DISCONNECTED|status of 404/);
    const gate = new Gate();
    model.on("Start with teas", "I look first.", gate, { tool: "file_tool", arguments: WRITE });
    model.on("Start with teas", "In euros, then.");
    await page.goto(system.url);
    await ask(page, "Start with teas");
    await gate.reached;
    await conversation(page).getByText("I look first.").waitFor();
    const stored = page.waitForResponse((response) => response.url().endsWith("/messages"));
    await ask(page, "In euros, please.");
    await conversation(page).getByText("In euros, please.").waitFor();
    assert.equal((await stored).ok(), true);
    // A message that is written offline is sent with the next connection.
    await page.context().setOffline(true);
    await ask(page, "And in pounds.");
    await conversation(page).getByText("You said · Not sent").waitFor();
    const repeated = page.waitForResponse((response) => response.url().endsWith("/messages"));
    await page.context().setOffline(false);
    assert.equal((await repeated).ok(), true);
    gate.open();
    await conversation(page).getByText("In euros, then.").waitFor();
    await ended(page);
    assert.match(JSON.stringify(model.requests.at(-1)), /In euros, please\..*And in pounds\./);
    // So is a question, also after another conversation was opened.
    model.on("Offline first", "It arrived.");
    const list = page.getByRole("navigation", { name: "Conversations" });
    await page.getByRole("button", { name: "New question" }).click();
    await page.context().setOffline(true);
    await ask(page, "Offline first");
    await box(page).fill("And then?");
    await page.getByText("Your previous question is still being sent.").waitFor();
    await box(page).press("Enter");
    assert.equal(await box(page).inputValue(), "And then?");
    await list.getByText("Start with teas").click();
    await list.getByRole("link", { name: /Offline first.*not sent/ }).waitFor();
    await page.context().setOffline(false);
    await list.getByText("Offline first").click();
    await conversation(page).getByText("It arrived.").waitFor();
    await ended(page);
    assert.equal(await box(page).inputValue(), "And then?");
    assert.equal(await list.getByRole("link", { name: /not sent/ }).count(), 0);
  },

  async conversations_are_listed_renamed_searched_and_deleted({ page, model, system }) {
    const list = page.getByRole("navigation", { name: "Conversations" });
    model.on("Rare words", "Zymurgy.");
    await page.goto(system.url);
    await ask(page, "Rare words about beer");
    await conversation(page).getByText("Zymurgy.").waitFor();
    await ended(page);
    await list.getByText("Rare words about beer").waitFor();
    await page.goBack();
    await conversation(page).getByText("Zymurgy.").waitFor({ state: "hidden" });
    await list.getByText("Rare words about beer").click();
    await conversation(page).getByText("Zymurgy.").waitFor();
    await page.goBack();
    await conversation(page).getByText("Zymurgy.").waitFor({ state: "hidden" });
    await page.goForward();
    await conversation(page).getByText("Zymurgy.").waitFor();
    await list.getByRole("button", { name: "Actions for Rare words about beer" }).click();
    await page.getByRole("menuitem", { name: "Rename" }).click();
    const title = page.getByRole("dialog").getByRole("textbox");
    await title.fill("Beer");
    await title.press("Enter");
    await list.getByText("Beer", { exact: true }).waitFor();
    await list.getByRole("searchbox").fill("bEE");
    await list.getByText("Beer", { exact: true }).waitFor();
    await list.getByRole("searchbox").fill("nothing like it");
    await list.getByText("No title, question or loaded answer contains this text.").waitFor();
    // Its questions and answers are found too, also older ones, and shown below the title.
    model.on("And wine", "Oenology.");
    await ask(page, "And wine?");
    await conversation(page).getByText("Oenology.").waitFor();
    await ended(page);
    for (const [text, question] of [["rare words", "Rare words about beer"], ["AND WINE", "And wine?"], ["oENO", "Oenology."]]) {
      await list.getByRole("searchbox").fill("");
      await list.getByRole("searchbox").fill(text);
      await list.getByText(question, { exact: true }).waitFor();
      assert.equal(await list.getByRole("link").count(), 1);
    }
    await list.getByRole("searchbox").fill("");
    await list.getByRole("button", { name: "Actions for Beer" }).click();
    await page.getByRole("menuitem", { name: "Delete" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
    await list.getByText("Beer", { exact: true }).waitFor({ state: "hidden" });
  },

  async draft_is_kept_by_each_conversation({ page, model, system }) {
    model.on("First question", "First answer.");
    await page.goto(system.url);
    await ask(page, "First question");
    await conversation(page).getByText("First answer.").waitFor();
    await ended(page);
    await box(page).fill("half a thought");
    await page.getByRole("button", { name: "New question" }).click();
    assert.equal(await box(page).inputValue(), "");
    await box(page).fill("another thought");
    await page.reload();
    assert.equal(await box(page).inputValue(), "another thought");
    await page.getByRole("navigation", { name: "Conversations" }).getByText("First question").click();
    await conversation(page).getByText("First answer.").waitFor();
    assert.equal(await box(page).inputValue(), "half a thought");
    await box(page).fill("");
  },

  async html_of_a_model_runs_nothing({ page, model, system }) {
    const content =
      "<h1>Report</h1><script>parent.postMessage({kind:'link',href:'https://evil.example/'},'*');document.title='ran'</script>" +
      `<img src="${system.url}/web/health?image" onerror="document.title='ran'"><a href="https://example.org/">out</a>`;
    model.on("Make a page", { tool: "file_tool", arguments: { ...WRITE, filename: "page.html", content } });
    model.on("Make a page", "The page is ready.");
    const requests = [];
    page.on("request", (request) => requests.push(request.url()));
    await page.goto(system.url);
    await ask(page, "Make a page");
    await conversation(page).getByText("The page is ready.").waitFor();
    await ended(page);
    await page.getByRole("button", { name: /page\.html/ }).last().click();
    const frame = page.frameLocator("iframe");
    await frame.getByRole("heading", { name: "Report" }).waitFor();
    assert.equal(await frame.locator("script").count(), 0);
    assert.deepEqual(requests.filter((url) => url.includes("health") || url.includes("evil")), []);
    await frame.getByText("out").click();
    await page.getByText("https://example.org/").first().waitFor();
  },

  async key_is_asked_for_and_kept_for_the_tab({ page, model, variables, allow, after }) {
    allow(/status of 401/);
    const { key, entry } = System.createKey();
    const system = await System.start({ ...variables, DJINN_AUTH: "key", DJINN_API_KEYS: JSON.stringify([entry]) });
    after(() => system.close());
    model.on("Behind a door", "You are in.");
    await page.goto(system.url);
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Key", { exact: true }).fill("djinn_wrong");
    await dialog.getByRole("button", { name: "Sign in" }).click();
    await dialog.getByText("This key is not accepted.").waitFor();
    assert.equal(await page.getByText("Sign out").count(), 0);
    await dialog.getByLabel("Key", { exact: true }).fill(key);
    await dialog.getByRole("button", { name: "Sign in" }).click();
    await dialog.waitFor({ state: "hidden" });
    await ask(page, "Behind a door");
    await conversation(page).getByText("You are in.").waitFor();
    await ended(page);
    await page.reload();
    await conversation(page).getByText("You are in.").waitFor();
    const other = await page.context().newPage();
    await other.goto(system.url);
    await other.getByRole("dialog").getByLabel("Key", { exact: true }).fill(key);
    await other.getByRole("dialog").getByRole("button", { name: "Sign in" }).click();
    await other.getByText("anna", { exact: true }).waitFor();
    // A sign-out ends in all tabs, and leaves no words to the next user.
    await box(other).fill("A secret");
    await box(page).fill("Another secret");
    await page.getByRole("button", { name: "Sign out" }).click();
    for (const tab of [page, other]) {
      await tab.getByRole("dialog").getByLabel("Key", { exact: true }).waitFor();
      assert.equal(await tab.locator("[data-key=box]").inputValue(), "");
    }
    assert.doesNotMatch(await page.evaluate(() => JSON.stringify({ ...localStorage })), /secret/);
    await other.close();
  },

  async run_continues_after_the_process_was_killed({ page, model, system }) {
    const gate = new Gate();
    model.on("Survive", "Before the end", gate);
    model.on("Survive", "Before the end of the process, and after.");
    await page.goto(system.url);
    await ask(page, "Survive");
    await gate.reached;
    await conversation(page).getByText("Before the end").waitFor();
    await system.kill();
    await system.start();
    await conversation(page).getByText("Before the end of the process, and after.").waitFor();
    await ended(page);
    gate.open();
  },
};
