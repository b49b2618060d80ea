import type { ReactNode } from "react";
import type { Run } from "../../store/types";
import { conversationOf, usePage } from "../store";
import { RequestCard, ResolvedLine } from "./Card";

/** A request where it was asked: a card while it waits, one line afterwards. */
export function RequestSlot({ run, request }: { run: Run; request: string }): ReactNode {
  const state = run.requests.get(request);
  const progress = usePage((page) => {
    const sending = conversationOf(page)?.sendingResponses;
    return sending?.get(request) ?? sending?.get(state?.group ?? "") ?? null;
  });
  if (!state) return null;
  return state.isOpen ? (
    <RequestCard run={run} state={state} progress={progress} />
  ) : (
    <ResolvedLine run={run} state={state} />
  );
}
