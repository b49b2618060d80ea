// The open conversation over a server and a clock that the tests turn.

import { expect, test } from "vitest";
import type { Browser } from "../src/store/browser";
import { retryMessages, sendMessage } from "../src/store/messages";
import { OpenConversation } from "../src/store/open_conversation";
import { stop, stopOther } from "../src/store/run_actions";
import { loadDetail } from "../src/store/run_detail";
import type { Conversation } from "../src/store/types";
import { Routes } from "../src/wire/routes";
import { Server } from "../src/wire/server";

/** All promises that wait for nothing outside have continued. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 100; turn += 1) await Promise.resolve();
}

const turn = (run: string, status: string) => ({ run, request: null, status, started_at_ms: 1, question: run, answer: null, own: false });

const session = (turns: readonly object[], more: object = {}) => ({ session: "s", title: "Metals", turns, next: null, files: [], ...more });

const frame = (run: string, n: number, data: object) => `id: ${run}:${n}\ndata: ${JSON.stringify({ id: `e${n}`, at_ms: n, ...data })}\n`;
const started = (run: string): string => `event: run.started\n${frame(run, 0, { type: "run.started", session: "s", request: run, question: run, mode: "react" })}\n`;
const said = (run: string, n: number): string => `event: user_message.added\n${frame(run, n, { type: "user_message.added", text: `word ${n}` })}\n`;

class Story {
  #ids = 0;
  readonly #held = new Map<string, Promise<Response>[]>();
  isFailed = false;
  /** The responses by path. */
  readonly responses = new Map<string, () => Response>();
  readonly requests: string[] = [];
  timers: { at: number; action: () => void }[] = [];
  paints: (() => void)[] = [];
  time = 0;
  isHidden = false;
  /** The texts that went back into the box. */
  readonly returned: string[] = [];
  /** The states that were shown. */
  readonly shown: Conversation[] = [];
  readonly open: OpenConversation;
  readonly routes: Routes;
  readonly browser: Browser;
  /** The bodies of the requests, by path. */
  readonly bodies: [string, unknown][] = [];

  constructor(readonly device = new Map<string, string>()) {
    const browser = {
      now: () => this.time,
      random: () => 0.5,
      after: (ms: number, action: () => void) => {
        const timer = { at: this.time + ms, action };
        this.timers.push(timer);
        return () => void (this.timers = this.timers.filter((other) => other !== timer));
      },
      isHidden: () => this.isHidden,
      newId: () => `id${(this.#ids += 1)}`,
      beforePaint: (action: () => void) => void this.paints.push(action),
    } as unknown as Browser;
    this.browser = browser;
    const server = new Server(async (path, { body }) => {
      this.requests.push(path);
      if (typeof body === "string") this.bodies.push([path, JSON.parse(body)]);
      const route = path.split("?")[0] ?? "";
      const held = this.#held.get(route)?.shift();
      if (held) return held;
      const response = this.responses.get(route);
      if (!response) throw new Error(`no response for ${path}`);
      return response();
    });
    this.routes = new Routes(server);
    this.open = new OpenConversation("s", {
      browser,
      shelf: {
        read: (name) => device.get(name) ?? null,
        write: (name, value) => void (value === null ? device.delete(name) : device.set(name, value)),
        forget: () => undefined,
      },
      routes: this.routes,
      show: (loaded) => {
        this.isFailed = loaded.state === "failed";
        if (loaded.state === "ready") this.shown.push(loaded.value);
      },
      clock: () => this.time,
      onQuestion: () => undefined,
      returnText: (_, text) => void this.returned.push(text),
      onStatus: () => undefined,
    });
  }

  /** The next response to a path waits until its release, which is added to `releases`. */
  hold(path: string, response: Response, releases: (() => void)[]): void {
    const held = new Promise<Response>((resolve) => releases.push(() => resolve(response)));
    this.#held.set(path, [...(this.#held.get(path) ?? []), held]);
  }

  answer(path: string, body: object, status = 200): void {
    this.responses.set(path, () => new Response(JSON.stringify(body), { status }));
  }

  /** Returns the way to add to the newest response. */
  stream(run: string, text: string): () => ReadableStreamDefaultController {
    const headers = { "content-type": "text/event-stream" };
    let newest: ReadableStreamDefaultController | null = null;
    this.responses.set(`/runs/${run}/events`, () => {
      const start = (controller: ReadableStreamDefaultController) => {
        newest = controller;
        controller.enqueue(new TextEncoder().encode(text));
      };
      return new Response(new ReadableStream({ start }), { headers });
    });
    return () => {
      if (!newest) throw new Error("no response yet");
      return newest;
    };
  }

  async pass(ms: number): Promise<void> {
    this.time += ms;
    const due = this.timers.filter(({ at }) => at <= this.time);
    this.timers = this.timers.filter(({ at }) => at > this.time);
    for (const { action } of due) action();
    await settled();
  }

  paint(): void {
    for (const action of this.paints.splice(0)) action();
  }

  get state(): Conversation {
    const last = this.shown.at(-1);
    if (!last) throw new Error("nothing is shown");
    return last;
  }
}

/** A conversation whose run is at work, and a stream that the test continues. */
async function working(values?: Map<string, string>): Promise<{ story: Story; add: (text: string) => Promise<void> }> {
  const story = new Story(values);
  story.answer("/sessions/s", session([{ ...turn("run_1", "running"), own: true }]));
  const stream = story.stream("run_1", started("run_1"));
  await story.open.load();
  await settled();
  story.paint();
  const add = async (text: string): Promise<void> => {
    stream().enqueue(new TextEncoder().encode(text));
    await settled();
    story.paint();
  };
  return { story, add };
}

const gone = { code: "session_not_found", message: "", detail: "", retryable: false };
const GUEST = { write: true };

test("a guest's page says when the share has ended, keeps what it shows, and asks for nothing more", async () => {
  const story = new Story();
  story.answer("/sessions/s", session([turn("run_1", "finished")], GUEST));
  story.stream("run_1", started("run_1"));
  await story.open.load();
  await story.pass(60_000);
  expect(story.state.hasShareEnded).toBe(false);
  story.answer("/sessions/s", gone, 404);
  story.open.update(({ turns }) => ({ turns: turns.map((turn) => ({ ...turn, status: "finished" as const })) }));
  await story.pass(60_000);
  expect([story.state.hasShareEnded, story.state.canWrite, story.state.turns.length]).toEqual([true, false, 1]);
  const count = story.requests.length;
  await story.pass(600_000);
  story.open.onVisibility();
  await settled();
  expect(story.requests.length).toBe(count);
});

test("of two loads on their way only the newer one counts", async () => {
  for (const later of [200, 503]) {
    const story = new Story();
    const releases: (() => void)[] = [];
    for (const [title, status] of [["Old", later], ["New", 200]] as const) {
      const body = status === 200 ? session([], { title }) : { ...gone, code: "store_unavailable" };
      story.hold("/sessions/s", Response.json(body, { status }), releases);
    }
    const loads = [story.open.load(), story.open.load()];
    releases[1]?.();
    await settled();
    releases[0]?.();
    await Promise.all(loads);
    expect(story.state.title).toBe("New");
    expect(story.isFailed).toBe(false);
  }
});

test("a question that was accepted while the conversation was read stays, and its run is followed", async () => {
  const story = new Story();
  const releases: (() => void)[] = [];
  story.hold("/sessions/s", Response.json(session([turn("run_1", "finished")])), releases);
  const load = story.open.load();
  const headers = { "content-type": "text/event-stream", "djinn-run-id": "run_2" };
  const start = (controller: ReadableStreamDefaultController): void => controller.enqueue(new TextEncoder().encode(started("run_2")));
  story.responses.set("/runs", () => new Response(new ReadableStream({ start }), { headers }));
  story.open.ask({ question: "And tin?" }, []);
  await settled();
  releases[0]?.();
  await load;
  await settled();
  expect(story.state.turns.map(({ run }) => run)).toEqual(["run_1", "run_2"]);
  expect(story.requests).toEqual(["/sessions/s?limit=50", "/runs"]);
});

test("the end of a share during a run ends its stream, and the run is no longer shown as at work", async () => {
  const story = new Story();
  story.answer("/sessions/s", session([turn("run_1", "running")], GUEST));
  story.answer("/runs/run_1/events", { ...gone, code: "run_not_found" }, 404);
  await story.open.load();
  await settled();
  expect(story.state.turns.map(({ status }) => status)).toEqual(["unshared"]);
  expect([story.state.hasShareEnded, story.state.following.state]).toEqual([true, "idle"]);
});

test("a question of another user appears in a shared conversation, and its run is followed", async () => {
  const story = new Story();
  story.answer("/sessions/s", session([turn("run_1", "finished")], { shares: [{ handle: "h" }] }));
  story.stream("run_1", "");
  await story.open.load();
  story.answer("/sessions/s", session([turn("run_2", "running")]));
  story.stream("run_2", started("run_2"));
  story.isHidden = true;
  await story.pass(60_000);
  expect(story.state.turns.map(({ run }) => run)).toEqual(["run_1"]);
  story.isHidden = false;
  story.open.onVisibility();
  await settled();
  expect(story.state.turns.map(({ run }) => run)).toEqual(["run_1", "run_2"]);
  expect(story.requests).toContain("/runs/run_2/events");
});

test("a conversation of its owner alone is not asked for again", async () => {
  const story = new Story();
  story.answer("/sessions/s", session([turn("run_1", "finished")]));
  story.stream("run_1", "");
  await story.open.load();
  const count = story.requests.length;
  await story.pass(600_000);
  expect(story.requests.length).toBe(count);
});

test("events are shown at the next paint, and a backlog as a whole", async () => {
  const counts: number[] = [];
  for (const length of [10, 1_000]) {
    const story = new Story();
    story.answer("/sessions/s", session([turn("run_1", "running")]));
    const all = Array.from({ length }, (_, index) => said("run_1", index + 1));
    story.stream("run_1", started("run_1") + all.join(""));
    await story.open.load();
    await settled();
    const rows = (): number => story.state.turns[0]?.detail?.lanes.get("")?.rows.length ?? 0;
    story.paint();
    counts.push(rows());
    await story.pass(100);
    counts.push(rows());
  }
  expect(counts).toEqual([10, 10, 0, 1_000]);
});

test("the limits are read again when a user has extended the budget", async () => {
  const { story, add } = await working();
  const spending = { spent: 1, limit: 2 };
  story.answer("/runs/run_1", { budget: { tokens: spending } });
  const offer = { id: "b1", about: "budget_extension", risk: "low", digest: "d", offer: { tokens: 9, micro_usd: 0 }, used_up: { code: "x", detail: "" } };
  const asked = { type: "human.requested", group: "b1", reasoning: "", risk: "low", requests: [offer] };
  await add(`event: human.requested\n${frame("run_1", 2, asked)}\n`);
  const reads = () => story.requests.filter((path) => path === "/runs/run_1").length;
  expect(reads()).toBe(0);
  await add(`event: human.resolved\n${frame("run_1", 3, { type: "human.resolved", request: "b1", response: "confirm", digest: "d" })}\n`);
  await settled();
  expect([reads(), story.state.turns[0]?.budget]).toEqual([1, { tokens: spending }]);
  await add(said("run_1", 4));
  expect(reads()).toBe(1);
});

const END = `event: run.ended\n${frame("run_1", 9, { type: "run.ended", status: "finished", answer: "Done", files: [], took_ms: 1, spent: { usage: {} } })}\n`;

test("a message that did not reach the server is sent again, and is back in the box when the run has ended", async () => {
  const { story, add } = await working();
  await sendMessage(story.routes, story.open, "m1", "And gas prices?");
  expect(story.state.unreadMessages.map(({ error }) => error?.code)).toEqual(["offline"]);
  retryMessages(story.routes, story.open);
  await settled();
  expect(story.requests.filter((path) => path === "/runs/run_1/messages")).toHaveLength(2);
  await add(END);
  expect([story.returned, story.state.unreadMessages]).toEqual([["And gas prices?"], []]);
});

test("a message that reached the server after all is not returned, and one on its way at the end is", async () => {
  const { story, add } = await working();
  await sendMessage(story.routes, story.open, "m1", "word 1");
  await add(said("run_1", 1));
  expect(story.state.unreadMessages).toEqual([]);
  let fail: (error: Error) => void = () => undefined;
  story.responses.set("/runs/run_1/messages", () => new Promise<Response>((_, reject) => (fail = reject)) as never);
  const sent = sendMessage(story.routes, story.open, "m2", "Too late?");
  await settled();
  await add(END);
  expect([story.returned, story.state.unreadMessages.length]).toEqual([[], 1]);
  fail(new Error("no network"));
  await sent;
  expect([story.returned, story.state.unreadMessages]).toEqual([["Too late?"], []]);
});

test("a message that fails is in the box of its conversation after another was opened", async () => {
  const { story } = await working();
  await sendMessage(story.routes, story.open, "m1", "Later");
  story.open.close();
  expect(story.returned).toEqual(["Later"]);
});

/** A stream that the server sends as the response to a question. */
function accepts(story: Story, run: string): void {
  const headers = { "content-type": "text/event-stream", "djinn-run-id": run };
  const start = (controller: ReadableStreamDefaultController) => controller.enqueue(new TextEncoder().encode(started(run)));
  story.responses.set("/runs", () => new Response(new ReadableStream({ start }), { headers }));
}

const asked = (story: Story): unknown[] => story.bodies.flatMap(([path, body]) => (path === "/runs" ? [(body as { request_id: string }).request_id] : []));
const statuses = (story: Story): readonly string[] => story.state.turns.map(({ status }) => status);
const question = { question: "Which tea?", mode: "react" };

test("a question without a response is repeated with its id, and is one turn", async () => {
  const story = new Story();
  story.open.startNew();
  story.open.ask(question, []);
  await settled();
  expect([statuses(story), asked(story).length]).toEqual([["sending"], 1]);
  accepts(story, "run_1");
  await story.pass(15_000);
  expect(asked(story)).toEqual(["id1", "id1"]);
  expect([statuses(story), story.state.turns[0]?.run]).toEqual([["running"], "run_1"]);
  expect(story.device.size).toBe(0);
});

test.each([
  ["is sent again with its id", 4, ["running"], ["id1"]],
  ["is left to its user after five minutes", 6, ["unsent"], []],
])("after a reload, a question on its way %s", async (_name, minutes, status, ids) => {
  const before = new Story();
  before.open.startNew();
  before.open.ask(question, ["teas.csv"]);
  await settled();
  before.open.close();
  const story = new Story(before.device);
  story.time = minutes * 60_000;
  story.answer("/sessions/s", gone, 404);
  accepts(story, "run_1");
  await story.open.load();
  await settled();
  expect([statuses(story), asked(story)]).toEqual([status, ids]);
  expect(story.state.turns[0]).toMatchObject({ question: "Which tea?", attachments: ["teas.csv"] });
  if (status[0] !== "unsent") return;
  // "Send again" is the same question, and what is taken back is forgotten.
  story.open.resend("id1");
  await settled();
  expect([statuses(story), asked(story)]).toEqual([["running"], ["id1"]]);
});

test("an unsent question that is taken back is forgotten", async () => {
  const story = new Story();
  story.open.startNew();
  story.answer("/runs", { ...gone, code: "query_too_long" }, 400);
  story.open.ask(question, ["teas.csv"]);
  await settled();
  expect(statuses(story)).toEqual(["unsent"]);
  expect(story.open.takeBack("id1")).toEqual({ text: "Which tea?", attachments: ["teas.csv"] });
  expect([story.state.turns, story.device.size]).toEqual([[], 0]);
});

test("a stop on the way of a question stops its run as soon as the server has it", async () => {
  const story = new Story();
  story.open.startNew();
  story.open.ask(question, []);
  await settled();
  await stop(story.routes, story.open);
  expect([story.state.isStopping, story.requests.some((path) => path.endsWith("/stop"))]).toEqual([true, false]);
  accepts(story, "run_1");
  story.answer("/runs/run_1/stop", {});
  await story.pass(15_000);
  expect(story.requests.filter((path) => path === "/runs/run_1/stop")).toHaveLength(1);
  expect(story.state.isStopping).toBe(true);
});

test("details and older questions are read once, when they are asked for", async () => {
  const story = new Story();
  story.answer("/sessions/s", session([turn("run_2", "finished"), turn("run_1", "finished")], { next: "older" }));
  const stream = story.stream("run_2", started("run_2"));
  await story.open.load();
  await settled();
  story.paint();
  const ended = story.stream("run_1", started("run_1") + said("run_1", 1));
  const loading = loadDetail(story.routes, story.open, "run_1");
  await settled();
  expect(story.state.turns[0]?.isLoadingDetail).toBe(true);
  ended().close();
  await loading;
  expect(story.state.turns[0]?.detail?.lanes.get("")?.rows).toMatchObject([{ kind: "user_message", text: "word 1" }]);
  const count = story.requests.length;
  await loadDetail(story.routes, story.open, "run_1");
  expect(story.requests.length).toBe(count);
  story.answer("/sessions/s", session([turn("run_0", "finished")]));
  await story.open.loadOlderTurns();
  expect(story.requests.at(-1)).toBe("/sessions/s?limit=50&cursor=older");
  expect(story.state.turns.map(({ run }) => run)).toEqual(["run_0", "run_1", "run_2"]);
  expect(story.state.hasOlderTurns).toBe(false);
  stream().close();
});

test.each([
  ["is sent again if its run is still at work", "running", 2, []],
  ["is in the box if its run has ended", "finished", 1, ["And gas prices?"]],
])("a message that a reload interrupted %s", async (_, status, posts, returned) => {
  const values = new Map<string, string>();
  const { story: before } = await working(values);
  await sendMessage(before.routes, before.open, "m1", "And gas prices?");
  const after = new Story(values);
  after.answer("/sessions/s", session([{ ...turn("run_1", status), own: true }]));
  after.answer("/runs/run_1/messages", {});
  after.stream("run_1", started("run_1"));
  await after.open.load();
  await settled();
  const sent = [...before.requests, ...after.requests].filter((path) => path === "/runs/run_1/messages");
  expect([sent.length, after.returned]).toEqual([posts, returned]);
  // It is kept no longer than needed.
  expect([...values.keys()].filter((name) => name.startsWith("messages:"))).toEqual([]);
});

test("a question in a busy session is the user's to decide, and is asked again after the other run was stopped", async () => {
  const story = new Story();
  story.open.startNew();
  story.answer("/runs", { ...gone, code: "session_busy", retryable: true, run: "run_9" }, 409);
  story.open.ask(question, []);
  await settled();
  expect([statuses(story), story.state.turns[0]?.error?.run]).toEqual([["unsent"], "run_9"]);
  await story.pass(60_000);
  expect(asked(story)).toEqual(["id1"]);
  story.answer("/runs/run_9/stop", {});
  story.answer("/runs/run_9", { ended_at_ms: null });
  accepts(story, "run_1");
  // A second click does nothing more.
  for (let click = 0; click < 2; click += 1) void stopOther(story.routes, story.browser, story.open, "id1");
  await story.pass(500);
  await story.pass(500);
  expect([statuses(story), asked(story), story.state.isStopping]).toEqual([["unsent"], ["id1"], true]);
  story.answer("/runs/run_9", { ended_at_ms: 1 });
  await story.pass(500);
  expect(story.requests.filter((path) => path === "/runs/run_9/stop")).toHaveLength(1);
  expect([statuses(story), asked(story), story.state.isStopping]).toEqual([["running"], ["id1", "id1"], false]);
});

test("a question that is sent again during a stop of the other run is not stopped itself", async () => {
  const story = new Story();
  story.open.startNew();
  story.answer("/runs", { ...gone, code: "session_busy", retryable: true, run: "run_9" }, 409);
  story.open.ask(question, []);
  await settled();
  story.answer("/runs/run_9/stop", {});
  story.answer("/runs/run_9", { ended_at_ms: null });
  story.answer("/runs/run_1/stop", {});
  accepts(story, "run_1");
  void stopOther(story.routes, story.browser, story.open, "id1");
  await settled();
  story.open.resend("id1");
  await settled();
  await story.pass(500);
  expect([statuses(story), story.state.isStopping]).toEqual([["running"], false]);
  expect(story.requests.filter((path) => path.endsWith("/stop"))).toEqual(["/runs/run_9/stop"]);
});
