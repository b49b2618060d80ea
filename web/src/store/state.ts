// The one mutable cell of the page: the current state, and those who listen to it.

import { EMPTY_LIST } from "./conversation_list";
import { EMPTY_DRAFT } from "./drafts";
import type { PageState, Route } from "./types";

/** Returns the state of a page that has read nothing yet. */
export const firstState = (route: Route): PageState => ({
  config: { state: "loading" },
  modes: [],
  signIn: { state: "unknown" },
  route,
  conversations: EMPTY_LIST,
  conversation: null,
  draft: EMPTY_DRAFT,
  clockOffsetMs: 0,
  isOnline: true,
  notices: [],
  hasNewVersion: false,
});

export class StateCell {
  #state: PageState;
  readonly #listeners = new Set<() => void>();

  constructor(state: PageState) {
    this.#state = state;
  }

  get(): PageState {
    return this.#state;
  }

  /** Replaces parts of the state, and notifies the listeners. */
  set(change: Partial<PageState> | ((state: PageState) => Partial<PageState>)): void {
    const parts = typeof change === "function" ? change(this.#state) : change;
    this.#state = { ...this.#state, ...parts };
    for (const listener of this.#listeners) listener();
  }

  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}
