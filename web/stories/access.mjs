// Stories of other ways to use the page: by keyboard alone, in Chinese with an input method, on paper.

import assert from "node:assert/strict";
import { Gate } from "./model.mjs";
import { ask, askMe, box, card, chooseByKeys, complete, conversation, decide, ended, enterUntilGone, stop, tabTo, WRITE } from "./steps.mjs";
import { System } from "./system.mjs";

export const ACCESS = {
  async everything_is_done_by_keyboard_alone({ page, model, system }) {
    const gate = new Gate();
    model.on("Note it down", "I write.", { tool: "file_tool", arguments: WRITE });
    model.on("Note it down", "It is in cha.md.");
    model.on("Never end", "So much", gate);
    await page.goto(system.url);
    await box(page).waitFor();
    // The occasions to ask on.
    const occasion = page.getByRole("menuitemcheckbox", { name: "before risky calls" });
    await chooseByKeys(page, page.getByRole("button", { name: "Ask me: never" }), occasion);
    // The question, and its request with a changed argument.
    await tabTo(page, box(page), "Shift+Tab");
    await page.keyboard.type("Note it down");
    await page.keyboard.press("Enter");
    const request = card(page, "write a file");
    await request.waitFor();
    await page.keyboard.press("Alt+KeyR");
    await tabTo(page, request.getByRole("textbox", { name: "File name" }));
    await page.keyboard.press("Control+KeyA");
    await page.keyboard.type("cha.md");
    await tabTo(page, request.getByRole("button", { name: "Allow with changes" }));
    await enterUntilGone(page, request);
    await conversation(page).getByText("It is in cha.md.").waitFor();
    await ended(page);
    // A file opens and closes.
    await tabTo(page, conversation(page).getByRole("button", { name: "cha.md" }).last());
    await page.keyboard.press("Enter");
    await page.getByRole("dialog").getByText("Green tea is green.").waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "hidden" });
    // The palette asks a new question and comes back.
    await page.keyboard.press("Control+KeyK");
    const palette = page.getByRole("dialog");
    await palette.getByRole("combobox").waitFor();
    await page.keyboard.type("new question");
    await palette.getByRole("option", { name: "New question" }).waitFor();
    await page.keyboard.press("Enter");
    await palette.waitFor({ state: "hidden" });
    await page.getByRole("heading", { name: "What do you want to know?" }).waitFor();
    await page.keyboard.press("Control+KeyK");
    await palette.getByRole("combobox").waitFor();
    await page.keyboard.type("note it");
    await palette.getByRole("option", { name: "Note it down" }).waitFor();
    await page.keyboard.press("Enter");
    await conversation(page).getByText("It is in cha.md.").waitFor();
    await ended(page);
    // A run is stopped, and the keys are shown.
    await page.keyboard.press("/");
    await page.keyboard.type("Never end");
    await page.keyboard.press("Enter");
    await gate.reached;
    await stop(page).waitFor();
    await page.keyboard.press("Control+Period");
    await conversation(page).getByText("Stopped. The answer so far and all complete results are kept.").waitFor();
    gate.open();
    await tabTo(page, page.getByRole("button", { name: "Add files" }));
    await page.keyboard.press("?");
    await page.getByRole("dialog").getByText("Actions and conversations").waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "hidden" });
  },

  chinese_reader_has_chinese_words_and_the_input_method_keeps_its_enter: Object.assign(
    async ({ page, model, system }) => {
      model.on("哪种茶是绿的", "绿茶是**绿**的。");
      await page.goto(system.url);
      const box = page.getByRole("textbox", { name: "您的问题" });
      await box.waitFor();
      assert.equal(await page.evaluate(() => document.documentElement.lang), "zh-CN");
      assert.doesNotMatch(await conversation(page).innerText(), /\b(?:the|you|question|conversation)\b/i);
      await box.focus();
      const keyboard = await page.context().newCDPSession(page);
      const word = "哪种茶是绿的";
      await keyboard.send("Input.imeSetComposition", { text: word, selectionStart: word.length, selectionEnd: word.length });
      // Enter ends the word of the input method: its key code is 229.
      for (const type of ["rawKeyDown", "keyUp"]) {
        await keyboard.send("Input.dispatchKeyEvent", { type, key: "Enter", code: "Enter", windowsVirtualKeyCode: 229 });
      }
      await keyboard.send("Input.insertText", { text: word });
      assert.equal(await box.inputValue(), word);
      assert.doesNotMatch(page.url(), /\/s\//);
      await box.press("Enter");
      await conversation(page).getByText("绿茶是绿的。").waitFor();
      await page.getByPlaceholder("提出下一个问题").waitFor();
      assert.match(page.url(), /\/s\//);
    },
    { locale: "zh-CN" },
  ),

  async phone_opens_no_keyboard_and_its_enter_starts_a_line({ page, model, system, after }) {
    model.on("On a phone", "It is small.");
    await page.goto(system.url);
    await box(page).waitFor();
    const phone = await page.context().browser().newContext({ viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true, locale: "en-US" });
    after(() => phone.close());
    const small = await phone.newPage();
    const isFocused = () => box(small).evaluate((field) => field === document.activeElement);
    await small.goto(system.url);
    await box(small).waitFor();
    assert.equal(await isFocused(), false);
    await box(small).tap();
    await small.keyboard.type("On a phone,");
    await small.keyboard.press("Enter");
    await small.keyboard.type("please");
    assert.equal(await box(small).inputValue(), "On a phone,\nplease");
    assert.doesNotMatch(small.url(), /\/s\//);
    await small.getByRole("button", { name: "Send", exact: true }).tap();
    await conversation(small).getByText("It is small.").waitFor();
    await ended(small);
    assert.equal(await isFocused(), false);
    await small.reload();
    await conversation(small).getByText("It is small.").waitFor();
    assert.equal(await isFocused(), false);
  },

  async part_that_cannot_be_loaded_leaves_the_rest_of_the_page({ page, model, system, allow }) {
    allow(/Failed to load resource|dynamically imported module/);
    model.on("Write for later", { tool: "file_tool", arguments: WRITE });
    model.on("Write for later", "It is written.");
    await page.route(/\/assets\/Viewer-/, (route) => route.abort());
    await page.goto(system.url);
    await ask(page, "Write for later");
    await conversation(page).getByText("It is written.").waitFor();
    await ended(page);
    await box(page).fill("half a thought");
    const place = await conversation(page).boundingBox();
    await conversation(page).getByRole("button", { name: "note.md" }).last().click();
    const alert = page.getByRole("alert");
    await alert.getByText("This part of the page could not be loaded.").waitFor();
    assert.deepEqual(await conversation(page).boundingBox(), place, "the sentence takes no space from the conversation");
    await conversation(page).getByText("It is written.").waitFor();
    await page.unroute(/\/assets\/Viewer-/);
    await alert.getByRole("button", { name: "Reload" }).click();
    await complete(page);
    assert.equal(await box(page).inputValue(), "half a thought");
    await conversation(page).getByRole("button", { name: "note.md" }).last().click();
    await page.getByRole("dialog").getByText("Green tea is green.").waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "hidden" });
    await box(page).fill("");
  },

  async page_that_is_older_than_its_server_offers_to_reload({ page, system }) {
    const notice = page.getByText("A new version is available.");
    await page.goto(system.url);
    await page.getByRole("heading", { name: "What do you want to know?" }).waitFor();
    assert.equal(await notice.count(), 0);
    await page.route("**/web/config", async (route) => {
      const response = await route.fetch();
      await route.fulfill({ response, json: { ...(await response.json()), version: "0123456789abcdef" } });
    });
    await page.reload();
    await notice.waitFor();
    await page.unroute("**/web/config");
    await page.getByRole("button", { name: "Reload", exact: true }).click();
    await page.getByRole("heading", { name: "What do you want to know?" }).waitFor();
    await notice.waitFor({ state: "detached" });
  },

  async shared_conversation_is_read_by_another_user_until_the_share_ends({ page, model, variables, allow, after }) {
    allow(/status of 40[0134]/);
    const [anna, bob] = ["anna", "bob"].map((user) => System.createKey(user));
    const entries = JSON.stringify([anna.entry, bob.entry]);
    const system = await System.start({ ...variables, DJINN_AUTH: "key", DJINN_API_KEYS: entries });
    after(() => system.close());
    const signIn = async (page, { key }, address) => {
      await page.goto(address);
      await page.getByRole("dialog").getByLabel("Key", { exact: true }).fill(key);
      await page.getByRole("dialog").getByRole("button", { name: "Sign in" }).click();
      await page.getByRole("dialog").waitFor({ state: "hidden" });
    };
    const [gate, gateOfOwner] = [new Gate(), new Gate()];
    model.on("For both to see", "It", gate, " is shared.");
    model.on("Write for both", { tool: "file_tool", arguments: WRITE });
    model.on("Write for both", "It is written.");
    model.on("And tomorrow", { tool: "file_tool", arguments: { ...WRITE, filename: "his.md" } });
    model.on("And tomorrow", "Tomorrow too.");
    await signIn(page, anna, system.url);
    await page.getByTitle("Signed in as anna").waitFor();
    await ask(page, "For both to see");
    await gate.reached;
    await page.getByRole("button", { name: "Share", exact: true }).click();
    const dialog = page.getByRole("dialog", { name: "Share this conversation" });
    await dialog.getByText(/^Links to files that others have opened stay valid until /).waitFor();
    assert.equal(await dialog.getByLabel("The user's name").evaluate((field) => field === document.activeElement), true);
    await dialog.getByLabel("The user's name").fill("Bob");
    await dialog.getByLabel("The user's name").press("Enter");
    await dialog.getByText("did you mean `bob`?").waitFor();
    await dialog.getByLabel("The user's name").fill("bob");
    await dialog.getByLabel("The user's name").press("Enter");
    const copy = dialog.getByRole("button", { name: "Copy link for bob" });
    await copy.waitFor();
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"], { origin: system.url });
    await copy.click();
    await copy.getByText("Copied").waitFor();
    const address = await page.evaluate(() => navigator.clipboard.readText());
    assert.match(address, /#\/s\/shr_[0-9a-f]{32}$/);
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "hidden" });

    // Bob follows, and can only read.
    const guest = await (await page.context().browser().newContext()).newPage();
    after(() => guest.context().close());
    await signIn(guest, bob, address);
    await conversation(guest).getByText("It", { exact: true }).waitFor();
    await guest.getByText("This conversation is shared with you for reading.").waitFor();
    // It is in the guest's list too, with its owner, and nothing there changes it.
    const list = guest.getByRole("navigation");
    await list.getByRole("heading", { name: "Shared with me" }).waitFor();
    await list.getByRole("link", { name: /For both to see.*by anna/ }).waitFor();
    assert.equal(await list.getByRole("button", { name: /^Actions for/ }).count(), 0);
    await guest.locator("header").getByText("by anna").waitFor();
    gate.open();
    await conversation(guest).getByText("It is shared.").waitFor();
    await ended(page);
    await askMe(page, "before risky calls");
    await ask(page, "Write for both");
    const name = (page) => card(page, "write a file").getByRole("textbox", { name: "File name" });
    await name(page).waitFor();
    await guest.reload();
    await card(guest, "write a file").getByText("Only the user who asked decides this.").waitFor();
    assert.equal(await name(guest).isDisabled(), true);
    // The count of what waits is the asker's alone.
    assert.match(await page.title(), /^\(1\)/);
    assert.doesNotMatch(await guest.title(), /^\(/);
    assert.equal(await card(guest, "write a file").getByRole("button", { name: "Allow" }).count(), 0);
    assert.equal(await guest.getByRole("button", { name: "Share", exact: true }).count(), 0);
    await decide(card(page, "write a file"), "Allow");
    await ended(page);
    // The page reads a paused run again every 30 s; a reload does so at once.
    await guest.reload();
    await conversation(guest).getByText("It is written.").waitFor();

    // After the end of the share, the link leads nowhere.
    await page.getByRole("button", { name: "Shared", exact: true }).click();
    await dialog.getByRole("button", { name: "Stop sharing with bob" }).click();
    await copy.waitFor({ state: "detached" });
    // Bob's page asks from time to time, and when its tab is shown again.
    await guest.evaluate(() => document.dispatchEvent(new Event("visibilitychange")));
    await guest.getByText("This conversation is no longer shared with you. You can still read what is shown here.").waitFor();
    await conversation(guest).getByText("It is written.").waitFor();
    await guest.reload();
    await conversation(guest).getByText("This conversation was not found, or is no longer shared with you.").waitFor();
    // A user who may write asks there.
    await dialog.getByLabel("With", { exact: true }).selectOption({ label: "All users" });
    await dialog.getByLabel("May", { exact: true }).selectOption({ label: "read, ask and add files" });
    await dialog.getByRole("button", { name: "Share", exact: true }).click();
    await dialog.getByRole("button", { name: "Copy link for All users" }).click();
    await dialog.getByText("Copied").waitFor();
    await guest.goto(await page.evaluate(() => navigator.clipboard.readText()));
    await guest.reload();
    await askMe(guest, "before risky calls");
    await ask(guest, "And tomorrow?");
    await card(guest, "write a file").getByRole("button", { name: "Allow" }).waitFor();
    // The owner sees whose turn it is, and decides nothing.
    await page.reload();
    await conversation(page).getByText("bob asked", { exact: true }).waitFor();
    await card(page, "write a file").getByText("It is the turn of bob, who asked.").waitFor();
    assert.equal(await card(page, "write a file").getByRole("button", { name: "Allow" }).count(), 0);
    assert.doesNotMatch(await page.title(), /^\(/);
    await page.getByText("bob asked the newest question. You can ask when it has its answer.").waitFor();
    await box(page).fill("Mine, too");
    await box(page).press("Enter");
    assert.equal(await box(page).inputValue(), "Mine, too");
    await decide(card(guest, "write a file"), "Allow");
    await conversation(guest).getByText("Tomorrow too.").waitFor();
    await page.reload();
    await conversation(page).getByText("Tomorrow too.").waitFor();
    assert.equal(await page.getByRole("button", { name: "Send", exact: true }).isEnabled(), true);
    // It is the other way round for the guest, who does not know the name.
    model.on("Mine, too", "It", gateOfOwner, " ends.");
    await box(page).press("Enter");
    await gateOfOwner.reached;
    await guest.reload();
    await guest.getByText("Another user asked the newest question. You can ask when it has its answer.").waitFor();
    assert.equal(await guest.getByRole("button", { name: "Stop", exact: true }).count(), 0);
    gateOfOwner.open();
    await conversation(page).getByText("It ends.").waitFor();
    await ended(page);
  },

  async long_answer_is_printed_as_a_whole_without_controls({ page, model, system }) {
    const paragraphs = Array.from({ length: 200 }, (_, index) => `Paragraph ${index + 1} of the report.`);
    model.on("Print this", `${paragraphs.join("\n\n")}\n\n## Sources\n\n- [1] [A page](https://example.org/tea)`);
    await page.goto(system.url);
    await ask(page, "Print this");
    await conversation(page).getByText("Paragraph 1 of the report.").waitFor();
    await ended(page);
    // On the screen, only what can be seen is in the document.
    assert.equal(await conversation(page).getByText("Paragraph 200 of the report.").count(), 0);
    await page.emulateMedia({ media: "print" });
    await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
    for (const text of ["Print this", "Paragraph 1 of the report.", "Paragraph 200 of the report.", "A page"]) {
      assert.equal(await conversation(page).getByText(text, { exact: true }).last().isVisible(), true, text);
    }
    // Only the numbers of sources are buttons.
    const controls = page.locator("button:visible, textarea:visible, nav:visible, aside:visible").filter({ hasNotText: /^\d+$/ });
    assert.deepEqual(await controls.evaluateAll((found) => found.map((element) => element.outerHTML.slice(0, 200))), []);
    const height = await page.evaluate(() => document.documentElement.scrollHeight);
    assert.ok(height > 4_000, `the page is only ${height} pixels high`);
    const paper = await page.pdf({ format: "A4" });
    assert.ok(paper.subarray(0, 5).toString() === "%PDF-");
    await page.evaluate(() => dispatchEvent(new Event("afterprint")));
    await page.emulateMedia({ media: "screen" });
    await conversation(page).getByText("Paragraph 200 of the report.").waitFor({ state: "detached" });
  },
};
