// The open conversation: its questions and answers, and the newest run, followed in full.

import type { Frame } from "../wire/sse";
import type { RunRequest } from "../wire/contract";
import { errorOf, offlineError } from "../wire/error";
import { Follower } from "../wire/follow";
import type { Routes } from "../wire/routes";
import type { Browser, Shelf } from "./browser";
import { emptyRun } from "./empty_run";
import { foldEvents, isWaitingForUsers } from "./fold";
import { KeptMessages } from "./kept_messages";
import { forgetReadMessages, resumeMessages, retryMessages, returnUnsent } from "./messages";
import { isFresh, Pending, type PendingQuestion, type TakenBack } from "./pending";
import { addFacts, readFacts } from "./request_facts";
import { isExtended } from "./run_actions";
import { endsShare, SharedLook } from "./shared_look";
import { conversationParts, EMPTY_TURN, emptyConversation, mergeFiles, turnOf } from "./turns";
import type { Conversation, Following, Loadable, PageState, Run, Turn } from "./types";

const TURN_PAGE = 50;
/** More events than this between two paints are from before: a picture of each of their batches helps nobody. */
const BACKLOG = 200;
/** The time between two pictures of a backlog, in milliseconds. */
const BACKLOG_PAUSE = 100;

/** The state and the events of the page that the conversation needs. */
export interface ConversationHost {
  readonly browser: Browser;
  /** The values of the user on this device. */
  readonly shelf: Shelf;
  readonly routes: Routes;
  show(conversation: Loadable<Conversation>): void;
  clock(): number;
  onQuestion(session: string, question: string): void;
  /** Puts a text that was not sent back into the conversation's box. */
  returnText(session: string, text: string): void;
  onStatus(session: string, status: PageState["conversations"]["items"][number]["mark"]): void;
}

/** One conversation, from its opening until another is opened. */
export class OpenConversation {
  readonly session: string;
  readonly kept: KeptMessages;
  readonly #host: ConversationHost;
  readonly #pending: Pending;
  #conversation: Conversation;
  #cursor: string | null = null;
  #follower: Follower | null = null;
  #followedKey: string | null = null;
  #run: Run | null = null;
  #queue: Frame[] = [];
  #isFlushPlanned = false;
  isClosed = false;
  #isLoaded = false;
  /** The number of loads so far; only the newest counts. */
  #loads = 0;
  readonly #look: SharedLook;
  readonly #knownRequests = new Set<string>();

  constructor(session: string, host: ConversationHost) {
    this.session = session;
    this.#host = host;
    this.#pending = new Pending(host.shelf);
    this.kept = new KeptMessages(host.shelf, session);
    this.#conversation = emptyConversation(session);
    this.#look = new SharedLook(this, host.routes, host.browser);
    this.#look.plan();
  }

  get conversation(): Conversation {
    return this.#conversation;
  }

  /** The newest run, if it is at work. */
  get activeRun(): string | null {
    const turn = this.#conversation.turns.at(-1);
    if (!turn || turn.run === null) return null;
    return ["queued", "running", "paused"].includes(turn.status) ? turn.run : null;
  }

  close(): void {
    returnUnsent(this);
    this.isClosed = true;
    this.#look.stop();
    this.#follower?.close();
  }

  onVisibility(): void {
    this.#follower?.onVisibility();
    if (this.#isLoaded && !this.#host.browser.isHidden()) void this.#look.look();
  }

  wake(): void {
    if (!this.#isLoaded) return void this.load();
    this.#follower?.wake();
  }

  returnText(text: string): void {
    this.#host.returnText(this.session, text);
  }

  /** Tries everything again that failed: for example with a new key. */
  retry(): void {
    if (!this.#isLoaded) return void this.load();
    const newest = this.#conversation.turns.at(-1);
    if (newest?.status === "unsent" && newest.error?.status === 401) this.resend(newest.key);
    else this.#follower?.retry();
  }

  /** Opens a conversation without questions. */
  startNew(): void {
    this.#isLoaded = true;
    this.#set({});
  }

  /** Reads the conversation, and follows its newest run. */
  async load(): Promise<void> {
    const load = ++this.#loads;
    this.#host.show({ state: "loading" });
    try {
      const body = await this.#host.routes.session(this.session, null, TURN_PAGE);
      if (this.isClosed || load !== this.#loads) return;
      // Only now: a question may have been asked meanwhile, and even be at work.
      const pending = this.#pending.load(this.session);
      const isNew = ({ key, run }: Turn) => run !== null && !body.turns.some((turn) => turn.request === key);
      const asked = this.#conversation.turns.filter(isNew);
      this.#isLoaded = true;
      this.#cursor = body.next ?? null;
      const parts = conversationParts(body);
      this.#set({ ...parts, turns: [...parts.turns, ...asked] });
      if (pending && !body.turns.some((turn) => turn.request === pending.requestId)) this.#resume(pending);
      else {
        this.#pending.save(this.session, null);
        if (asked.length === 0) this.#followNewest();
        resumeMessages(this.#host.routes, this);
      }
    } catch (error) {
      if (this.isClosed || load !== this.#loads) return;
      const info = errorOf(error);
      const pending = this.#pending.load(this.session);
      if (pending && info.code === "session_not_found") {
        this.#isLoaded = true;
        this.#set({});
        return this.#resume(pending);
      }
      this.#host.show({ state: "failed", error: info });
    }
  }

  /** Shows a question of another user, and follows its run. */
  addNewest(turn: Turn): void {
    this.#set({ turns: [...this.#conversation.turns, turn] });
    this.#followNewest();
  }

  /** Keeps what is shown, and asks for nothing more. */
  endShare(): void {
    this.#look.stop();
    this.#follower?.close();
    this.#follower = null;
    const active = this.activeRun;
    const turns = this.#conversation.turns.map((turn) =>
      active !== null && turn.run === active ? { ...turn, status: "unshared" as const } : turn,
    );
    this.#set({ turns, hasShareEnded: true, canWrite: false, following: { state: "idle" } });
  }

  async loadOlderTurns(): Promise<void> {
    if (this.#cursor === null || this.#conversation.isLoadingOlder) return;
    this.#set({ isLoadingOlder: true });
    try {
      const body = await this.#host.routes.session(this.session, this.#cursor, TURN_PAGE);
      this.#cursor = body.next ?? null;
      const older = body.turns.map(turnOf).reverse();
      this.#set({
        turns: [...older, ...this.#conversation.turns],
        hasOlderTurns: this.#cursor !== null,
        isLoadingOlder: false,
      });
    } catch (error) {
      this.#set({ isLoadingOlder: false });
      throw error;
    }
  }

  /** Asks a question. It is repeated with the same id until the server has accepted or rejected it. */
  ask(body: RunRequest, attachments: readonly string[]): void {
    const requestId = this.#host.browser.newId();
    const question: PendingQuestion = {
      requestId,
      body: { ...body, session_id: this.session, request_id: requestId },
      attachments,
      atMs: this.#host.browser.now(),
    };
    this.#pending.save(this.session, question);
    this.#send(question);
  }

  /** Asks an unsent question again. */
  resend(key: string): void {
    const question = this.#pending.load(this.session);
    if (question?.requestId !== key) return;
    const fresh = { ...question, atMs: this.#host.browser.now() };
    this.#pending.save(this.session, fresh);
    // A stop of the run that the question waited for is no stop of the question's own run.
    this.#set({ turns: this.#conversation.turns.filter((turn) => turn.key !== key), isStopping: false });
    this.#send(fresh);
  }

  /** Removes an unsent question. Returns its text and files. */
  takeBack(key: string): TakenBack | null {
    const turn = this.#conversation.turns.find((turn) => turn.key === key && turn.run === null);
    if (!turn) return null;
    this.#follower?.close();
    this.#follower = null;
    this.#pending.save(this.session, null);
    const turns = this.#conversation.turns.filter((turn) => turn.key !== key);
    this.#set({ turns, following: { state: "idle" }, isStopping: false });
    return { text: turn.question ?? "", attachments: turn.attachments };
  }

  /** Changes parts of the conversation and shows them. */
  update(change: Partial<Conversation> | ((conversation: Conversation) => Partial<Conversation>)): void {
    this.#set(typeof change === "function" ? change(this.#conversation) : change);
  }

  setTurn(run: string, change: Partial<Turn>): void {
    const turn = this.#conversation.turns.find((turn) => turn.run === run);
    if (turn) this.#setTurn(turn.key, change);
  }

  /** Follows the newest run again, for example after `continue`. */
  followNewest(): void {
    this.#follower?.close();
    this.#follower = null;
    this.#followNewest();
  }

  #resume(question: PendingQuestion): void {
    if (isFresh(question, this.#host.browser.now())) return this.#send(question);
    this.#addTurn(question, { status: "unsent", error: offlineError("") });
  }

  #send(question: PendingQuestion): void {
    this.#addTurn(question, { status: "sending" });
    this.#host.onQuestion(this.session, question.body.question ?? "");
    this.#follow(question.requestId, null, question.body);
  }

  #addTurn(question: PendingQuestion, change: Partial<Turn>): void {
    const turn: Turn = {
      ...EMPTY_TURN,
      key: question.requestId,
      question: question.body.question ?? "",
      startedAtMs: this.#host.clock(),
      attachments: question.attachments,
      ...change,
    };
    this.#set({ turns: [...this.#conversation.turns, turn] });
  }

  #followNewest(): void {
    const newest = this.#conversation.turns.at(-1);
    if (!newest || newest.run === null || newest.question === null) return;
    this.#follow(newest.key, newest.run, null);
  }

  #follow(key: string, run: string | null, body: RunRequest | null): void {
    this.#follower?.close();
    this.#followedKey = key;
    this.#run = run === null ? null : emptyRun(run);
    this.#queue = [];
    let id = run;
    const open = (cursor: string | null, signal: AbortSignal) =>
      id === null && body ? this.#host.routes.ask(body, cursor, signal) : this.#host.routes.follow(id ?? "", cursor, signal);
    const follower = new Follower(
      open,
      {
        onOpen: (response) => {
          const header = response.headers.get("djinn-run-id");
          if (id !== null || header === null) return;
          id = header;
          this.#accepted(key, header);
        },
        onFrames: (frames) => {
          this.#queue.push(...frames);
          if (frames.some(({ event }) => event.kind === "entry" && event.entry.type === "run.ended")) return this.#flush();
          if (this.#isFlushPlanned) return;
          this.#isFlushPlanned = true;
          const flush = (): void => this.#flush();
          if (this.#queue.length > BACKLOG) this.#host.browser.after(BACKLOG_PAUSE, flush);
          else this.#host.browser.beforePaint(flush);
        },
        onState: (state) => {
          if (this.#follower === follower) this.#onFollowing(key, id, state);
        },
        isPaused: () => {
          this.#flush();
          return this.#run !== null && isWaitingForUsers(this.#run);
        },
        hasEnded: () => {
          this.#flush();
          return this.#run?.end != null;
        },
      },
      this.#host.browser,
    );
    this.#follower = follower;
    follower.start();
  }

  #accepted(key: string, run: string): void {
    this.#pending.save(this.session, null);
    this.#run = emptyRun(run);
    this.#setTurn(key, { run, status: "running" });
    this.#host.onStatus(this.session, "running");
    // Stopped on its way.
    if (this.#conversation.isStopping) this.#host.routes.stop(run).catch(() => this.#set({ isStopping: false }));
    const turn = this.#conversation.turns.find((turn) => turn.key === key);
    if (turn && turn.attachments.length > 0) this.#readFiles().catch(() => undefined);
  }

  #onFollowing(key: string, run: string | null, following: Following): void {
    const error = following.state === "failed" ? following.error : null;
    if (error && run === null) {
      this.#setTurn(key, { status: "unsent", error });
      this.#set({ following: { state: "idle" }, isStopping: false });
    }
    if (error && !this.#conversation.isOwner && endsShare(error)) return this.endShare();
    if (error && run === null) return;
    this.#set({ following });
    if (following.state === "live") retryMessages(this.#host.routes, this);
  }

  #flush(): void {
    this.#isFlushPlanned = false;
    if (this.#queue.length === 0 || !this.#run || this.isClosed) return;
    const before = this.#run;
    const run = foldEvents(before, this.#queue.map((frame) => frame.event));
    this.#queue = [];
    this.#run = run;
    const key = this.#followedKey ?? "";
    const isPaused = isWaitingForUsers(run);
    const status = run.end ? run.end.status : isPaused ? "paused" : "running";
    const { end } = run;
    this.#setTurn(key, { detail: run, status, ...(end ? { answer: end.answer, citations: end.citations } : {}) });
    if (run.files !== before.files) this.#set({ files: mergeFiles(this.#conversation.files, [...run.files.values()]) });
    forgetReadMessages(this, run);
    const isOwn = this.#conversation.turns.find((turn) => turn.key === key)?.isOwn ?? true;
    this.#host.onStatus(this.session, run.end ? null : isPaused && isOwn ? "waiting" : "running");
    if (run.end) this.#set({ isStopping: false, sendingResponses: new Map() });
    if ((run.end && !before.end) || isExtended(before, run)) this.readBudget().catch(() => undefined);
    if (isOwn && run.requests !== before.requests) this.#readFacts(run).catch(() => undefined);
  }

  /** Reads the files of the session: no event repeats those that came with a question. */
  async #readFiles(): Promise<void> {
    const body = await this.#host.routes.session(this.session, null, 1);
    const known = new Set(body.files.map((file) => file.name));
    const files = body.files.filter((file) => !file.internal);
    this.#set({ files: [...this.#conversation.files.filter((file) => !known.has(file.name)), ...files] });
  }

  /** Reads the limits and the spending of the newest run. */
  async readBudget(): Promise<void> {
    const turn = this.#conversation.turns.at(-1);
    if (!turn || turn.run === null) return;
    const body = await this.#host.routes.run(turn.run);
    if ("budget" in body && body.budget) this.#setTurn(turn.key, { budget: body.budget });
  }

  async #readFacts(run: Run): Promise<void> {
    const facts = await readFacts(this.#host.routes, run, this.#knownRequests);
    if (facts.size === 0 || this.#run?.id !== run.id) return;
    this.#run = addFacts(this.#run, facts);
    this.setTurn(run.id, { detail: this.#run });
  }

  #set(change: Partial<Conversation>): void {
    this.#conversation = { ...this.#conversation, ...change };
    if (!this.isClosed) this.#host.show({ state: "ready", value: this.#conversation });
  }

  #setTurn(key: string, change: Partial<Turn>): void {
    this.#set({
      turns: this.#conversation.turns.map((turn) => (turn.key === key ? { ...turn, ...change } : turn)),
    });
  }
}
