/** The store for components. */

import { createContext, useCallback, useContext, useSyncExternalStore } from "react";
import type { Actions, Conversation, PageState, Run, Store, Turn } from "../store/types";

export const StoreContext = createContext<Store | null>(null);

function useStoreOfPage(): Store {
  const store = useContext(StoreContext);
  if (!store) throw new Error("no store");
  return store;
}

/** Reads a part of the state. `select` returns the same object while its part is unchanged. */
export function usePage<T>(select: (state: PageState) => T): T {
  const store = useStoreOfPage();
  const subscribe = useCallback((listener: () => void) => store.subscribe(listener), [store]);
  return useSyncExternalStore(subscribe, () => select(store.getState()));
}

export const useActions = (): Actions => useStoreOfPage().actions;

export const conversationOf = (state: PageState): Conversation | null =>
  state.conversation?.state === "ready" ? state.conversation.value : null;

export const newestTurn = (conversation: Conversation | null): Turn | null => conversation?.turns.at(-1) ?? null;

export const newestRun = (state: PageState): Run | null => newestTurn(conversationOf(state))?.detail ?? null;

export const isActive = (turn: Turn | null): boolean =>
  turn?.status === "queued" || turn?.status === "running" || turn?.status === "paused" || turn?.status === "sending";

/** False for a reader of a shared conversation, and while another user's question is the newest. */
export const canDecide = (state: PageState): boolean => {
  const conversation = conversationOf(state);
  return conversation === null || (conversation.canWrite && (newestTurn(conversation)?.isOwn ?? true));
};

/** True if users are told apart, so that a conversation can be shared with one of them. */
export const hasUsers = ({ config }: PageState): boolean =>
  config.state === "ready" && config.value.signIn.kind !== "none";

/** The open requests of the newest run, oldest first. */
export function openRequests(run: Run | null): readonly string[] {
  if (!run) return [];
  const cached = openByRun.get(run.requests);
  if (cached) return cached;
  const open = [...run.requests.values()].filter((request) => request.isOpen).map((request) => request.request.id);
  openByRun.set(run.requests, open);
  return open;
}

const openByRun = new WeakMap<Run["requests"], readonly string[]>();
