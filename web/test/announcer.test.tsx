// @vitest-environment jsdom
// What screen readers hear: states, and the whole answer once.

import { afterEach, expect, test } from "vitest";
import { foldEvents } from "../src/store/fold";
import type { Run, Turn } from "../src/store/types";
import { Announcer } from "../src/view/shell/Announcer";
import type { Entry } from "../src/wire/contract";
import { runOf, TestPage, turnWith } from "./page";

const opened: TestPage[] = [];
afterEach(async () => {
  for (const page of opened.splice(0)) await page.close();
});

const start = { id: "start", at_ms: 1, type: "run.started", session: "s1", request: "r1", question: "Q", mode: "react" };
const add = (run: Run, entry: object): Run => foldEvents(run, [{ kind: "entry", entry: entry as Entry }]);

function write(run: Run, offset: number, text: string): Run {
  return foldEvents(run, [{ kind: "preview", preview: { message: "t1", attempt: 1, kind: "text", offset, text, at_ms: 2 } }]);
}

const shown = (run: Run, status: Turn["status"]): { turns: readonly Turn[] } => ({ turns: [{ ...turnWith(run), question: "Q", status }] });

test("states and the whole answer are announced once, and no piece of it", async () => {
  let run = runOf([start]);
  const page = new TestPage(shown(run, "running"));
  opened.push(page);
  await page.show(<Announcer />);
  const heard: string[] = [];
  const hear = async (status: Turn["status"]): Promise<void> => {
    await page.change(shown(run, status));
    const { textContent } = page.element.querySelector("[role=status]") as HTMLElement;
    if (textContent !== heard.at(-1)) heard.push(textContent);
  };
  await hear("running");
  const answer = "Tea is warm. ".repeat(1_000);
  for (let at = 0; at < 50; at += 1) {
    run = write(run, at * 13, "Tea is warm. ");
    await hear("running");
  }
  const request = { id: "t1.c1", about: "call", call: "t1.c1", tool: "look", arguments: {}, risk: "low", digest: "d" };
  run = add(run, { id: "q", at_ms: 3, type: "human.requested", group: "g", reasoning: "", risk: "low", requests: [request] });
  await hear("paused");
  expect(document.title).toMatch(/^\(1\) /);
  run = add(run, { id: "a", at_ms: 4, type: "human.resolved", request: "t1.c1", response: "confirm", digest: "d" });
  await hear("running");
  expect(document.title).not.toMatch(/^\(/);
  run = add(run, { id: "end", at_ms: 5, type: "run.ended", status: "finished", answer, files: [], took_ms: 1, spent: { usage: {} } });
  await hear("finished");
  await hear("finished");
  expect(heard).toEqual([
    "",
    "The answer has begun.",
    "1 request waits for you.",
    "The request was decided.",
    `The answer: ${answer}`,
  ]);
});

test.each([
  ["failed", "The run failed."],
  ["stopped", "The run was stopped."],
] as const)("a run that has %s is announced", async (status, sentence) => {
  const run = runOf([start]);
  const page = new TestPage(shown(run, "running"));
  opened.push(page);
  await page.show(<Announcer />);
  await page.change(shown(run, status));
  expect(page.element.querySelector("[role=status]")?.textContent).toBe(sentence);
});
