// Runs, lanes and messages before their first event, and unfinished ones after their last.

import type { Preview, RunStatus, Usage } from "../wire/contract";
import type { Lane, MessageRow, Path, Run } from "./types";

const NO_USAGE: Usage = { input_tokens: 0, output_tokens: 0, cached_tokens: 0, took_ms: 0 };

/** Returns the state of a run before its first event. */
export function emptyRun(id: string): Run {
  return {
    id,
    session: "",
    question: "",
    attachments: [],
    mode: "",
    outputStyle: null,
    warnings: [],
    startedAtMs: 0,
    lanes: new Map([["", newLane("", null, 0)]]),
    plan: null,
    requests: new Map(),
    files: new Map(),
    sources: new Map(),
    end: null,
    waitedMs: 0,
    lastEventAtMs: 0,
    seen: new Set(),
  };
}

export function newLane(path: Path, parent: Path | null, atMs: number): Lane {
  return {
    path,
    parent,
    description: "",
    agent: null,
    step: null,
    call: null,
    status: "running",
    startedAtMs: atMs,
    endedAtMs: null,
    rows: [],
    drafts: [],
    text: "",
    failure: null,
    usage: NO_USAGE,
    spent: null,
    delayedUntilMs: null,
    unread: [],
    resets: new Map(),
  };
}

export function newDraft(preview: Preview): MessageRow {
  return {
    kind: "message",
    key: preview.message,
    message: preview.message,
    atMs: preview.at_ms,
    text: "",
    reasoning: "",
    isComplete: false,
    isAnswer: false,
    isTruncated: false,
    finish: null,
    usage: null,
    attempt: preview.attempt,
    bytes: { text: 0, reasoning: 0 },
  };
}

/** Returns the sum; money is absent if neither has a price. */
export function addUsage(a: Usage, b: Usage): Usage {
  const sum: Usage = {
    input_tokens: a.input_tokens + b.input_tokens,
    output_tokens: a.output_tokens + b.output_tokens,
    cached_tokens: a.cached_tokens + b.cached_tokens,
    took_ms: a.took_ms + b.took_ms,
  };
  if (a.micro_usd === undefined && b.micro_usd === undefined) return sum;
  return { ...sum, micro_usd: (a.micro_usd ?? 0) + (b.micro_usd ?? 0) };
}

/** Returns what is left of the unfinished texts of an agent at its end: a stop keeps them as far as they came. */
export const textsAfter = (status: RunStatus, drafts: readonly MessageRow[]): readonly MessageRow[] =>
  status === "stopped" ? drafts.map((draft) => ({ ...draft, isComplete: true, isTruncated: true })) : [];
