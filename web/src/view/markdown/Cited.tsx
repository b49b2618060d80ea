import { type ReactNode, useMemo } from "react";
import type { Citation } from "../../store/types";
import { conversationOf, usePage } from "../store";
import { CitedSourcesContext, useSurroundings } from "./context";

const NO_CITATIONS: readonly Citation[] = [];

/** A text of an answer: a citation shows its source beside the conversation. */
export function CitedInTurn({ turn, children }: { turn: string; children: ReactNode }): ReactNode {
  const { openSource } = useSurroundings();
  const citations = usePage(
    (state) => conversationOf(state)?.turns.findLast((other) => other.key === turn)?.citations ?? NO_CITATIONS,
  );
  const open = useMemo(() => (n: number) => openSource(turn, n), [openSource, turn]);
  return (
    <Cited citations={citations} open={open}>
      {children}
    </Cited>
  );
}

/** A text with citations; they are links unless `open` shows them. */
export function Cited({
  citations,
  open = null,
  children,
}: {
  citations: readonly Citation[] | undefined;
  open?: ((n: number) => void) | null;
  children: ReactNode;
}): ReactNode {
  const sources = useMemo(
    () => ({ byNumber: new Map((citations ?? []).map((citation) => [citation.n, citation])), open }),
    [citations, open],
  );
  return <CitedSourcesContext value={sources}>{children}</CitedSourcesContext>;
}
