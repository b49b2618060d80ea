// Components in a document, over a store that records the actions.

import { act, type ReactNode } from "react";
import { createRoot } from "react-dom/client";
import { vi } from "vitest";
import { EMPTY_LIST } from "../src/store/conversation_list";
import { EMPTY_DRAFT } from "../src/store/drafts";
import { emptyRun } from "../src/store/empty_run";
import { foldEvents } from "../src/store/fold";
import { EMPTY_TURN, emptyConversation } from "../src/store/turns";
import type { Actions, Conversation, ConversationList, Draft, PageState, Run } from "../src/store/types";
import { StoreContext } from "../src/view/store";
import { LanguageContext, type PageLanguage } from "../src/words";
import type { Entry } from "../src/wire/contract";

declare global {
  var IS_REACT_ACT_ENVIRONMENT: boolean;
}
globalThis.IS_REACT_ACT_ENVIRONMENT = true;
// jsdom has no CSS object.
globalThis.CSS ??= { escape: (text: string) => text.replace(/[^\w-]/g, "\\$&"), supports: () => false } as never;

/** Folds entries as the server sends them. */
export function runOf(entries: readonly unknown[]): Run {
  return foldEvents(emptyRun("run_1"), (entries as Entry[]).map((entry) => ({ kind: "entry", entry })));
}

/** An action and its arguments. */
export type Called = readonly [keyof Actions, ...unknown[]];

export class TestPage {
  readonly element = document.createElement("div");
  /** The actions of the reader, oldest first. */
  readonly calls: Called[] = [];
  /** The results of actions that have one. */
  readonly results = new Map<keyof Actions, unknown>();
  readonly #root = createRoot(this.element);
  readonly #listeners = new Set<() => void>();
  readonly #language: PageLanguage;
  #state: PageState;

  constructor(conversation: Partial<Conversation> = {}, language: PageLanguage = "en", draft = "") {
    this.#language = language;
    document.body.append(this.element);
    this.#state = {
      conversation: { state: "ready", value: { ...emptyConversation("s1"), ...conversation } },
      conversations: EMPTY_LIST,
      clockOffsetMs: 0,
      config: { state: "loading" },
      route: { session: null },
      draft: { ...EMPTY_DRAFT, text: draft },
      modes: [] as PageState["modes"],
    } as PageState;
  }

  async show(view: ReactNode): Promise<void> {
    const actions = new Proxy({} as Actions, {
      get: (_, name: keyof Actions) => (...given: unknown[]) => {
        if (this.results.has(name)) return Promise.resolve(this.results.get(name));
        this.calls.push([name, ...given]);
      },
    });
    const subscribe = (listener: () => void) => {
      this.#listeners.add(listener);
      return () => this.#listeners.delete(listener);
    };
    const store = { getState: () => this.#state, subscribe, actions };
    await act(async () =>
      this.#root.render(
        <LanguageContext value={this.#language}>
          <StoreContext value={store}>{view}</StoreContext>
        </LanguageContext>,
      ),
    );
    // Parts that are loaded with their first use.
    await act(async () => vi.dynamicImportSettled());
  }

  /** Changes the draft of the next view. */
  draft(part: Partial<Draft>): void {
    this.#state = { ...this.#state, draft: { ...EMPTY_DRAFT, ...part } };
  }

  /** Changes the list of conversations of the next view. */
  conversations(part: Partial<ConversationList>): void {
    this.#state = { ...this.#state, conversations: { ...EMPTY_LIST, ...part } };
  }

  /** Sets the modes of the next view. */
  modes(...names: readonly string[]): void {
    this.#state = { ...this.#state, modes: names.map((name) => ({ name })) as unknown as PageState["modes"] };
  }

  /** Changes parts of the conversation. */
  async change(part: Partial<Conversation>): Promise<void> {
    const { conversation } = this.#state;
    if (conversation?.state !== "ready") throw new Error("no conversation");
    this.#state = { ...this.#state, conversation: { state: "ready", value: { ...conversation.value, ...part } } };
    await act(() => {
      for (const listener of this.#listeners) listener();
    });
  }

  async close(): Promise<void> {
    await act(() => this.#root.unmount());
    this.element.remove();
  }

  get text(): string {
    return this.#places()
      .map((place) => place.textContent)
      .join("\n");
  }

  /** The page's own element, and dialogs, which are elsewhere in the document. */
  #places(): readonly HTMLElement[] {
    return [this.element, ...document.querySelectorAll<HTMLElement>("[role=dialog]")];
  }

  /** Returns the control with a label, or the button with a text. */
  find<T extends HTMLElement = HTMLElement>(name: string): T {
    const found = this.all(name)[0];
    if (!found) throw new Error(`no ${name} in: ${this.element.innerHTML}`);
    return found as T;
  }

  all(name: string): readonly HTMLElement[] {
    const controls = "button, input, textarea, select, [role=region]";
    return this.#places()
      .flatMap((place) => [...place.querySelectorAll<HTMLElement>(controls)])
      .filter((element) => nameOf(element) === name);
  }

  async press(name: string): Promise<void> {
    await act(() => this.find(name).click());
  }

  async write(name: string, text: string): Promise<void> {
    const element = this.find(name);
    const set = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(element), "value")?.set;
    await act(() => {
      set?.call(element, text);
      element.dispatchEvent(new Event(element.tagName === "SELECT" ? "change" : "input", { bubbles: true }));
    });
  }
}

/** A turn whose run is followed. */
export const turnWith = (run: Run) => ({ ...EMPTY_TURN, key: "r1", run: run.id, status: "paused" as const, detail: run });

/** Lets cards rest long enough to take a click. Needs fake timers. */
export async function rest(): Promise<void> {
  await act(() => vi.advanceTimersByTimeAsync(500));
}

function nameOf(element: HTMLElement): string {
  const own = element.getAttribute("aria-label");
  if (own !== null) return own;
  if (element.tagName === "BUTTON") return element.textContent.trim();
  const labels = element instanceof HTMLInputElement || element instanceof HTMLTextAreaElement || element instanceof HTMLSelectElement ? element.labels : null;
  // Only the name itself, without `changed` after it.
  return labels?.[0]?.firstChild?.textContent?.trim() ?? "";
}
