// @vitest-environment jsdom
// Judgements on answers, from the server's events to the lines of a conversation.

import { afterEach, expect, test } from "vitest";
import { NoteLine } from "../src/view/talk/NoteLine";
import { runOf, TestPage, turnWith } from "./page";

const start = { id: "start", at_ms: 1, type: "run.started", session: "s1", request: "r1", question: "Q", mode: "react" };
const review = { id: "review.1.reviewed", at_ms: 2, type: "review.completed", child: "review.1", round: 1, accepted: false, missing: [] };

const opened: TestPage[] = [];
afterEach(async () => {
  for (const page of opened.splice(0)) await page.close();
});

/** Shows the notes of a run's own lane. */
async function showNotes(...entries: readonly Record<string, unknown>[]): Promise<TestPage> {
  const page = new TestPage();
  opened.push(page);
  const run = runOf([start, ...entries]);
  await page.change({ turns: [turnWith(run)] });
  const rows = run.lanes.get("")?.rows ?? [];
  await page.show(rows.map((row) => (row.kind === "note" ? <NoteLine key={row.key} note={row} /> : null)));
  return page;
}

test("a review that does not accept an answer opens to its problems and gaps", async () => {
  const problems = ["The claim has no source.", "<b>It is long.</b>"];
  const page = await showNotes(
    { ...review, problems, missing: ["The price."], message: "t2" },
    { id: "t2.rejected", at_ms: 3, type: "message.reset", message: "t2", reason: "review" },
  );
  expect(page.text).toContain("Review 1: the answer is not accepted · 3 problems");
  expect(page.text).toContain("another one follows");
  expect(page.text).not.toContain("The claim has no source.");
  await page.press("Review 1: the answer is not accepted · 3 problems");
  expect([...page.element.querySelectorAll("li")].map((item) => item.textContent)).toEqual([...problems, "The price."]);
});

test("a review without problems is a line", async () => {
  const page = await showNotes({ ...review, accepted: true, problems: [] });
  expect(page.text).toBe("Review 1: the answer is accepted");
  expect(page.element.querySelector("button")).toBeNull();
});

test("a reviewer that failed says why", async () => {
  const failure = { code: "model_unreachable", detail: "" };
  const page = await showNotes({ ...review, problems: [], failure });
  expect(page.text).toMatch(/^Review 1: the answer was not judged: .{10}/);
});

test("a verdict names the chosen answer and the scores, and opens to the reasons of each agent", async () => {
  const scores = [
    { child: "before.c2", letter: "A", score: 90, reason: "It answers the whole question." },
    { child: "before.c1", letter: "B", score: 70, reason: "A omits nothing that it names." },
  ];
  const child = { at_ms: 2, type: "child.started", description: "Q" };
  const started = [
    { ...child, id: "before.c1.start", child: "before.c1", agent: "react" },
    { ...child, id: "before.c2.start", child: "before.c2", agent: "researcher" },
  ];
  const verdict = { id: "t1.c1.verdict", at_ms: 3, type: "verdict.given", scores };
  const page = await showNotes(...started, { ...verdict, chosen: "before.c2" });
  await page.press("Answer A was chosen (A 90 · B 70)");
  expect([...page.element.querySelectorAll("li")].map((item) => item.textContent)).toEqual([
    "A · researcher · 90: It answers the whole question.",
    "B · react · 70: A omits nothing that it names.",
  ]);
  const merged = await showNotes(...started, verdict);
  expect(merged.text).toContain("The answers were merged (A 90 · B 70)");
});
