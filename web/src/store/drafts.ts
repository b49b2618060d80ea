// One draft per conversation, kept on the device for its user.

import type { Shelf } from "./browser";
import type { Draft, Upload } from "./types";

export const EMPTY_DRAFT: Draft = {
  text: "",
  uploads: [],
  mode: "react",
  outputStyle: null,
  human: { risks: false, plan: false, results: false, clarify: false },
};

/** Drafts older than the newest ones are forgotten. */
const MAX_DRAFTS = 50;

/** A text that returns is above what the box has. */
export const joinTexts = (text: string, rest: string): string => (rest === "" ? text : `${text}\n\n${rest}`);

/** Adds to a stored draft what was written before it was read. A choice that has its default was not made. */
export function joinDrafts(stored: Draft, written: Draft): Draft {
  return {
    text: stored.text === "" ? written.text : joinTexts(stored.text, written.text),
    uploads: [...stored.uploads, ...written.uploads],
    mode: written.mode === EMPTY_DRAFT.mode ? stored.mode : written.mode,
    outputStyle: written.outputStyle ?? stored.outputStyle,
    human: Object.values(written.human).some(Boolean) ? written.human : stored.human,
  };
}

export class Drafts {
  readonly #shelf: Shelf;
  readonly #tab: Shelf;

  constructor(shelf: Shelf, tab: Shelf) {
    this.#shelf = shelf;
    this.#tab = tab;
  }

  load(session: string): Draft {
    const stored = parse(this.#shelf.read(`draft:${session}`));
    // The choices of the last question are the next one's.
    const choices = parse(this.#shelf.read("choices"));
    const draft = { ...EMPTY_DRAFT, ...choices, ...stored };
    // An upload cannot continue after a reload. The question is not sent without its file, unless its user says so.
    const uploads = draft.uploads.map(
      (upload): Upload => (upload.state === "done" ? upload : { ...upload, state: "failed", error: null }),
    );
    return { ...draft, uploads };
  }

  /** The session of this tab's unasked conversation, whose files are uploaded before the question. */
  loadNewSession(): string | null {
    return this.#tab.read("new_session");
  }

  /** Forgets what the user wrote: drafts, unsent questions and changed requests. */
  clear(): void {
    for (const prefix of ["draft", "pending", "messages:", "choices"]) this.#shelf.forget(prefix);
    for (const prefix of ["new_session", "edit:"]) this.#tab.forget(prefix);
  }

  save(session: string, draft: Draft, newSession: string): void {
    const { mode, outputStyle, human } = draft;
    this.#shelf.write("choices", JSON.stringify({ mode, human }));
    const { uploads } = draft;
    const isNew = session === newSession;
    const isEmpty = draft.text === "" && uploads.length === 0;
    // A conversation keeps its mode, also without a text; a new one begins with the last choices.
    const isGone = isNew && isEmpty;
    const text = JSON.stringify({ text: draft.text, uploads, mode, outputStyle, human });
    this.#shelf.write(`draft:${session}`, isGone ? null : text);
    this.#touch(session, isGone);
    if (isNew) this.#tab.write("new_session", isEmpty ? null : session);
  }

  #touch(session: string, isGone: boolean): void {
    const names: unknown = parseJson(this.#shelf.read("drafts"));
    const known = Array.isArray(names) ? names.filter((name): name is string => typeof name === "string") : [];
    const others = known.filter((name) => name !== session);
    const next = isGone ? others : [session, ...others];
    for (const name of next.slice(MAX_DRAFTS)) this.#shelf.write(`draft:${name}`, null);
    this.#shelf.write("drafts", JSON.stringify(next.slice(0, MAX_DRAFTS)));
  }
}

function parseJson(text: string | null): unknown {
  try {
    return text === null ? null : (JSON.parse(text) as unknown);
  } catch {
    return null;
  }
}

/** Stored drafts may be of an earlier version of the page: only fields of the right type are taken. */
function parse(text: string | null): Partial<Draft> {
  const value = parseJson(text);
  if (typeof value !== "object" || value === null) return {};
  const stored = value as Record<string, unknown>;
  const draft: { -readonly [Field in keyof Draft]?: Draft[Field] } = {};
  if (typeof stored.text === "string") draft.text = stored.text;
  if (typeof stored.mode === "string") draft.mode = stored.mode;
  if (typeof stored.human === "object" && stored.human !== null) {
    draft.human = { ...EMPTY_DRAFT.human, ...(stored.human as Partial<Draft["human"]>) };
  }
  if (stored.outputStyle === null || typeof stored.outputStyle === "string") {
    draft.outputStyle = stored.outputStyle as Draft["outputStyle"];
  }
  if (Array.isArray(stored.uploads)) draft.uploads = stored.uploads as Upload[];
  return draft;
}
