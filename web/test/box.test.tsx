// @vitest-environment jsdom
// The box for questions and messages.

import { act } from "react";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Box } from "../src/view/input/Box";
import { loadWords } from "../src/words";
import { runOf, TestPage, turnWith } from "./page";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const RUN = runOf([{ type: "run.started", session: "s1", request: "r1", question: "Q", mode: "react" }]);
const working = { ...turnWith(RUN), status: "running" as const };

const pass = (ms: number): Promise<void> => act(async () => void (await vi.advanceTimersByTimeAsync(ms)));

test("Stop ignores clicks for half a second after it came or moved, and the second click of a double click", async () => {
  const page = new TestPage({ turns: [working] });
  await page.show(<Box />);
  const click = (detail: number): Promise<void> =>
    act(async () => void page.find("Stop").dispatchEvent(new MouseEvent("click", { bubbles: true, detail })));
  await pass(499);
  await click(1);
  expect(page.calls).toEqual([]);
  await pass(1);
  await click(2);
  expect(page.calls).toEqual([]);
  page.draft({ text: "In euros" });
  await page.show(<Box />);
  await click(1);
  expect(page.calls).toEqual([]);
  await pass(500);
  await click(0);
  expect(page.calls).toEqual([["stop"]]);
});

const upload = (state: "uploading" | "done" | "failed") => {
  return { id: "u1", name: "sales.csv", size: 9, progress: 0, state, error: null };
};

const submit = (page: TestPage): Promise<void> =>
  act(async () => page.element.querySelector("form")?.requestSubmit());

test("a question waits for its upload, says so, and is not sent without a file that failed", async () => {
  const page = new TestPage();
  const show = async (text: string, state: "uploading" | "done" | "failed"): Promise<void> => {
    page.draft({ text, uploads: [upload(state)] });
    await page.show(<Box />);
  };
  await show("Which region?", "uploading");
  await submit(page);
  expect(page.text).toContain("This is sent as soon as the files are uploaded.");
  await show("Which region? In euros", "uploading");
  expect(page.text).not.toContain("as soon as");
  await show("Which region? In euros", "done");
  expect(page.calls).toEqual([]);
  await show("Which region?", "uploading");
  await submit(page);
  await show("Which region?", "failed");
  await show("Which region?", "done");
  expect(page.calls).toEqual([]);
  await show("Which region?", "failed");
  await submit(page);
  expect(page.text).toContain("One file was not uploaded.");
  expect(page.text).toContain("The page was left during the upload.");
  expect(page.calls).toEqual([]);
  await show("Which region?", "uploading");
  await submit(page);
  await show("Which region?", "done");
  expect(page.calls).toEqual([["send"]]);
});

test("the word Continue is a question to the model when no run is at work, and a message otherwise", async () => {
  for (const [status, language, text, expected] of [
    ["stopped", "en", "Continue.", [["setDraft", { text: "Continue where you stopped." }], ["send"]]],
    ["finished", "zh", "继续", [["setDraft", { text: "请从停下的地方继续。" }], ["send"]]],
    ["stopped", "en", "Continue with teas", [["send"]]],
    ["paused", "en", "continue", [["send"]]],
  ] as const) {
    await loadWords(language);
    const page = new TestPage({ turns: [{ ...turnWith(RUN), status }] }, language, text);
    await page.show(<Box />);
    await submit(page);
    expect(page.calls).toEqual(expected);
    await page.close();
  }
});
