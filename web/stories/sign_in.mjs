// Stories of signing in at an issuer of tokens, which is a small one in this process.

import assert from "node:assert/strict";
import { Issuer } from "./issuer.mjs";
import { ask, box, conversation, ended } from "./steps.mjs";
import { System } from "./system.mjs";

/** Starts an issuer, and a system that accepts its tokens. */
async function startBoth({ variables, after }) {
  const issuer = await Issuer.start();
  after(() => issuer.close());
  const system = await System.start({ ...variables, ...issuer.variables });
  after(() => system.close());
  return { issuer, system };
}

/** Signs in with the two buttons: the page's, and the issuer's. */
async function signIn(page) {
  await page.getByRole("dialog").getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("link", { name: "I am Anna" }).click();
}

/** The token of this tab is one that the agent rejects from now on, as if it had been withdrawn. */
const withdrawToken = (page) =>
  page.evaluate(() => {
    const tokens = JSON.parse(sessionStorage.getItem("djinn:tokens"));
    sessionStorage.setItem("djinn:tokens", JSON.stringify({ ...tokens, token: "a.withdrawn.token", issuedAtMs: 0 }));
    sessionStorage.setItem("djinn:key", "a.withdrawn.token");
  });

export const SIGN_IN = {
  async token_of_an_issuer_signs_in_and_is_renewed_before_it_ends(story) {
    const { page, model, allow } = story;
    allow(/status of 401/);
    const { issuer, system } = await startBoth(story);
    model.on("Behind an issuer", "You are in.");
    await page.goto(system.url);
    const dialog = page.getByRole("dialog");
    await dialog.getByText(new URL(issuer.url).host).waitFor();
    issuer.lifeS = 2;
    await signIn(page);
    await box(page).waitFor();
    await dialog.waitFor({ state: "hidden" });
    await ask(page, "Behind an issuer");
    await conversation(page).getByText("You are in.").waitFor();
    await ended(page);
    // The page asks for new tokens by itself; the next ones live longer.
    issuer.lifeS = 3_600;
    await issuer.given(2);
    await page.waitForFunction(() => JSON.parse(sessionStorage.getItem("djinn:tokens")).endsAtMs > Date.now() + 60_000);
    assert.equal(issuer.grants[0], "authorization_code");
    assert.deepEqual([...new Set(issuer.grants.slice(1))], ["refresh_token"]);
    await page.reload();
    await conversation(page).getByText("You are in.").waitFor();
    assert.equal(await dialog.count(), 0);
    await page.getByRole("button", { name: "Sign out" }).click();
    await dialog.getByRole("button", { name: "Sign in" }).waitFor();
    assert.equal(await page.evaluate(() => sessionStorage.getItem("djinn:tokens")), null);
  },

  async rejected_token_is_renewed_and_otherwise_the_draft_outlasts_the_next_sign_in(story) {
    const { page, model, allow } = story;
    allow(/status of 40[01]/);
    const { issuer, system } = await startBoth(story);
    model.on("The first", "It is answered.");
    model.on("Once more", "Here I am again.");
    await page.goto(system.url);
    await signIn(page);
    await ask(page, "The first");
    await conversation(page).getByText("It is answered.").waitFor();
    await ended(page);
    const address = page.url();
    await box(page).fill("Once more");
    await withdrawToken(page);
    await page.reload();
    await issuer.given(2);
    await conversation(page).getByText("It is answered.").waitFor();
    await page.getByRole("dialog").waitFor({ state: "hidden" });
    assert.equal(await box(page).inputValue(), "Once more");
    issuer.isRenewing = false;
    await withdrawToken(page);
    await page.reload();
    await page.getByRole("dialog").getByRole("alert").getByText("Your sign-in has ended.").waitFor();
    await page.getByRole("dialog").getByText("What you wrote is kept.").waitFor();
    await signIn(page);
    await page.getByRole("dialog").waitFor({ state: "hidden" });
    await conversation(page).getByText("It is answered.").waitFor();
    assert.equal(page.url(), address);
    assert.equal(await box(page).inputValue(), "Once more");
    await box(page).press("Enter");
    await conversation(page).getByText("Here I am again.").waitFor();
    await ended(page);
  },

  async answer_with_a_wrong_state_or_nonce_signs_nobody_in(story) {
    const { page } = story;
    const { issuer, system } = await startBoth(story);
    const alert = page.getByRole("dialog").getByRole("alert");
    await page.goto(`${system.url}/?code=stolen&state=guessed`);
    await alert.getByText("This answer belongs to no sign-in of this tab.").waitFor();
    assert.doesNotMatch(page.url(), /code|state/);
    assert.deepEqual(issuer.grants, []);
    issuer.claims = { nonce: "foreign" };
    await signIn(page);
    await alert.getByText("This token belongs to another sign-in.").waitFor();
    assert.deepEqual(issuer.grants, ["authorization_code"]);
    assert.equal(await page.evaluate(() => sessionStorage.length), 0);
    issuer.claims = {};
    await signIn(page);
    await page.getByRole("dialog").waitFor({ state: "hidden" });
    await page.getByRole("heading", { name: "What do you want to know?" }).waitFor();
  },
};
