// A question on its way: kept until the server has accepted it, so that a reload repeats it with the same id.

import type { RunRequest } from "../wire/contract";
import type { Shelf } from "./browser";

export interface PendingQuestion {
  readonly requestId: string;
  readonly body: RunRequest;
  readonly attachments: readonly string[];
  readonly atMs: number;
}

/** The text and the files of a question that was not sent. */
export interface TakenBack {
  readonly text: string;
  readonly attachments: readonly string[];
}

/** The time in which the page itself sends an unaccepted question again, in milliseconds. */
const VALIDITY = 5 * 60_000;

export const isFresh = (question: PendingQuestion, nowMs: number): boolean => nowMs - question.atMs < VALIDITY;

export class Pending {
  readonly #shelf: Shelf;

  constructor(shelf: Shelf) {
    this.#shelf = shelf;
  }

  load(session: string): PendingQuestion | null {
    try {
      const value: unknown = JSON.parse(this.#shelf.read(`pending:${session}`) ?? "null");
      const isQuestion = typeof value === "object" && value !== null && "requestId" in value && "body" in value;
      return isQuestion ? (value as PendingQuestion) : null;
    } catch {
      return null;
    }
  }

  /** Null forgets the question. */
  save(session: string, question: PendingQuestion | null): void {
    this.#shelf.write(`pending:${session}`, question === null ? null : JSON.stringify(question));
    const others = this.sessions().filter((other) => other !== session);
    if (question !== null) this.#shelf.write("pending", JSON.stringify([session, ...others]));
    else this.#shelf.write("pending", others.length > 0 ? JSON.stringify(others) : null);
  }

  /** Returns all questions and forgets them. */
  takeAll(): readonly (readonly [session: string, PendingQuestion])[] {
    return this.sessions().flatMap((session) => {
      const question = this.load(session);
      this.save(session, null);
      return question ? [[session, question] as const] : [];
    });
  }

  /** The conversations with a question on its way, newest first. */
  sessions(): readonly string[] {
    try {
      const value: unknown = JSON.parse(this.#shelf.read("pending") ?? "[]");
      return Array.isArray(value) ? value.filter((name) => typeof name === "string") : [];
    } catch {
      return [];
    }
  }
}
