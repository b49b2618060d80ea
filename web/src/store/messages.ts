// Messages to the run at work, until the run has them. A message that no run will have goes back into the box.

import { errorOf } from "../wire/error";
import type { Routes } from "../wire/routes";
import type { OpenConversation } from "./open_conversation";
import type { PendingMessage, Run } from "./types";

/** Sends a message. It is shown as unread until the run repeats it as an event. */
export async function sendMessage(routes: Routes, open: OpenConversation, id: string, text: string): Promise<void> {
  const run = open.activeRun;
  if (run === null) return;
  const detail = open.conversation.turns.at(-1)?.detail;
  const rows = detail?.lanes.get("")?.rows ?? [];
  const after = rows.filter((row) => row.kind === "user_message").length;
  change(open, id, { id, text, error: null, isStored: false, after });
  open.kept.add({ id, text, run });
  try {
    await routes.message(run, text, id);
    open.kept.remove(id);
    const { unreadMessages } = open.conversation;
    const message = unreadMessages.find((other) => other.id === id);
    if (message) change(open, id, open.activeRun === run ? { ...message, isStored: true } : null);
    open.wake();
  } catch (error) {
    const message = open.conversation.unreadMessages.find((other) => other.id === id);
    if (!message) return;
    change(open, id, { ...message, error: errorOf(error) });
    if (open.isClosed || open.activeRun !== run) returnUnsent(open);
  }
}

/** Sends one message again. */
export async function retryMessage(routes: Routes, open: OpenConversation, id: string): Promise<void> {
  const message = open.conversation.unreadMessages.find((message) => message.id === id);
  if (message) await sendMessage(routes, open, id, message.text);
}

/** Sends the messages again that did not reach the server. */
export function retryMessages(routes: Routes, open: OpenConversation): void {
  for (const { id, text, error } of open.conversation.unreadMessages) {
    if (error?.status === 0) void sendMessage(routes, open, id, text);
  }
}

/** Sends the messages again that a reload interrupted. Without their run, their texts go back into the box. */
export function resumeMessages(routes: Routes, open: OpenConversation): void {
  const kept = open.kept.load();
  const isFor = (run: string): boolean => run === open.activeRun;
  for (const { id, text, run } of kept) if (isFor(run)) void sendMessage(routes, open, id, text);
  const left = kept.filter(({ run }) => !isFor(run));
  if (left.length === 0) return;
  open.kept.remove(...left.map(({ id }) => id));
  open.returnText(left.map(({ text }) => text).join("\n\n"));
}

/** Removes the messages that the run has repeated as events; at its end, all but those on their way. */
export function forgetReadMessages(open: OpenConversation, run: Run): void {
  const waiting = open.conversation.unreadMessages;
  if (waiting.length === 0) return;
  const arrived = (run.lanes.get("")?.rows ?? []).flatMap((row) => (row.kind === "user_message" ? [row.text] : []));
  const rest = waiting.filter(
    (message) => !arrived.slice(message.after).includes(message.text) && !(run.end && message.isStored),
  );
  if (rest.length !== waiting.length) open.update({ unreadMessages: rest });
  if (run.end) returnUnsent(open);
}

/** Puts the messages that failed back into the box. */
export function returnUnsent(open: OpenConversation): void {
  const { unreadMessages } = open.conversation;
  const failed = unreadMessages.filter(({ error }) => error !== null);
  if (failed.length === 0) return;
  open.update({ unreadMessages: unreadMessages.filter(({ error }) => error === null) });
  open.kept.remove(...failed.map(({ id }) => id));
  open.returnText(failed.map(({ text }) => text).join("\n\n"));
}

/** Puts a message in the place of its earlier state; null removes it. */
function change(open: OpenConversation, id: string, message: PendingMessage | null): void {
  open.update(({ unreadMessages }) => ({
    unreadMessages: unreadMessages.some((other) => other.id === id)
      ? unreadMessages.flatMap((other) => (other.id === id ? (message ?? []) : other))
      : [...unreadMessages, ...(message ? [message] : [])],
  }));
}
