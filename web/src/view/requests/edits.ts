/** What the reader has typed into the cards: kept while a card is out of sight, and shared by both places of a card. */

import { useCallback, useEffect, useSyncExternalStore } from "react";
import { type CardEdit, changeEdit, readEdit } from "../../store/card_edits";
import type { Decision, HumanRequest } from "../../store/types";
import { parametersOf } from "./kinds";
import { isSame } from "./schema";

const listeners = new Set<() => void>();

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function announce(): void {
  for (const listener of listeners) listener();
}

/** The keys of the cards on the page that have a text that is no value. */
const wrong = new Set<string>();

/** Names the request and its digest, so that a changed request starts anew. */
export const editKey = (run: string, request: HumanRequest): string => `${run}/${request.id}/${request.digest}`;

/** Returns the decision that allows a request as its card shows it. */
export function decisionOf(run: string, request: HumanRequest): Decision {
  const { value } = readEdit(editKey(run, request));
  const original = parametersOf(request);
  return value === null || original === null || isSame(value, original)
    ? { kind: "confirm" }
    : { kind: "modify", parameters: value };
}

/** Tells the tray that a card has a text that is no value, while the card is on the page. */
export function useReportWrong(key: string, isWrong: boolean): void {
  useEffect(() => {
    if (!isWrong) return;
    wrong.add(key);
    announce();
    return () => {
      wrong.delete(key);
      announce();
    };
  }, [key, isWrong]);
}

function isUnready(key: string): boolean {
  const { isSaying, said } = readEdit(key);
  return wrong.has(key) || (isSaying && said.trim() !== "");
}

/** Returns true while one of the cards has a text that allowing all would drop. */
export const useIsAnyUnready = (keys: readonly string[]): boolean =>
  useSyncExternalStore(subscribe, () => keys.some(isUnready));

/** `key` is of {@link editKey}. */
export function useCardEdit(key: string): readonly [CardEdit, (change: Partial<CardEdit>) => void] {
  const edit = useSyncExternalStore(subscribe, () => readEdit(key));
  const change = useCallback(
    (part: Partial<CardEdit>) => {
      changeEdit(key, part);
      announce();
    },
    [key],
  );
  return [edit, change];
}
