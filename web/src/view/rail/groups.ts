/** The conversations of the list, grouped by what they wait for and by day. */

import type { ConversationSummary } from "../../store/types";

export type GroupName = "waiting" | "today" | "yesterday" | "week" | "older" | "shared";

export interface Group {
  readonly name: GroupName;
  readonly items: readonly ConversationSummary[];
}

const DAY_MS = 86_400_000;
const ORDER: readonly GroupName[] = ["waiting", "today", "yesterday", "week", "older", "shared"];

function startOfDay(nowMs: number): number {
  const day = new Date(nowMs);
  day.setHours(0, 0, 0, 0);
  return day.getTime();
}

export function groupConversations(items: readonly ConversationSummary[], nowMs: number): readonly Group[] {
  const today = startOfDay(nowMs);
  const groups = new Map<GroupName, ConversationSummary[]>(ORDER.map((name) => [name, []]));
  for (const item of items) groups.get(nameOf(item, today))?.push(item);
  return ORDER.map((name) => ({ name, items: groups.get(name) ?? [] })).filter((group) => group.items.length > 0);
}

function nameOf(item: ConversationSummary, today: number): GroupName {
  if (item.mark === "waiting") return "waiting";
  if (item.owner !== null) return "shared";
  if (item.lastActiveAtMs >= today) return "today";
  if (item.lastActiveAtMs >= today - DAY_MS) return "yesterday";
  return item.lastActiveAtMs >= today - 7 * DAY_MS ? "week" : "older";
}
