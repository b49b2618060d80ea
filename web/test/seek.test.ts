// The questions whose answers are in the document.

import { expect, test } from "vitest";
import type { TalkRow } from "../src/view/talk/rows";
import { questionsInView } from "../src/view/talk/seek";

/** Rows of 100 pixels. */
const HEIGHT = 100;
const indexAt = (offset: number): number => Math.floor(offset / HEIGHT);

/** A question at each of these rows. */
function rowsWith(length: number, questions: readonly number[]): readonly TalkRow[] {
  return Array.from({ length }, (_, at) => ({ kind: questions.includes(at) ? "question" : "block" }) as TalkRow);
}

test.each([
  ["at the top", 0, [0]],
  ["in the middle of a long answer", 3_000, [0]],
  ["where several answers begin", 6_200, [50, 55, 60]],
  ["where an answer begins above the view", 6_900, [55, 60]],
  ["at the end", 9_900, [60]],
])("%s, the headings in the document follow a question", (_name, scrollTop, questions) => {
  expect(questionsInView(rowsWith(100, [0, 50, 55, 60]), scrollTop, indexAt)).toEqual(questions);
});

test("without rows there is no question", () => {
  expect(questionsInView([], 0, indexAt)).toEqual([]);
});
