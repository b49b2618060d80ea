// The fold of a run's events: cuts, repeats, late and missing pieces lead to the state of the uncut stream.

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { emptyRun } from "../src/store/empty_run";
import { foldEvents, isWaitingForUsers } from "../src/store/fold";
import { byteLength, writePiece } from "../src/store/pieces";
import type { Run } from "../src/store/types";
import type { Entry, StreamEvent, Usage } from "../src/wire/contract";
import type { Frame } from "../src/wire/sse";
import { readStream, STREAMS } from "./streams";

const fold = (events: readonly StreamEvent[]): Run => foldEvents(emptyRun("run"), events);
const usage: Usage = { input_tokens: 3, output_tokens: 2, cached_tokens: 1, took_ms: 5 };
const events = (frames: readonly Frame[]): StreamEvent[] => frames.map((frame) => frame.event);

/**
 * The state as a viewer sees it after the end: without the progress of calls that have ended, and without the unfinished
 * texts of stopped agents, which no entry repeats.
 */
const visible = (run: Run): unknown => ({
  ...run,
  lanes: [...run.lanes.values()].map((lane) => ({ ...lane, resets: [], drafts: lane.status === "stopped" ? [] : lane.drafts })),
});

describe("streams of real runs", () => {
  it.each(STREAMS)("%s leads to the same state, however it is cut", async (name) => {
    const frames = await readStream(name);
    const whole = fold(events(frames));
    expect(whole.end).not.toBeNull();
    for (let cut = 0; cut <= frames.length; cut += 1) {
      const before = foldEvents(emptyRun("run"), events(frames.slice(0, cut)));
      expect(visible(foldEvents(before, events(frames.slice(cut))))).toEqual(visible(whole));
      // A stream after a cursor repeats the events of this cursor.
      const cursor = frames[cut - 1]?.cursor ?? null;
      const from = cursor === null ? 0 : frames.findIndex((frame) => frame.cursor === cursor);
      expect(visible(foldEvents(before, events(frames.slice(from))))).toEqual(visible(whole));
    }
  });

  it.each(STREAMS)("%s needs no previews, and ignores late ones", async (name) => {
    const all = events(await readStream(name));
    const whole = visible(fold(all));
    const kept = all.filter((event) => event.kind === "entry");
    const others = all.filter((event) => event.kind !== "entry");
    expect(visible(fold(kept))).toEqual(whole);
    expect(visible(fold([...kept, ...others]))).toEqual(whole);
    expect(visible(fold([...all, ...all]))).toEqual(whole);
  });

  it.each(STREAMS)("%s changes no earlier state", async (name) => {
    const all = events(await readStream(name));
    for (let cut = 0; cut < all.length; cut += 20) {
      const before = fold(all.slice(0, cut));
      const copy = structuredClone(before);
      foldEvents(before, all.slice(cut));
      expect(before).toEqual(copy);
    }
  });

  it.each(STREAMS)("%s is read alike in chunks of any size", async (name) => {
    const whole = await readStream(name, 1_000_000);
    for (const size of [13, 4_096]) expect(await readStream(name, size)).toEqual(whole);
  });

  it("shows an unfinished message as far as it is written", async () => {
    const frames = await readStream("answer");
    const index = frames.findLastIndex(({ event }) => event.kind === "preview" && event.preview.kind === "text");
    const run = fold(events(frames.slice(0, index + 1)));
    const draft = run.lanes.get("")?.drafts[0];
    expect(draft?.isComplete).toBe(false);
    expect(draft?.text).not.toBe("");
    const completed = fold(events(frames)).lanes.get("")?.rows.find((row) => row.key === draft?.key);
    expect(completed?.kind === "message" && completed.text.startsWith(draft?.text ?? "?")).toBe(true);
  });

  it("names the files of a question", async () => {
    const [started] = events(await readStream("answer"));
    if (started?.kind !== "entry" || started.entry.type !== "run.started") throw new Error("no start");
    expect(fold([started]).attachments).toEqual([]);
    const entry = { ...started.entry, attachments: ["a.csv", "b.csv"] };
    expect(fold([{ kind: "entry", entry }]).attachments).toEqual(["a.csv", "b.csv"]);
  });

  it("has a lane for each agent of a plan, with its own costs", async () => {
    const run = fold(events(await readStream("plan")));
    const lanes = [...run.lanes.values()];
    expect(lanes.map((lane) => lane.path)).toEqual(["", "s1.1", "s2.1", "s3.1", "s4.1", "s5.1"]);
    expect(run.plan?.steps.every((step) => step.status === "completed")).toBe(true);
    const total = lanes.reduce((sum, lane) => sum + lane.usage.output_tokens, 0);
    expect(total).toBe(run.end?.spent.usage.output_tokens);
    expect(lanes.map((lane) => lane.step)).toEqual([null, "s1", "s2", "s3", "s4", "s5"]);
  });

  it("opens and closes requests", async () => {
    const frames = await readStream("approval");
    const asked = frames.findIndex(({ event }) => event.kind === "entry" && event.entry.type === "human.requested");
    const run = fold(events(frames.slice(0, asked + 1)));
    expect(isWaitingForUsers(run)).toBe(true);
    const end = fold(events(frames));
    expect([...end.requests.values()].map((state) => [state.isOpen, state.resolution?.response])).toEqual([
      [false, "confirm"],
      [false, "confirm"],
    ]);
  });

  it("lists the pages of searches and the files", async () => {
    const run = fold(events(await readStream("search")));
    expect(run.sources.size).toBeGreaterThan(1);
    expect(run.end?.files.length).toBeGreaterThan(0);
    for (const file of run.end?.files ?? []) expect(run.files.has(file.name)).toBe(true);
  });
});

it("the time of a call tells how long it waited for its user", async () => {
  const all = events(await readStream("approval"));
  const waits = all.flatMap((event) => (event.kind === "entry" && event.entry.type === "human.resolved" ? [event.entry] : []));
  const run = fold([...all, ...all]);
  const calls = [...run.lanes.values()].flatMap(({ rows }) => rows.filter((row) => row.kind === "call"));
  const waited = calls.map(({ waitedMs }) => waitedMs).filter((ms) => ms > 0);
  const expected = waits.map((entry) => entry.at_ms - (run.requests.get(entry.request)?.atMs ?? 0)).filter((ms) => ms > 0);
  expect(waited.toSorted()).toEqual(expected.toSorted());
  expect(waited.length).toBeGreaterThan(0);
});

it("a call has the arguments that its user allowed", () => {
  const entry = (data: object): StreamEvent => ({ kind: "entry", entry: data as Entry });
  const call = { call: "t1.c1", tool: "look", arguments: { name: "a.md" } };
  const run = fold([
    entry({ id: "t1.c1", at_ms: 1, type: "call.requested", ...call, visible: true }),
    entry({ id: "q", at_ms: 2, type: "human.requested", group: "t1", reasoning: "", requests: [{ id: "t1.c1", about: "call", ...call }] }),
    entry({ id: "r", at_ms: 9, type: "human.resolved", request: "t1.c1", response: "modify", arguments: { name: "b.md" } }),
  ]);
  expect(run.lanes.get("")?.rows[0]).toMatchObject({ arguments: { name: "b.md" }, waitedMs: 7 });
});

it("a message of a user is read by the first turn that begins after it", () => {
  const said = (id: string, at_ms: number): StreamEvent => ({
    kind: "entry",
    entry: { id, at_ms, type: "user_message.added", text: id },
  });
  const turn = (message: string, at_ms: number, took_ms: number): StreamEvent => ({
    kind: "entry",
    entry: { id: message, at_ms, type: "message.completed", message, text: "x", usage: { ...usage, took_ms } },
  });
  const unread = (run: Run): string[] =>
    (run.lanes.get("")?.rows ?? []).flatMap((row) => (row.kind === "user_message" && !row.isRead ? [row.key] : []));
  const first = fold([said("m1", 10), said("m2", 20), turn("t1", 25, 10)]);
  expect(unread(first)).toEqual(["m2"]);
  expect(unread(foldEvents(first, [said("m3", 30), turn("t2", 40, 5)]))).toEqual([]);
});

// Generated runs.

const text = fc.string({ unit: "grapheme", maxLength: 30 });

/** What happens in a lane between two messages. */
const happening = fc.oneof(
  fc.record({ kind: fc.constant("call" as const), output: text, isLost: fc.boolean() }),
  fc.record({ kind: fc.constant("request" as const), response: fc.constantFrom("confirm", "modify", "skip", null) }),
  fc.record({ kind: fc.constantFrom("said", "file", "resumed", "plan", "step"), text }),
);

/** The model's messages of one lane: texts, each with failed attempts before, and what happens after. */
const message = fc.record({
  text,
  reasoning: text,
  failed: fc.array(text, { maxLength: 2 }),
  pieces: fc.array(fc.nat(12), { maxLength: 6 }),
  after: fc.array(happening, { maxLength: 2 }),
});
const lane = fc.array(message, { maxLength: 4 });
const runs = fc.record({ root: lane, children: fc.array(lane, { maxLength: 3 }), order: fc.infiniteStream(fc.nat(7)) });

/** Splits a text into pieces with offsets in bytes. */
function pieces(path: string, id: string, attempt: number, kind: "text" | "reasoning", whole: string, lengths: number[]): StreamEvent[] {
  const characters = [...whole];
  const found: StreamEvent[] = [];
  for (let offset = 0, index = 0; characters.length > 0; index += 1) {
    const piece = characters.splice(0, (lengths[index] ?? 5) + 1).join("");
    found.push({ kind: "preview", preview: { path: path || null, message: id, attempt, kind, offset, text: piece, at_ms: 1 } });
    offset += byteLength(piece);
  }
  return found;
}

const entry = (path: string, id: string, body: object): StreamEvent => {
  const name = path === "" ? id : `${path}.${id}`;
  return { kind: "entry", entry: { id: name, at_ms: 1, ...(path === "" ? {} : { path }), ...body } as Entry };
};

it("marks the answer that a reviewer accepted, and keeps the rejected one as work", () => {
  const spent = { steps: 2, model_calls: 4, tool_calls: 0, usage };
  const completed = (id: string, text: string) =>
    entry("", id, { type: "message.completed", message: id, text, draft: true, usage });
  const reviewed = (round: number, accepted: boolean, message: string) =>
    entry("", `review.${round}.reviewed`, {
      type: "review.completed",
      child: `review.${round}`,
      round,
      accepted,
      problems: accepted ? [] : ["No source."],
      missing: [],
      message,
    });
  const run = fold([
    completed("t1", "East."),
    entry("", "review.1.start", { type: "child.started", child: "review.1", description: "Which?", agent: "reviewer" }),
    reviewed(1, false, "t1"),
    entry("", "t1.rejected", { type: "message.reset", message: "t1", reason: "review" }),
    completed("t2", "East, by 4 %."),
    reviewed(2, true, "t2"),
    entry("", "end", { type: "run.ended", status: "finished", answer: "East, by 4 %.", files: [], review: "accepted", spent, took_ms: 1 }),
  ]);
  const rows = run.lanes.get("")?.rows ?? [];
  const answers = rows.flatMap((row) => (row.kind === "message" ? [[row.key, row.isAnswer]] : []));
  expect(answers).toEqual([
    ["t1", false],
    ["t2", true],
  ]);
  const notes = rows.flatMap((row) => (row.kind === "note" ? [row.note] : []));
  expect(notes.map((note) => note.type)).toEqual(["reviewed", "rejected", "reviewed"]);
  expect(notes[0]).toMatchObject({ round: 1, isAccepted: false, problems: ["No source."] });
  const lane = run.lanes.get("review.1");
  expect([lane?.parent, lane?.step, lane?.call, lane?.agent]).toEqual(["", null, null, "reviewer"]);
});

it("a stop keeps the unfinished texts of agents, until their complete messages come", () => {
  const piece = (path: string): StreamEvent => ({
    kind: "preview",
    preview: { path, message: "t1", attempt: 1, kind: "text", offset: 0, text: "So much", at_ms: 1 },
  });
  const usage = { input_tokens: 0, output_tokens: 0, cached_tokens: 0, took_ms: 0 };
  const spent = { steps: 0, model_calls: 0, tool_calls: 0, usage };
  const end = { status: "stopped", text: "", files: [], failure: { code: "stopped", detail: "" }, spent };
  const stopped = fold([
    entry("", "start", { type: "run.started", session: "s", request: "r", question: "?", mode: "react" }),
    ...["s1.1", "s2.1"].map((child) => entry("", `${child}.start`, { type: "child.started", child, description: child })),
    piece("s1.1"),
    piece("s2.1"),
    entry("", "s1.1.end", { type: "child.ended", child: "s1.1", ...end }),
    entry("", "end", { type: "run.ended", answer: "", took_ms: 1, ...end }),
  ]);
  const texts = (run: Run) => ["s1.1", "s2.1"].map((path) => run.lanes.get(path)?.drafts.map((draft) => [draft.text, draft.isComplete]));
  expect(texts(stopped)).toEqual([[["So much", true]], [["So much", true]]]);
  const message = { message: "t1", text: "So much and more", truncated: true, usage };
  const later = foldEvents(stopped, [entry("s1.1", "t1", { type: "message.completed", ...message })]);
  expect(texts(later)).toEqual([[], [["So much", true]]]);
});

it("after a handoff, the pieces of unfinished messages in all lanes are sent anew", () => {
  const piece = (path: string, offset: number, text: string): StreamEvent => ({
    kind: "preview",
    preview: { path: path || null, message: "t1", attempt: 1, kind: "text", offset, text, at_ms: 1 },
  });
  const drafts = (run: Run): string[] => [...run.lanes.values()].flatMap((lane) => lane.drafts.map((draft) => draft.text));
  const before = fold([
    entry("", "start", { type: "run.started", session: "s", request: "r", question: "?", mode: "react" }),
    entry("", "s1.1.start", { type: "child.started", child: "s1.1", description: "s1" }),
    piece("", 0, "One ha"),
    piece("s1.1", 0, "Another"),
  ]);
  expect(drafts(before)).toEqual(["One ha", "Another"]);
  const resumed = foldEvents(before, [entry("", "resumed.2", { type: "run.resumed", epoch: 2 })]);
  expect(drafts(resumed)).toEqual([]);
  // The model may write something else this time, and a piece of the first attempt has no place any more.
  const after = foldEvents(resumed, [piece("", 6, "lf"), piece("", 0, "Once"), piece("", 4, " more"), piece("s1.1", 0, "Other words")]);
  expect(drafts(after)).toEqual(["Once more", "Other words"]);
  expect(after.lanes.get("")?.rows.at(-1)).toMatchObject({ kind: "note", note: { type: "resumed", epoch: 2 } });
});

type Happening =
  | { kind: "call"; output: string; isLost: boolean }
  | { kind: "request"; response: string | null }
  | { kind: string; text: string };
type Message = { text: string; reasoning: string; failed: string[]; pieces: number[]; after: Happening[] };

const generatedFile = (name: string) => ({ name, description: name, size: 1, internal: false, media_type: "text/plain", preview_url: "/p", download_url: "/d" });
const generatedStep = (id: string, status: string) => ({ id, stage: "", details: id, status, note: "", depends_on: [], agent: null });

function happeningEvents(path: string, id: string, happening: Happening): StreamEvent[] {
  const call = { call: id, tool: "look", arguments: { name: "a.md" } };
  const asked = entry(path, id, { type: "call.requested", ...call, visible: true });
  const done = entry(path, `${id}.result`, { type: "call.completed", call: id, result: { status: "done", text: id, files: [generatedFile(`${id}.md`)], view: { kind: "text" } } });
  if ("output" in happening) {
    const characters = [...happening.output];
    let offset = 0;
    const progress = characters.map((text): StreamEvent => {
      const at = offset;
      offset += byteLength(text);
      return { kind: "progress", progress: { path: path || null, call: id, offset: at, text, cut: false, began_at_ms: 1, at_ms: 1 } as never };
    });
    const lost = entry(path, `${id}.result`, { type: "call.completed", call: id, result: { status: "failed", reason: "crashed", text: "" } });
    return [asked, ...progress, happening.isLost ? lost : done];
  }
  if ("response" in happening) {
    const name = path === "" ? id : `${path}.${id}`;
    const request = { id: name, about: "call", ...call, risk: "low", digest: "d", ...(path === "" ? {} : { path }) };
    const requested = entry("", `${name}.requested`, { type: "human.requested", group: name, reasoning: "", risk: "low", requests: [request] });
    const { response } = happening;
    // Without a response, the end of the lane or of the run closes the request.
    if (response === null) return [asked, requested];
    const change = response === "modify" ? { arguments: { name: "b.md" } } : {};
    return [asked, requested, entry("", `${name}.resolved`, { type: "human.resolved", request: name, response, digest: "d", ...change }), done];
  }
  switch (happening.kind) {
    case "said":
      return [entry(path, id, { type: "user_message.added", text: happening.text })];
    case "file":
      return [entry(path, id, { type: "file.added", file: generatedFile(happening.text) })];
    case "resumed":
      return path === "" ? [entry("", id, { type: "run.resumed", epoch: 2 })] : [];
    case "plan":
      return path === "" ? [entry("", id, { type: "plan.changed", plan: { title: happening.text, steps: [generatedStep("s1", "not_started")] } })] : [];
    default:
      return path === "" ? [entry("", id, { type: "step.changed", step: "s1", status: "completed", note: happening.text })] : [];
  }
}

function laneEvents(path: string, messages: Message[]): StreamEvent[] {
  return messages.flatMap((message, index) => {
    const id = `t${index + 1}`;
    const failed = message.failed.flatMap((text, index) => [
      ...pieces(path, id, index + 1, "text", text, message.pieces),
      entry(path, `${id}.reset${index + 1}`, {
        type: "message.reset",
        message: id,
        reason: "failure",
        attempt: index + 1,
        failure: { code: "model_unreachable", detail: "" },
      }),
    ]);
    const attempt = message.failed.length + 1;
    return [
      ...failed,
      ...pieces(path, id, attempt, "reasoning", message.reasoning, message.pieces),
      ...pieces(path, id, attempt, "text", message.text, message.pieces),
      entry(path, id, { type: "message.completed", message: id, text: message.text, reasoning: message.reasoning, usage }),
      ...message.after.flatMap((happening, at) => happeningEvents(path, `${id}.c${at + 1}`, happening)),
    ];
  });
}

/** Lanes side by side, in any order between them. */
function interleave(lanes: StreamEvent[][], order: Iterator<number>): StreamEvent[] {
  const open = lanes.map((events) => [...events]);
  const found: StreamEvent[] = [];
  for (;;) {
    const rest = open.filter((events) => events.length > 0);
    const next = rest[(order.next().value as number) % Math.max(1, rest.length)]?.shift();
    if (!next) return found;
    found.push(next);
  }
}

function generated({ root, children, order }: { root: Message[]; children: Message[][]; order: Iterator<number> }): StreamEvent[] {
  const started = entry("", "start", { type: "run.started", session: "s", request: "r", question: "?", mode: "react" });
  const lanes = children.map((messages, index) => {
    const path = `s${index + 1}.1`;
    return [
      entry("", `${path}.start`, { type: "child.started", child: path, description: path }),
      ...laneEvents(path, messages),
      entry("", `${path}.end`, { type: "child.ended", child: path, status: "finished", text: "", files: [], spent: { steps: 0, model_calls: 0, tool_calls: 0, usage } }),
    ];
  });
  const end = entry("", "end", { type: "run.ended", status: "finished", answer: "", files: [], spent: { steps: 0, model_calls: 0, tool_calls: 0, usage }, took_ms: 1 });
  return [started, ...interleave([laneEvents("", root), ...lanes], order), end];
}

const RUNS = 10_000;
/** Ten times as long as on two idle cores, in milliseconds. */
const PATIENCE = 180_000;

describe("generated runs", () => {
  it("lead to the same state, cut, doubled, late and without previews", () => {
    fc.assert(
      fc.property(runs, fc.nat(), fc.nat(), fc.infiniteStream(fc.nat(9)), (run, cutAt, backBy, choices) => {
        const all = generated(run);
        const whole = visible(fold(all));
        const cut = cutAt % (all.length + 1);
        const back = Math.max(0, cut - (backBy % 10));
        const resumed = foldEvents(foldEvents(emptyRun("run"), all.slice(0, cut)), all.slice(back));
        expect(visible(resumed)).toEqual(whole);
        const lossy = all.filter((event) => event.kind === "entry" || (choices.next().value as number) > 4);
        expect(visible(fold(lossy))).toEqual(whole);
        const doubled = all.flatMap((event) => ((choices.next().value as number) > 6 ? [event, event] : [event]));
        expect(visible(fold(doubled))).toEqual(whole);
        const late = all.filter((event) => event.kind !== "entry");
        expect(visible(fold([...all, ...late]))).toEqual(whole);
      }),
      { numRuns: RUNS },
    );
  }, PATIENCE);

  it("show each unfinished text as far as its pieces have come without a gap", () => {
    fc.assert(
      fc.property(text, fc.array(fc.nat(12)), fc.nat(), (whole, lengths, cutAt) => {
        const all = pieces("", "t1", 1, "text", whole, lengths);
        const cut = cutAt % (all.length + 1);
        const written = all.slice(0, cut).map((event) => (event.kind === "preview" ? event.preview.text : "")).join("");
        const draft = (events: StreamEvent[]) => fold(events).lanes.get("")?.drafts[0]?.text ?? "";
        expect(draft(all.slice(0, cut))).toBe(written);
        // A late viewer receives the text so far as one piece, and the rest.
        const soFar: StreamEvent = {
          kind: "preview",
          preview: { message: "t1", attempt: 1, kind: "text", offset: 0, text: written, at_ms: 1 },
        };
        expect(draft([soFar, ...all.slice(cut)])).toBe(whole);
        expect(draft([...all.slice(0, cut), soFar, ...all.slice(cut)])).toBe(whole);
        expect(draft([...all, ...all.slice(0, cut)])).toBe(whole);
      }),
      { numRuns: RUNS },
    );
  }, PATIENCE);
});

describe("pieces", () => {
  it("write at bytes, and drop what comes after a gap", () => {
    expect(writePiece("", 0, 0, "é€😀")).toEqual({ text: "é€😀", bytes: 9 });
    expect(writePiece("é", 2, 2, "x")).toEqual({ text: "éx", bytes: 3 });
    expect(writePiece("éx", 3, 2, "yz")).toEqual({ text: "éyz", bytes: 4 });
    expect(writePiece("éx", 3, 0, "é")).toBeNull();
    expect(writePiece("é", 2, 3, "x")).toBeNull();
  });
});
