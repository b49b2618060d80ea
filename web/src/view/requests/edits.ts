/** What the reader has typed into the cards: kept while a card is out of sight, and shared by both places of a card. */

import { useCallback, useSyncExternalStore } from "react";
import type { JsonObject } from "./schema";

export interface CardEdit {
  /** Changed parameters; null for unchanged ones. */
  readonly value: JsonObject | null;
  readonly isSaying: boolean;
  readonly said: string;
  /** The answers to the model's questions, in their order. */
  readonly answers: readonly string[];
}

const UNCHANGED: CardEdit = { value: null, isSaying: false, said: "", answers: [] };

const edits = new Map<string, CardEdit>();
const listeners = new Set<() => void>();

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** `key` names the request and its digest, so that a changed request starts anew. */
export function useCardEdit(key: string): readonly [CardEdit, (change: Partial<CardEdit>) => void] {
  const edit = useSyncExternalStore(subscribe, () => edits.get(key) ?? UNCHANGED);
  const change = useCallback(
    (part: Partial<CardEdit>) => {
      edits.set(key, { ...(edits.get(key) ?? UNCHANGED), ...part });
      for (const listener of listeners) listener();
    },
    [key],
  );
  return [edit, change];
}
