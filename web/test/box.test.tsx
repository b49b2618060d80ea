// @vitest-environment jsdom
// The box for questions and messages.

import { act } from "react";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Box } from "../src/view/input/Box";
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
