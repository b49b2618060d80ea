// A question on its way: kept until the server has accepted it, so that a reload repeats it with the same id.

import type { RunRequest } from "../wire/contract";
import type { Shelf } from "./browser";

export interface PendingQuestion {
  readonly requestId: string;
  readonly body: RunRequest;
  readonly attachments: readonly string[];
  readonly atMs: number;
}

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
  }
}
