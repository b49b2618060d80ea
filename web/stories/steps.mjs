// The steps of stories: where things are on the page, and what users do there.

/** The box for questions. */
export const box = (page) => page.getByRole("textbox", { name: "Your question" });
export const conversation = (page) => page.getByRole("main");
export const stop = (page) => page.getByRole("button", { name: "Stop", exact: true });
/** A request that waits, by a text in it. */
export const card = (page, text) => page.locator("section[data-request]").filter({ hasText: text });

export async function ask(page, question) {
  await box(page).fill(question);
  await box(page).press("Enter");
}

/** Waits until the answer has ended: the box asks the next question. */
export async function ended(page) {
  await page.getByPlaceholder("Ask the next question").waitFor();
}

/** Waits until the newest run is shown in full, to its time and cost. A reload shows the answer before that. */
export async function complete(page) {
  await ended(page);
  await conversation(page).getByText(/^Took /).waitFor();
}

/** Turns on the requests of a question on these occasions. */
export async function askMe(page, ...occasions) {
  await page.getByRole("button", { name: "Ask me: never" }).click();
  for (const occasion of occasions) await page.getByRole("menuitemcheckbox", { name: occasion }).click();
  await page.keyboard.press("Escape");
}

/** Chooses the mode that plans. */
export async function choosePlan(page) {
  await page.getByRole("button", { name: "Answer", exact: true }).click();
  await page.getByRole("menuitemradio", { name: "Plan", exact: true }).click();
}

/** Presses a button of a card. A card takes no click right after it appeared, so the click is repeated. */
export async function decide(request, name) {
  const button = request.getByRole("button", { name, exact: true });
  await button.waitFor();
  for (let attempt = 0; attempt < 30; attempt += 1) {
    await button.click({ timeout: 2_000 }).catch(() => undefined);
    const isTaken = await request.waitFor({ state: "detached", timeout: 2_000 }).then(() => true, () => false);
    if (isTaken) return;
  }
  throw new Error(`the request does not take ${name}`);
}

/** Acts until something is shown: a card takes no key and no click right after it appeared. */
export async function repeatUntil(act, shown) {
  for (let attempt = 0; attempt < 30; attempt += 1) {
    await act().catch(() => undefined);
    if (await shown.waitFor({ timeout: 2_000 }).then(() => true, () => false)) return;
  }
  throw new Error(`${shown} does not appear`);
}

/** Presses Tab until an element has the focus. */
export async function tabTo(page, locator, key = "Tab") {
  await locator.waitFor();
  for (let count = 0; count < 80; count += 1) {
    if (await locator.evaluate((element) => element === document.activeElement)) return;
    await page.keyboard.press(key);
  }
  throw new Error(`${locator} is not in the order of the keyboard`);
}

/** Opens the menu of a button and chooses an item, by keyboard. */
export async function chooseByKeys(page, button, item) {
  await tabTo(page, button);
  await page.keyboard.press("Enter");
  await item.waitFor();
  const isActive = () => item.evaluate((element) => element === document.activeElement || element.hasAttribute("data-active-item"));
  for (let count = 0; count < 12 && !(await isActive()); count += 1) await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await page.keyboard.press("Escape");
  await item.waitFor({ state: "hidden" });
}

/** Presses Enter on the element with the focus until the request is gone: a card takes no key right after it appeared. */
export async function enterUntilGone(page, request) {
  for (let attempt = 0; attempt < 30; attempt += 1) {
    await page.keyboard.press("Enter");
    const isTaken = await request.waitFor({ state: "detached", timeout: 2_000 }).then(() => true, () => false);
    if (isTaken) return;
  }
  throw new Error("the request takes no key");
}

/** The words of the conversation, on one line. */
export const textOf = async (page) => (await conversation(page).innerText()).replace(/\s+/g, " ");

/** The arguments of a call that writes a file. */
export const WRITE = { command: "upload", filename: "note.md", description: "A note", content: "Green tea is green." };
