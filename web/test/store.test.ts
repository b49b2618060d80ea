// The whole store over a server and a browser that the tests turn.

import { expect, test } from "vitest";
import type { Browser, Shelf } from "../src/store/browser";
import { createStore } from "../src/store/store";

async function settled(): Promise<void> {
  for (let turn = 0; turn < 100; turn += 1) await Promise.resolve();
}

const shelfOf = (values: Map<string, string>, onWrite: (name: string, value: string) => void = () => undefined): Shelf => ({
  read: (name) => values.get(name) ?? null,
  write: (name, value) => {
    if (value === null) return void values.delete(name);
    values.set(name, value);
    onWrite(name, value);
  },
  forget: (prefix) => {
    for (const name of values.keys()) if (name.startsWith(prefix)) values.delete(name);
  },
});

/** A device with tabs of one user. */
class Device {
  readonly values = new Map<string, string>();
  readonly tabs: Tab[] = [];
  /** The conversations of the server. */
  sessions: string[] = ["first"];
  /** One of another user is in the list. */
  isShared = true;
  /** The conversations whose question is being answered. */
  running: readonly string[] = [];
  /** The running ones with an open request. */
  requesting: readonly string[] = [];
  /** The turns of each conversation, newest first. */
  turns: readonly object[] = [];
  /** The questions of the server, newest first, of which a page has one. */
  questions: readonly { readonly session: string; readonly title: string }[] = [];
  /** No request reaches the server. */
  isAway = false;
  /** The ids of the questions that reached the server. */
  readonly asked: string[] = [];
  signIn = "key";
  /** How the server's clock differs. */
  clockOffset = 0;
  /** The responses to these paths fail, or wait. */
  readonly failing = new Set<string>();
  readonly held = new Map<string, Promise<void>>();

  /** As after a reload, the tab knows its key, and mostly its user. */
  open(user: string, address = "/", isKnown = true): Tab {
    const tab = new Tab(this, user, address, isKnown);
    this.tabs.push(tab);
    return tab;
  }
}

class Tab {
  readonly requests: string[] = [];
  timers: { at: number; action: () => void }[] = [];
  time = 1_000_000;
  isHidden = false;
  onValue: (name: string, value: string) => void = () => undefined;
  onNetwork: () => void = () => undefined;
  readonly store;
  readonly #device: Device;
  /** The holder of this tab's key. */
  user: string;
  hasNetwork = true;

  constructor(device: Device, user: string, address: string, isKnown: boolean) {
    this.#device = device;
    this.user = user;
    let ids = 0;
    this.store = createStore(
      {
        fetch: async (path: string, { method, body, signal }: RequestInit) => {
          if (device.isAway) throw new Error("no network");
          const [route = ""] = path.split("?");
          await device.held.get(route);
          if (device.failing.has(route)) return Response.json({ code: "store_unavailable", message: "", detail: "", retryable: true }, { status: 503 });
          const response = method === "POST" ? this.#accept(path, String(body), signal) : this.#answer(path);
          response.headers.set("date", new Date(this.time + device.clockOffset).toUTCString());
          return response;
        },
        now: () => this.time,
        random: () => 0.5,
        newId: () => `${user}-${(ids += 1)}`,
        after: (ms: number, action: () => void) => {
          const timer = { at: this.time + ms, action };
          this.timers.push(timer);
          return () => void (this.timers = this.timers.filter((other) => other !== timer));
        },
        isHidden: () => this.isHidden,
        isOnline: () => this.hasNetwork,
        tab: shelfOf(new Map(user === "" ? [] : [["key", `djinn_${user}`], ...(isKnown ? [["user", user] as const] : [])])),
        device: shelfOf(device.values, (name, value) => {
          for (const other of device.tabs) if (other !== this) other.onValue(name, value);
        }),
        address: () => address,
        setAddress: (next: string) => void (address = next),
        onAddress: () => undefined,
        onDeviceValue: (listener: (name: string, value: string) => void) => void (this.onValue = listener),
        onVisibility: () => undefined,
        onNetwork: (listener: () => void) => void (this.onNetwork = listener),
        beforePaint: () => undefined,
      } as unknown as Browser,
      "",
    );
  }

  #accept(path: string, body: string, signal: AbortSignal | null | undefined): Response {
    this.requests.push(path);
    const { request_id, session_id, question } = JSON.parse(body) as Record<"request_id" | "session_id" | "question", string>;
    if (question === "Too long") return Response.json({ code: "query_too_long", message: "", detail: "", retryable: false }, { status: 400 });
    if (!this.#device.asked.includes(request_id)) this.#device.asked.push(request_id);
    if (!this.#device.sessions.includes(session_id)) this.#device.sessions = [session_id, ...this.#device.sessions];
    const start = (controller: ReadableStreamDefaultController): void => {
      controller.enqueue(new TextEncoder().encode(": accepted\n\n"));
      signal?.addEventListener("abort", () => controller.error(new Error("aborted")));
    };
    return new Response(new ReadableStream({ start }), {
      headers: { "content-type": "text/event-stream", "djinn-run-id": `run-of-${request_id}` },
    });
  }

  /** A page of the reader's questions. */
  #questions(cursor: string | null): Response {
    const { questions } = this.#device;
    const at = Number(cursor ?? 0);
    return Response.json({ runs: questions.slice(at, at + 1), next: at + 1 < questions.length ? String(at + 1) : null });
  }

  #answer(path: string): Response {
    this.requests.push(path.split("?")[0] ?? "");
    if (path === "/web/config") return Response.json({ sign_in: this.#device.signIn, language: "en", version: "", max_body_bytes: 1 });
    if (path.startsWith("/modes")) return Response.json({ modes: [] });
    if (path.startsWith("/runs?limit")) return this.#questions(new URLSearchParams(path.split("?")[1]).get("cursor"));
    const running = path.includes("status=running") ? this.#device.running : [];
    if (path.startsWith("/runs")) return Response.json({ runs: running.map((session) => ({ session, has_open_requests: this.#device.requesting.includes(session) })) });
    if (path.startsWith("/sessions/")) return Response.json({ session: "first", title: "first", turns: this.#device.turns, next: null, files: [] });
    const session = (name: string, index: number) => ({
      session: name,
      title: name,
      newest_question: `about ${name}?`,
      started_at_ms: 1,
      last_active_at_ms: index,
    });
    const shared = this.#device.isShared ? [{ ...session("shr_1", 0), title: "Metals", owner: "carl", write: true }] : [];
    return Response.json({ user: this.user, sessions: this.#device.sessions.map(session), shared, next: null });
  }

  async pass(ms: number): Promise<void> {
    this.time += ms;
    const due = this.timers.filter(({ at }) => at <= this.time);
    this.timers = this.timers.filter(({ at }) => at > this.time);
    for (const { action } of due) action();
    await settled();
  }

  get #own() {
    return this.store.getState().conversations.items.filter(({ owner }) => owner === null);
  }

  get marks(): readonly (string | null)[] {
    return this.#own.map(({ title, mark }) => `${title} ${mark ?? ""}`.trim());
  }

  get turns(): readonly string[] {
    const { conversation } = this.store.getState();
    return conversation?.state === "ready" ? conversation.value.turns.map(({ question, status }) => `${question ?? ""} ${status}`) : [];
  }

  /** Writes into the box and presses Enter. */
  async ask(text: string): Promise<void> {
    this.store.actions.setDraft({ text });
    this.store.actions.send();
    await settled();
  }

  get draft(): string {
    return this.store.getState().draft.text;
  }

  get titles(): readonly string[] {
    return this.#own.map(({ title }) => title);
  }
}

test("a sign-out takes what the user wrote with it, in all tabs of the user, and leaves other users alone", async () => {
  const device = new Device();
  const [first, second, other] = [device.open("anna"), device.open("anna"), device.open("bob")];
  await settled();
  second.store.actions.setDraft({ text: "Anna's secret" });
  other.store.actions.setDraft({ text: "Bob's words" });
  first.store.actions.signOut();
  for (const { store } of [first, second]) {
    const { signIn, draft, conversations } = store.getState();
    expect([signIn.state, draft.text, conversations.items, conversations.user]).toEqual(["needs_key", "", [], ""]);
  }
  expect([...device.values.values()].join()).not.toContain("Anna");
  expect([other.store.getState().signIn.state, other.store.getState().draft.text]).toEqual(["signed_in", "Bob's words"]);
});

test("a list that stays open hears of other conversations every 30 seconds while it is shown", async () => {
  const device = new Device();
  device.isShared = false;
  const tab = device.open("anna");
  await settled();
  expect(tab.titles).toEqual(["first"]);
  device.sessions = ["from the phone", "first"];
  tab.isHidden = true;
  const count = tab.requests.length;
  await tab.pass(30_000);
  expect([tab.titles, tab.requests.length]).toEqual([["first"], count]);
  tab.isHidden = false;
  await tab.pass(30_000);
  expect(tab.titles).toEqual(["from the phone", "first"]);
  expect(tab.requests.slice(count)).toEqual(["/sessions", "/runs", "/runs"]);
});

test("a list with shared conversations is read every five minutes, or when an unknown conversation is at work", async () => {
  const device = new Device();
  const tab = device.open("anna");
  await settled();
  const reads = (): number => tab.requests.filter((path) => path === "/sessions").length;
  for (let look = 1; look < 10; look += 1) await tab.pass(30_000);
  expect([reads(), tab.requests.filter((path) => path === "/runs").length]).toEqual([1, 20]);
  await tab.pass(30_000);
  expect(reads()).toBe(2);
  device.running = ["first"];
  await tab.pass(30_000);
  expect([reads(), tab.marks]).toEqual([2, ["first running"]]);
  device.sessions = ["from the phone", "first"];
  device.running = ["from the phone"];
  await tab.pass(30_000);
  expect([reads(), tab.marks]).toEqual([3, ["from the phone running", "first"]]);
  device.requesting = ["from the phone"];
  await tab.pass(30_000);
  expect([reads(), tab.marks]).toEqual([3, ["from the phone waiting", "first"]]);
  // One that the list does not get, such as a guest's, is looked for once.
  device.running = ["unlisted"];
  for (let look = 0; look < 5; look += 1) await tab.pass(30_000);
  expect(reads()).toBe(4);
  device.running = ["unlisted", "another"];
  await tab.pass(30_000);
  expect(reads()).toBe(5);
});

test("a question that was asked offline is in the list after its conversation was left, and is sent with the network", async () => {
  const device = new Device();
  const tab = device.open("anna");
  await settled();
  device.isAway = true;
  await tab.ask("Which tea?");
  expect([tab.turns, tab.draft]).toEqual([["Which tea? sending"], ""]);
  // While one question is on its way, the next one waits in the box.
  await tab.ask("And coffee?");
  expect([tab.turns, tab.draft]).toEqual([["Which tea? sending"], "And coffee?"]);
  tab.store.actions.open(null);
  await settled();
  expect([tab.marks, device.asked]).toEqual([["Which tea? unsent", "first"], []]);
  // The list of the server does not have it yet.
  await tab.pass(30_000);
  expect(tab.marks).toEqual(["Which tea? unsent", "first"]);
  device.isAway = false;
  tab.onNetwork();
  await settled();
  expect(device.asked).toHaveLength(1);
  expect(tab.marks).toEqual([device.sessions[0], "first"]);
  expect([...device.values.keys()].filter((name) => name.startsWith("pending"))).toEqual([]);
});

test("a question on its way is sent by the next page, and one that nobody took for five minutes by its user alone", async () => {
  const device = new Device();
  const tab = device.open("anna");
  await settled();
  device.isAway = true;
  await tab.ask("Which tea?");
  device.isAway = false;
  const next = device.open("anna");
  await settled();
  expect(device.asked).toHaveLength(1);
  device.isAway = true;
  next.store.actions.open(null);
  await next.ask("And coffee?");
  const late = device.open("anna");
  late.time += 6 * 60_000;
  device.isAway = false;
  late.onNetwork();
  await settled();
  expect([device.asked.length, late.store.getState().conversations.items[0]?.mark]).toEqual([1, "unsent"]);
});

test("a question that was rejected is back in the box when the next one is asked", async () => {
  const tab = new Device().open("anna");
  await settled();
  await tab.ask("Too long");
  expect(tab.turns).toEqual(["Too long unsent"]);
  await tab.ask("Which tea?");
  expect([tab.turns, tab.draft]).toEqual([["Which tea? running"], "Too long"]);
});

test.each([
  ["an hour behind", 3_600_000, 3_600_000],
  ["right but for the time of a request", 900, 0],
])("a device whose clock is %s counts by the server's clock", async (_name, clockOffset, expected) => {
  const device = new Device();
  device.clockOffset = clockOffset;
  const tab = device.open("anna");
  await settled();
  expect(Math.abs(tab.store.getState().clockOffsetMs - expected)).toBeLessThan(1_000);
});

test("a conversation that answers late is read once", async () => {
  const device = new Device();
  device.sessions = ["gold"];
  let answer = (): void => undefined;
  device.held.set("/sessions/gold", new Promise((resolve) => (answer = resolve)));
  const tab = device.open("anna", "/s/gold");
  await settled();
  expect([tab.store.getState().signIn.state, tab.store.getState().conversation?.state]).toEqual(["signed_in", "loading"]);
  answer();
  await settled();
  expect(tab.store.getState().conversation?.state).toBe("ready");
  expect(tab.requests.filter((path) => path === "/sessions/gold").length).toBe(1);
});

test("a key is kept on the device only if its user says so, and a page behind `iam` explains that it cannot sign in", async () => {
  const device = new Device();
  const tab = device.open("anna");
  await settled();
  tab.store.actions.signInWithKey("djinn_tab", false);
  await settled();
  expect([...device.values.values()].join()).not.toContain("djinn_tab");
  tab.store.actions.signInWithKey("djinn_device", true);
  await settled();
  expect(device.values.get("key")).toBe("djinn_device");
  tab.store.actions.signOut();
  expect(device.values.has("key")).toBe(false);
  device.signIn = "iam";
  const other = device.open("");
  await settled();
  expect(other.store.getState().signIn).toEqual({ state: "unsupported", kind: "iam" });
});

test("the list has what others share, and a search finds titles and the beginnings of questions", async () => {
  const device = new Device();
  device.sessions = ["gold", "tin"];
  device.questions = [
    { session: "tin", title: "And lead?" },
    { session: "gold", title: "How heavy is it?" },
    { session: "deleted", title: "How heavy is lead?" },
  ];
  const { store } = device.open("anna");
  await settled();
  const found = (): readonly string[] => store.getState().conversations.items.map(({ session }) => session);
  expect(found()).toEqual(["gold", "tin", "shr_1"]);
  expect(store.getState().conversations.items.at(-1)).toMatchObject({ title: "Metals", owner: "carl" });
  for (const [words, sessions, question] of [
    ["about tin", ["tin"], "about tin?"],
    ["METALS", ["shr_1"], null],
    ["zinc", [], undefined],
    ["heavy", ["gold"], "How heavy is it?"],
    ["lead", ["tin"], "And lead?"],
  ] as const) {
    store.actions.search(words);
    await settled();
    expect(found()).toEqual(sessions);
    expect(store.getState().conversations.items[0]?.foundText).toBe(question);
  }
});

test("a search finds the answers that were loaded, and shows the part around the text", async () => {
  const device = new Device();
  const answer = `${"Zinc melts early. ".repeat(5)}\n\nGold is heavier than lead. ${"Tin is cheap. ".repeat(5)}`;
  device.turns = [{ run: "run_1", request: "r1", status: "finished", started_at_ms: 1, question: null, answer, own: true }];
  const { store } = device.open("anna");
  await settled();
  store.actions.search("heavier");
  await settled();
  expect(store.getState().conversations.items).toEqual([]);
  store.actions.open("first");
  await settled();
  store.actions.search("HEAVIER than");
  await settled();
  const items = store.getState().conversations.items.map(({ session, foundText }) => [session, foundText]);
  expect(items).toEqual([["first", "… melts early. Zinc melts early. Gold is heavier than lead. Tin is cheap. Tin is cheap. Tin i…"]]);
});

test("a search says while it reads questions, ends with an empty box, and is repeated after an error", async () => {
  const device = new Device();
  device.questions = [{ session: "first", title: "How heavy is gold?" }];
  const tab = device.open("anna");
  await settled();
  const { store } = tab;
  const state = () => store.getState().conversations;
  const reads = (): number => tab.requests.filter((path) => path === "/runs").length;
  let release: () => void = () => undefined;
  device.held.set("/runs", new Promise((resolve) => void (release = resolve)));
  store.actions.search("h");
  store.actions.search("");
  store.actions.search("heavy");
  await settled();
  expect([state().isSearching, state().items]).toEqual([true, []]);
  release();
  await settled();
  expect([state().isSearching, state().items.length]).toEqual([false, 1]);
  store.actions.search("");
  device.failing.add("/runs");
  device.questions = [{ session: "first", title: "How old is gold?" }];
  store.actions.search("o");
  await settled();
  expect([state().isSearching, state().error?.code]).toEqual([false, "store_unavailable"]);
  device.failing.clear();
  store.actions.search("old");
  await settled();
  expect([state().error, state().items[0]?.foundText]).toEqual([null, "How old is gold?"]);
  // No letter reads the questions again after they were read.
  const before = reads();
  store.actions.search("old i");
  await settled();
  expect(reads()).toBe(before);
});

test("drafts of one device are kept apart by user, also without a sign-out", async () => {
  const tab = new Device().open("anna");
  await settled();
  tab.store.actions.open("first");
  tab.store.actions.setDraft({ text: "Anna's secret" });
  const signIn = async (user: string): Promise<string> => {
    tab.user = user;
    tab.store.actions.signInWithKey(`djinn_${user}`, false);
    await settled();
    return tab.store.getState().draft.text;
  };
  expect(await signIn("bob")).toBe("");
  tab.store.actions.setDraft({ text: "Bob's words" });
  expect(await signIn("anna")).toBe("Anna's secret");
  expect(await signIn("bob")).toBe("Bob's words");
});

test("the page is offline if the browser has no network and the server does not answer", async () => {
  const device = new Device();
  const tab = device.open("anna");
  await settled();
  const isOnline = async (hasNetwork: boolean, answers: boolean): Promise<boolean> => {
    tab.hasNetwork = hasNetwork;
    device.isAway = !answers;
    tab.onNetwork();
    await settled();
    return tab.store.getState().isOnline;
  };
  expect(await isOnline(false, true)).toBe(true);
  expect(await isOnline(false, false)).toBe(false);
  await tab.pass(30_000);
  expect(tab.store.getState().isOnline).toBe(false);
  device.isAway = false;
  await tab.pass(30_000);
  expect(tab.store.getState().isOnline).toBe(true);
  expect(await isOnline(true, true)).toBe(true);
});

test.each(["before the list", "after the list"])("a question on its way is sent if its conversation is read %s, which names the user", async (order) => {
  const device = new Device();
  const tab = device.open("anna", "/s/first");
  await settled();
  device.isAway = true;
  await tab.ask("Which tea?");
  device.isAway = false;
  let open: () => void = () => undefined;
  device.held.set(order === "before the list" ? "/sessions" : "/sessions/first", new Promise((resolve) => (open = resolve)));
  const next = device.open("anna", "/s/first", false);
  await settled();
  device.held.clear();
  open();
  await settled();
  expect([next.turns, device.asked.length]).toEqual([["Which tea? running"], 1]);
  expect([...device.values.keys()].filter((name) => name.includes("pending"))).toEqual([]);
});

test("what was written before the user is known joins the user's draft, and no copy stays", async () => {
  const device = new Device();
  const tab = device.open("anna", "/s/first");
  await settled();
  tab.store.actions.setDraft({ text: "Stored", mode: "plan_solve" });
  const next = device.open("anna", "/s/first", false);
  next.store.actions.setDraft({ text: "Typed" });
  await settled();
  expect(next.draft).toBe("Stored\n\nTyped");
  expect(next.store.getState().draft.mode).toBe("plan_solve");
  expect([...device.values.keys()].filter((name) => name.includes("draft:"))).toEqual(["of/anna/draft:first"]);
});

test("a mode that was chosen before the user is known stays, for the next questions too", async () => {
  const device = new Device();
  let open: () => void = () => undefined;
  device.held.set("/sessions", new Promise((resolve) => (open = resolve)));
  const tab = device.open("anna", "/", false);
  await settled();
  const human = { risks: true, plan: false, results: false, clarify: false };
  tab.store.actions.setDraft({ mode: "data_query", human });
  open();
  await settled();
  expect(tab.store.getState().draft).toMatchObject({ mode: "data_query", human });
  await tab.ask("Which tea?");
  tab.store.actions.open(null);
  expect(tab.store.getState().draft).toMatchObject({ mode: "data_query", human, text: "" });
  expect([...device.values.keys()].filter((name) => name.includes("choices"))).toEqual(["of/anna/choices"]);
});

test("a question that was asked before the user is known is the user's", async () => {
  const device = new Device();
  let open: () => void = () => undefined;
  device.held.set("/sessions", new Promise((resolve) => (open = resolve)));
  const tab = device.open("anna", "/", false);
  await settled();
  device.isAway = true;
  await tab.ask("Which tea?");
  open();
  await settled();
  expect(tab.turns).toEqual(["Which tea? sending"]);
  expect([...device.values.keys()].filter((name) => name.includes("pending:"))).toEqual(["of/anna/pending:anna-1"]);
  device.isAway = false;
  tab.onNetwork();
  await tab.pass(60_000);
  expect(tab.turns).toEqual(["Which tea? running"]);
  expect([...device.values.keys()].filter((name) => name.includes("pending"))).toEqual([]);
});

test.each(["/modes", "/sessions"])("drafts belong to their user, also after %s failed once", async (path) => {
  const device = new Device();
  device.failing.add(path);
  let open: () => void = () => undefined;
  if (path !== "/sessions") device.held.set("/sessions", new Promise((resolve) => (open = resolve)));
  const tab = device.open("anna", "/s/first", false);
  await settled();
  open();
  await settled();
  device.failing.clear();
  tab.store.actions.retry();
  await settled();
  tab.store.actions.setDraft({ text: "Which tea?" });
  expect([...device.values.keys()].filter((name) => name.includes("draft:"))).toEqual(["of/anna/draft:first"]);
});

test("an unsent question outlasts a deletion that failed", async () => {
  const device = new Device();
  const tab = device.open("anna");
  await settled();
  device.isAway = true;
  await tab.ask("Which tea?");
  const session = tab.store.getState().route.session ?? "";
  tab.store.actions.open(null);
  tab.store.actions.remove(session);
  await settled();
  expect(tab.marks).toEqual(["Which tea? unsent", "first"]);
  device.isAway = false;
  tab.onNetwork();
  await settled();
  expect(device.asked).toHaveLength(1);
});
