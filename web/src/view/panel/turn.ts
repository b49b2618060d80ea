/** The turn that the panel shows. */

import type { Conversation, Run, Turn } from "../../store/types";
import { newestTurn } from "../store";

/** The mode in which each question has a plan. */
export const PLANNING = "plan_solve";

/** True if a run at work will make a plan. */
export const awaitsPlan = (run: Run): boolean => run.mode === PLANNING && run.plan === null && run.end === null;

/** True if the panel has something to show of a turn. */
export const hasWork = ({ detail: run }: Turn): boolean =>
  run !== null && (run.plan !== null || run.files.size > 0 || run.sources.size > 0 || (run.end?.citations.length ?? 0) > 0);

/** The newest turn; after one that ended without work, the latest with some. */
export function turnOfPanel(conversation: Conversation | null): Turn | null {
  const turn = newestTurn(conversation);
  if (!turn || hasWork(turn) || !/^(?:failed|stopped|unsent)$/.test(turn.status)) return turn;
  return conversation?.turns.findLast(hasWork) ?? turn;
}
