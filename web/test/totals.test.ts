// What a run has used, while it works, at its end, and after a stop.

import { expect, test } from "vitest";
import { emptyRun } from "../src/store/empty_run";
import { foldEvents } from "../src/store/fold";
import { runTotals } from "../src/view/lanes";
import { runOf } from "./page";
import { readStream } from "./streams";

const usage = (tokens: number) => ({ input_tokens: tokens, output_tokens: 0, cached_tokens: 0, took_ms: 1, micro_usd: tokens });
const spent = (tokens: number, calls: number) => ({
  steps: 1,
  model_calls: calls,
  tool_calls: 0,
  usage: usage(tokens),
});
const start = { id: "start", at_ms: 1000, type: "run.started", session: "s1", request: "r1", question: "Q", mode: "react" };
const reply = (id: string, tokens: number, more = {}) =>
  ({ id: `${id}${"path" in more ? ".below" : ""}`, at_ms: 1100, type: "message.completed", message: id, text: "I read.", usage: usage(tokens), ...more });
const end = (status: string, tokens: number, calls: number) =>
  ({ id: "end", at_ms: 1200, type: "run.ended", status, answer: "", files: [], spent: spent(tokens, calls), took_ms: 200 });
const child = { id: "t1.c1.start", at_ms: 1050, type: "child.started", child: "t1.c1", description: "Reads", call: "c1" };
const below = reply("t1", 30, { path: "t1.c1" });
const call = (id: string) => ({ id, at_ms: 1110, type: "call.requested", call: id, tool: "file_tool", arguments: {}, visible: true });
const skipped = { id: "t1.c2.result", at_ms: 1120, type: "call.completed", call: "t1.c2", result: { status: "failed", reason: "skipped", detail: "" } };

test("the end has the figures of the whole run, and a skipped call is none", () => {
  const working = runOf([start, reply("t1", 10), call("t1.c2"), skipped, call("t1.c3")]);
  expect(runTotals(working)).toMatchObject({ tokens: 10, microUsd: 10, modelCalls: 1, toolCalls: 0 });
  const ended = runOf([start, reply("t1", 10), end("finished", 15, 2)]);
  expect(runTotals(ended)).toMatchObject({ tokens: 15, microUsd: 15, modelCalls: 2 });
});

test("a stopped run keeps what the agents had used that were at work", () => {
  const stopped = runOf([start, reply("t1", 10), child, below, end("stopped", 10, 1)]);
  expect(runTotals(stopped)).toMatchObject({ tokens: 40, microUsd: 40, modelCalls: 2 });
});

test.each(["answer", "approval", "plan", "search"])("the counts of the run %s do not go back at its end", async (name) => {
  const events = (await readStream(name)).map((frame) => frame.event);
  const countsOf = (count: number) => {
    const { modelCalls, toolCalls } = runTotals(foldEvents(emptyRun("run_1"), events.slice(0, count)));
    return { modelCalls, toolCalls };
  };
  const last = events.findLastIndex((event) => event.kind === "entry" && event.entry.type === "run.ended");
  expect(countsOf(last)).toEqual(countsOf(events.length));
});

test("time in which a user is asked is no time of the run", () => {
  const request = { id: "t1.c1", about: "call", call: "t1.c1", tool: "look", arguments: {}, risk: "low", estimate: {}, digest: "d" };
  const asks = { id: "asks", at_ms: 1500, type: "human.requested", group: "t1", reasoning: "", requests: [request] };
  const says = { id: "says", at_ms: 61_500, type: "human.resolved", request: "t1.c1", response: "confirm", by: "you" };
  const answers = { ...reply("t2", 1), at_ms: 63_000 };
  expect([runOf([start, asks]), runOf([start, asks, says, answers])].map((run) => run.waitedMs)).toEqual([0, 60_000]);
});
