// Conversations and their turns, as the server describes them.

import type { SessionBody, TurnBody } from "../wire/contract";
import type { Conversation, SessionFile, Turn } from "./types";

export const EMPTY_TURN: Turn = {
  key: "",
  run: null,
  question: "",
  answer: null,
  citations: [],
  fileNames: [],
  status: "running",
  startedAtMs: 0,
  isOwn: true,
  user: null,
  attachments: [],
  error: null,
  detail: null,
  detailError: null,
  isLoadingDetail: false,
  budget: null,
};

/** Returns a conversation without questions. */
export function emptyConversation(session: string): Conversation {
  return {
    session,
    title: "",
    turns: [],
    hasOlderTurns: false,
    isLoadingOlder: false,
    files: [],
    shares: [],
    isOwner: true,
    owner: null,
    canWrite: true,
    hasShareEnded: false,
    following: { state: "idle" },
    unreadMessages: [],
    sendingResponses: new Map(),
    isStopping: false,
    planEdit: { state: "idle" },
  };
}

/** Returns what the response about a session says. */
export function conversationParts(body: SessionBody): Partial<Conversation> & Pick<Conversation, "turns"> {
  const isOwner = body.write === undefined || body.write === null;
  return {
    title: body.title,
    turns: body.turns.map(turnOf).reverse(),
    hasOlderTurns: body.next !== null,
    files: body.files.filter((file) => !file.internal),
    shares: body.shares ?? [],
    isOwner,
    owner: body.owner ?? null,
    canWrite: isOwner || body.write === true,
  };
}

export function turnOf(body: TurnBody): Turn {
  return {
    ...EMPTY_TURN,
    key: body.request ?? body.run,
    run: body.run,
    question: body.question,
    answer: body.answer,
    citations: body.citations ?? [],
    fileNames: body.files ?? [],
    status: body.question === null ? "expired" : body.status,
    startedAtMs: body.started_at_ms,
    isOwn: body.own,
    user: body.user ?? null,
  };
}

/** Newest first; a later file of the same name replaces the earlier one. */
export function mergeFiles(files: readonly SessionFile[], added: readonly SessionFile[]): readonly SessionFile[] {
  const names = new Set(added.map((file) => file.name));
  return [...added.toReversed(), ...files.filter((file) => !names.has(file.name))];
}
