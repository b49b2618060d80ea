import { lazy, type ReactNode, Suspense } from "react";
import type { Run } from "../../store/types";
import { Boundary } from "../parts/Boundary";
import { conversationOf, usePage } from "../store";

/** Cards and their forms are loaded with the first request. */
const Card = lazy(() => import("./Card").then(({ RequestCard: view }) => ({ default: view })));
const Line = lazy(() => import("./Card").then(({ ResolvedLine: view }) => ({ default: view })));

/** A request where it was asked: a card while it waits, one line afterwards. */
export function RequestSlot({ run, request }: { run: Run; request: string }): ReactNode {
  const state = run.requests.get(request);
  const progress = usePage((page) => {
    const sending = conversationOf(page)?.sendingResponses;
    return sending?.get(request) ?? sending?.get(state?.group ?? "") ?? null;
  });
  if (!state) return null;
  return (
    <Boundary>
      <Suspense>
        {state.isOpen ? <Card run={run} state={state} progress={progress} /> : <Line run={run} state={state} />}
      </Suspense>
    </Boundary>
  );
}
