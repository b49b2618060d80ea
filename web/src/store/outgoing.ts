// Questions on their way whose conversation is not open: sent with the same id until the server has them.

import { errorOf } from "../wire/error";
import type { Routes } from "../wire/routes";
import type { Browser, Shelf } from "./browser";
import { isFresh, Pending } from "./pending";

/** The pause before a question is sent again, in milliseconds. */
const RETRY = 15_000;

export interface OutgoingHost {
  /** The session that is open and sends its own question; null for none, undefined while nothing can be sent. */
  openSession(): string | null | undefined;
  onAccepted(): void;
}

export class Outgoing {
  readonly #browser: Browser;
  readonly #routes: Routes;
  readonly #host: OutgoingHost;
  readonly #pending: Pending;
  readonly #active = new Set<string>();
  /** The ids of questions that the server rejected: the user sees why in the conversation. */
  readonly #rejected = new Set<string>();
  #cancelTimer: () => void = () => undefined;

  constructor(browser: Browser, shelf: Shelf, routes: Routes, host: OutgoingHost) {
    this.#browser = browser;
    this.#routes = routes;
    this.#host = host;
    this.#pending = new Pending(shelf);
  }

  /** Sends the fresh questions of all conversations but the open one. */
  send(): void {
    const open = this.#host.openSession();
    if (open === undefined) return;
    for (const session of this.#pending.sessions()) if (session !== open) void this.#sendOf(session);
  }

  async #sendOf(session: string): Promise<void> {
    const question = this.#pending.load(session);
    if (!question || this.#active.has(session) || this.#rejected.has(question.requestId)) return;
    if (!isFresh(question, this.#browser.now())) return;
    this.#active.add(session);
    // The page follows the run when its conversation is opened.
    const controller = new AbortController();
    try {
      const response = await this.#routes.ask(question.body, null, controller.signal);
      // With its first event, the run is in its session.
      await response.body?.getReader().read();
      controller.abort();
      if (this.#pending.load(session)?.requestId === question.requestId) this.#pending.save(session, null);
      this.#host.onAccepted();
    } catch (error) {
      const { isRetryable, status } = errorOf(error);
      if (isRetryable) this.#later();
      else if (status !== 401) this.#rejected.add(question.requestId);
    } finally {
      this.#active.delete(session);
    }
  }

  #later(): void {
    this.#cancelTimer();
    this.#cancelTimer = this.#browser.after(RETRY, () => this.send());
  }
}
