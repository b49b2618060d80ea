// The list of conversations: pages of sessions, marked by their active runs.

import type { RunListBody } from "../wire/contract";
import { errorOf } from "../wire/error";
import type { Routes } from "../wire/routes";
import type { Shelf } from "./browser";
import { Pending } from "./pending";
import type { StateCell } from "./state";
import type { Conversation, ConversationList, ConversationSummary, Turn } from "./types";

const PAGE = 50;
/** A search reads at most so many pages of titles. */
const MAX_SEARCH_PAGES = 20;
/** It also reads at most so many pages of questions, each with so many. */
const MAX_QUESTION_PAGES = 10;
const QUESTION_PAGE = 100;
/** The characters of an answer around a text that a search found. */
const AROUND = 40;

export const EMPTY_LIST: ConversationList = {
  user: "",
  items: [],
  hasMore: false,
  isLoading: true,
  isSearching: false,
  error: null,
  search: "",
};

export class Conversations {
  readonly #routes: Routes;
  readonly #cell: StateCell;
  /** The reader's own. */
  #all: readonly ConversationSummary[] = [];
  #shared: readonly ConversationSummary[] = [];
  #cursor: string | null = null;
  #marks: ReadonlyMap<string, ConversationSummary["mark"]> = new Map();
  /** The conversations at work that the last reading did not find: of others, older ones, or of other protocols. */
  #unlisted: ReadonlySet<string> = new Set();
  /** Counts refreshes: a late answer of an earlier one is dropped. */
  #round = 0;
  /** The conversations with a question since the refresh began: its answer may be older. */
  readonly #touched = new Set<string>();

  /** The marks since the refresh began, for the same reason. */
  readonly #marked = new Map<string, ConversationSummary["mark"]>();

  /** The beginnings of the reader's questions by conversation, newest first, from the last search. */
  #questions: ReadonlyMap<string, readonly string[]> = new Map();

  /** The questions and answers of the conversations that were opened here. */
  readonly #turnsBySession = new Map<string, readonly Turn[]>();

  /** The reading of questions for the text in the box; null before the first reading, and after one that failed. */
  #reading: object | null = null;

  readonly #pending: Pending;

  /** Is called after each reading of the newest page, which names the user. */
  readonly #onRead: () => void;

  constructor(routes: Routes, cell: StateCell, shelf: Shelf, onRead: () => void) {
    this.#routes = routes;
    this.#onRead = onRead;
    this.#cell = cell;
    this.#pending = new Pending(shelf);
  }

  /** Forgets the conversations of a user who signs out. */
  clear(): void {
    this.#round += 1;
    this.#all = [];
    this.#shared = [];
    this.#cursor = null;
    this.#marks = new Map();
    this.#unlisted = new Set();
    this.#questions = new Map();
    this.#turnsBySession.clear();
    this.#reading = null;
    this.#cell.set({ conversations: EMPTY_LIST });
  }

  /** Keeps the answers of an open conversation for searches. */
  keepAnswers({ session, turns }: Conversation): void {
    this.#turnsBySession.set(session, turns);
  }

  /** Reads the newest page and the marks again. */
  async refresh(): Promise<void> {
    this.#show({ isLoading: true });
    try {
      if (await this.#read(false)) await this.search(this.#cell.get().conversations.search);
    } catch (error) {
      this.#show({ isLoading: false, error: errorOf(error) });
    }
  }

  /** Reads the same beside what the list shows: older pages stay, and an error says nothing. */
  async update(): Promise<void> {
    await this.#read(true).catch(() => undefined);
  }

  /** Reads only the marks, unless one belongs to a conversation that is new. */
  async updateMarks(): Promise<void> {
    const round = this.#round;
    this.#marked.clear();
    const marks = await this.#readMarks().catch(() => null);
    if (marks === null || round !== this.#round) return;
    if ([...this.#without(marks)].some((session) => !this.#unlisted.has(session))) return this.update();
    this.#marks = new Map([...marks, ...this.#marked]);
    this.#show({});
  }

  /** Returns the conversations at work that the list does not have. */
  #without(marks: ReadonlyMap<string, ConversationSummary["mark"]>): ReadonlySet<string> {
    const known = new Set([...this.#all, ...this.#shared].map((item) => item.session));
    return new Set([...marks.keys()].filter((session) => !known.has(session)));
  }

  async #readMarks(): Promise<ReadonlyMap<string, ConversationSummary["mark"]>> {
    const [running, paused] = await Promise.all([this.#routes.runs("running", 100), this.#routes.runs("paused", 100)]);
    return new Map([
      ...running.runs.map((run) => [run.session, run.has_open_requests ? "waiting" : "running"] as const),
      ...paused.runs.map((run) => [run.session, "waiting"] as const),
    ]);
  }

  /** Returns false if a later reading has begun. */
  async #read(keepsOlder: boolean): Promise<boolean> {
    const round = ++this.#round;
    this.#touched.clear();
    this.#marked.clear();
    const [page, marks] = await Promise.all([this.#routes.sessions(null, PAGE), this.#readMarks()]).catch((error: unknown) => {
      if (round !== this.#round) return [];
      throw error;
    });
    if (round !== this.#round || !page || !marks) return false;
    this.#marks = new Map([...marks, ...this.#marked]);
    const listed = page.sessions.map(summaryOf).filter((item) => !this.#touched.has(item.session));
    const known = new Set(listed.map((item) => item.session));
    const oldest = page.next == null ? 0 : (listed.at(-1)?.lastActiveAtMs ?? 0);
    const older = this.#all.filter((item) => keepsOlder && !known.has(item.session) && item.lastActiveAtMs < oldest);
    this.#all = [...this.#all.filter((item) => this.#touched.has(item.session)), ...listed, ...older];
    const shared = (page.shared ?? []).map((body) => ({ ...summaryOf(body), owner: body.owner }));
    this.#shared = shared.map((item) => this.#shared.find((other) => this.#isTouched(item, other)) ?? item);
    this.#unlisted = this.#without(marks);
    if (page.user !== this.#cell.get().conversations.user) this.#questions = new Map();
    if (older.length === 0) this.#cursor = page.next ?? null;
    this.#show({ user: page.user, isLoading: false, error: null });
    this.#onRead();
    return true;
  }

  async loadMore(): Promise<void> {
    if (this.#cursor === null || this.#cell.get().conversations.isLoading) return;
    const round = this.#round;
    this.#show({ isLoading: true });
    try {
      const page = await this.#routes.sessions(this.#cursor, PAGE);
      if (round !== this.#round) return;
      const known = new Set(this.#all.map((item) => item.session));
      const added = page.sessions.map(summaryOf).filter((item) => !known.has(item.session));
      this.#all = [...this.#all, ...added];
      this.#cursor = page.next ?? null;
      this.#show({ isLoading: false, error: null });
    } catch (error) {
      if (round === this.#round) this.#show({ isLoading: false, error: errorOf(error) });
    }
  }

  async search(text: string): Promise<void> {
    this.#show({ search: text });
    if (text !== "") await Promise.all([this.#readAllTitles(), this.#reading ? undefined : this.#readQuestions()]);
    else {
      this.#reading = null;
      this.#show({ isSearching: false });
    }
  }

  /** Reads the beginnings of the newest questions from the server's list of runs. */
  async #readQuestions(): Promise<void> {
    const reading = {};
    this.#reading = reading;
    this.#show({ isSearching: true, error: null });
    const questions = new Map<string, string[]>();
    let cursor: string | null = null;
    try {
      for (let page = 0; page < MAX_QUESTION_PAGES; page += 1) {
        const body: RunListBody = await this.#routes.runs(null, QUESTION_PAGE, cursor);
        if (this.#reading !== reading) return;
        for (const { session, title } of body.runs) questions.set(session, [...(questions.get(session) ?? []), title]);
        this.#questions = questions;
        this.#show({});
        cursor = body.next ?? null;
        if (cursor === null) break;
      }
      this.#show({ isSearching: false });
    } catch (error) {
      if (this.#reading !== reading) return;
      this.#reading = null;
      this.#show({ isSearching: false, error: errorOf(error) });
    }
  }

  async #readAllTitles(): Promise<void> {
    for (let page = 1; page < MAX_SEARCH_PAGES && this.#cursor !== null; page += 1) {
      const before = this.#cursor;
      await this.loadMore();
      if (this.#cursor === before || this.#cell.get().conversations.search === "") return;
    }
  }

  /** Puts a conversation with a new question on top. */
  touch(session: string, title: string, atMs: number): void {
    this.#touched.add(session);
    const isIt = (item: ConversationSummary): boolean => item.session === session;
    const change = { newestQuestion: title, lastActiveAtMs: atMs };
    const shared = this.#shared.find(isIt);
    if (shared) this.#shared = [{ ...shared, ...change }, ...this.#shared.filter((item) => !isIt(item))];
    else {
      const known = this.#all.find(isIt);
      const item = known ?? { session, title, foundText: null, startedAtMs: atMs, owner: null, mark: null };
      this.#all = [{ ...item, ...change }, ...this.#all.filter((item) => !isIt(item))];
    }
    this.#show({});
  }

  #isTouched(item: ConversationSummary, other: ConversationSummary): boolean {
    return item.session === other.session && this.#touched.has(item.session);
  }

  mark(session: string, mark: ConversationSummary["mark"]): void {
    this.#marked.set(session, mark);
    if ((this.#marks.get(session) ?? null) === mark) return;
    this.#marks = new Map(this.#marks).set(session, mark);
    this.#show({});
  }

  async rename(session: string, title: string): Promise<void> {
    await this.#routes.rename(session, title);
    this.#all = this.#all.map((item) => (item.session === session ? { ...item, title } : item));
    this.#show({});
  }

  async remove(session: string): Promise<void> {
    const question = this.#pending.load(session);
    this.#pending.save(session, null);
    await this.#routes.deleteSession(session).catch((error: unknown) => {
      if (question !== null && errorOf(error).code === "session_not_found") return;
      if (question !== null) this.#pending.save(session, question);
      this.#show({});
      throw error;
    });
    this.#all = this.#all.filter((item) => item.session !== session);
    this.#turnsBySession.delete(session);
    this.#show({});
  }

  /** Shows the list again after another conversation was opened. */
  showAgain(): void {
    this.#show({});
  }

  /** The conversations whose question the server does not have yet. The open one says so itself. */
  #unsent(open: string | null): ReadonlyMap<string, ConversationSummary> {
    const sessions = this.#pending.sessions().filter((session) => session !== open);
    return new Map(
      sessions.flatMap((session) => {
        const question = this.#pending.load(session);
        if (!question) return [];
        const { atMs, body } = question;
        const title = (body.question ?? "").slice(0, 100);
        const item = { session, title, newestQuestion: title, foundText: null, owner: null, mark: "unsent" as const };
        return [[session, { ...item, startedAtMs: atMs, lastActiveAtMs: atMs }]];
      }),
    );
  }

  #show(change: Partial<ConversationList>): void {
    this.#cell.set(({ conversations, route }) => {
      const next = { ...conversations, ...change };
      const wanted = next.search.trim().toLocaleLowerCase();
      const has = (text: string): boolean => text.toLocaleLowerCase().includes(wanted);
      const unsent = this.#unsent(route.session);
      const all = [...this.#all, ...this.#shared];
      const known = new Set(all.map((item) => item.session));
      const items = [...[...unsent.values()].filter((item) => !known.has(item.session)), ...all]
        .map((item) => ({ ...item, mark: unsent.get(item.session)?.mark ?? this.#marks.get(item.session) ?? null }))
        .flatMap((item) => {
          if (has(item.title)) return [item];
          const questions = [item.newestQuestion, ...(this.#questions.get(item.session) ?? [])];
          const answer = (this.#turnsBySession.get(item.session) ?? []).find((turn) => has(turn.answer ?? ""))?.answer;
          const foundText = questions.find(has) ?? (answer ? partAround(answer, wanted) : undefined);
          return foundText === undefined ? [] : [{ ...item, foundText }];
        });
      return { conversations: { ...next, items, hasMore: this.#cursor !== null } };
    });
  }
}

/** Returns the part of a text around a word, on one line. */
function partAround(text: string, word: string): string {
  const line = text.replaceAll(/\s+/g, " ");
  const at = Math.max(0, line.toLocaleLowerCase().indexOf(word));
  const [from, to] = [Math.max(0, at - AROUND), at + word.length + AROUND];
  return `${from > 0 ? "…" : ""}${line.slice(from, to)}${to < line.length ? "…" : ""}`;
}

function summaryOf(body: {
  readonly session: string;
  readonly title: string;
  readonly newest_question: string;
  readonly started_at_ms: number;
  readonly last_active_at_ms: number;
}): ConversationSummary {
  return {
    session: body.session,
    title: body.title,
    newestQuestion: body.newest_question,
    foundText: null,
    owner: null,
    startedAtMs: body.started_at_ms,
    lastActiveAtMs: body.last_active_at_ms,
    mark: null,
  };
}
