// The looks at the list of conversations: other tabs and devices ask, and their runs wait for the user.

import type { Browser } from "./browser";
import type { Conversations } from "./conversation_list";
import type { StateCell } from "./state";

/** The time between two looks, in milliseconds. */
const PAUSE = 30_000;
/** The time between two readings of a list with shared conversations: the server reads each of them singly. */
const SHARED_PAUSE = 300_000;

export class ListWatch {
  readonly #browser: Browser;
  readonly #cell: StateCell;
  readonly #list: Conversations;
  #lookedAtMs: number;
  #readAtMs: number;

  constructor(browser: Browser, cell: StateCell, list: Conversations) {
    this.#browser = browser;
    this.#cell = cell;
    this.#list = list;
    this.#lookedAtMs = browser.now();
    this.#readAtMs = browser.now();
    this.#plan();
  }

  #plan(): void {
    this.#browser.after(PAUSE, () => {
      this.look();
      this.#plan();
    });
  }

  /**
   * Reads the list, or only its marks, if a look is due, the page is shown, and it does not follow a paused run,
   * whose looks are enough.
   */
  look(): void {
    const { signIn, conversation, conversations } = this.#cell.get();
    const turns = conversation?.state === "ready" ? conversation.value.turns : [];
    const isBusy = conversations.isLoading || conversations.search !== "" || turns.at(-1)?.status === "paused";
    if (signIn.state !== "signed_in" || this.#browser.isHidden() || isBusy) return;
    if (this.#browser.now() - this.#lookedAtMs < PAUSE) return;
    this.#lookedAtMs = this.#browser.now();
    const hasShared = conversations.items.some((item) => item.owner !== null);
    if (hasShared && this.#lookedAtMs - this.#readAtMs < SHARED_PAUSE) return void this.#list.updateMarks();
    this.#readAtMs = this.#lookedAtMs;
    void this.#list.update();
  }
}
