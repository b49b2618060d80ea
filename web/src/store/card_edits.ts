// What the user has typed into the cards of requests: kept in this tab until the request is answered.

import { storageShelf } from "./browser";

export interface CardEdit {
  /** Changed parameters; null for unchanged ones. */
  readonly value: Record<string, unknown> | null;
  readonly isSaying: boolean;
  readonly said: string;
  /** The answers to the model's questions, in their order. */
  readonly answers: readonly string[];
}

const UNCHANGED: CardEdit = { value: null, isSaying: false, said: "", answers: [] };

const shelf = storageShelf(() => sessionStorage);
const edits = new Map<string, CardEdit>();

/** `key` names the run, the request and its digest, so that a changed request starts anew. */
export function readEdit(key: string): CardEdit {
  const known = edits.get(key);
  if (known) return known;
  let edit = UNCHANGED;
  try {
    edit = { ...UNCHANGED, ...(JSON.parse(shelf.read(`edit:${key}`) ?? "{}") as Partial<CardEdit>) };
  } catch {
    // Nothing that this page can read.
  }
  edits.set(key, edit);
  return edit;
}

export function changeEdit(key: string, part: Partial<CardEdit>): void {
  const edit = { ...readEdit(key), ...part };
  edits.set(key, edit);
  shelf.write(`edit:${key}`, JSON.stringify(edit));
}

/** Forgets the edits of an answered request at the next reload: until its end is shown, the card stays as it is. */
export const forgetEdits = (run: string, request: string): void => shelf.forget(`edit:${run}/${request}/`);

/** Forgets all edits that are in memory. */
export const clearEdits = (): void => edits.clear();
