/** What the reader has typed into the cards: kept while a card is out of sight, and shared by both places of a card. */

import { useCallback, useSyncExternalStore } from "react";
import { type CardEdit, changeEdit, readEdit } from "../../store/card_edits";

const listeners = new Set<() => void>();

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** `key` names the request and its digest, so that a changed request starts anew. */
export function useCardEdit(key: string): readonly [CardEdit, (change: Partial<CardEdit>) => void] {
  const edit = useSyncExternalStore(subscribe, () => readEdit(key));
  const change = useCallback(
    (part: Partial<CardEdit>) => {
      changeEdit(key, part);
      for (const listener of listeners) listener();
    },
    [key],
  );
  return [edit, change];
}
