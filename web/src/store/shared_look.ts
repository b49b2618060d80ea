// The looks at a shared conversation that is open: others may ask in it, and its owner may end the share.

import { type ErrorInfo, errorOf } from "../wire/error";
import type { Routes } from "../wire/routes";
import type { Browser } from "./browser";
import type { OpenConversation } from "./open_conversation";
import { turnOf } from "./turns";

/** The time between two looks, in milliseconds. */
const PAUSE = 60_000;
/** The codes of the errors by which a guest learns that the share has ended. */
const ENDED: ReadonlySet<ErrorInfo["code"]> = new Set(["session_not_found", "run_not_found", "share_ended"]);

/** Returns true if an error of a guest's request says that the share has ended. */
export const endsShare = (error: ErrorInfo): boolean => ENDED.has(error.code);

/** Looks at a conversation while no run is at work: the stream of a run tells everything by itself. */
export class SharedLook {
  readonly #open: OpenConversation;
  readonly #routes: Routes;
  readonly #browser: Browser;
  #cancel: () => void = () => undefined;
  #isStopped = false;

  constructor(open: OpenConversation, routes: Routes, browser: Browser) {
    this.#open = open;
    this.#routes = routes;
    this.#browser = browser;
  }

  stop(): void {
    this.#isStopped = true;
    this.#cancel();
  }

  /** Looks after a pause, again and again. */
  plan(): void {
    this.#cancel();
    if (!this.#isStopped) this.#cancel = this.#browser.after(PAUSE, () => void this.look());
  }

  async look(): Promise<void> {
    const { isOwner, shares, turns } = this.#open.conversation;
    const isShared = !isOwner || shares.length > 0;
    if (isShared && this.#isResting() && !this.#browser.isHidden()) {
      try {
        const [newest] = (await this.#routes.session(this.#open.session, null, 1)).turns;
        const isNew = newest !== undefined && !turns.some(({ run }) => run === newest.run);
        if (isNew && this.#isResting()) this.#open.addNewest(turnOf(newest));
      } catch (error) {
        if (!isOwner && !this.#isStopped && endsShare(errorOf(error))) this.#open.endShare();
      }
    }
    this.plan();
  }

  /** True if no question is on its way, and no run at work. */
  #isResting(): boolean {
    const { activeRun, conversation } = this.#open;
    return !this.#isStopped && activeRun === null && conversation.turns.at(-1)?.run !== null;
  }
}
