import { type ReactNode, useRef } from "react";
import type { Run } from "../../store/types";
import { useWords } from "../../words";
import { Mark } from "../parts/Mark";
import parts from "../parts/parts.module.css";
import { openRequests, useActions } from "../store";
import { useArmed } from "./armed";
import { useIsInView } from "./inView";
import { kindOf } from "./kinds";
import styles from "./requests.module.css";

interface TrayProps {
  readonly run: Run;
  /** Leads to the first open request. */
  readonly onShow: () => void;
}

/** All requests that wait, in one line above the box; nothing while the only one is in view. */
export function Tray({ run, onShow }: TrayProps): ReactNode {
  const words = useWords();
  const actions = useActions();
  const place = useRef<HTMLDivElement>(null);
  const { isArmed, looksArmed } = useArmed(place);
  const open = openRequests(run).flatMap((id) => run.requests.get(id) ?? []);
  const only = open.length === 1 ? (open[0]?.request.id ?? null) : null;
  const isInView = useIsInView(only);
  if (open.length === 0 || isInView) return null;
  // Calls can be decided together; a question, a plan or a budget is decided on its own.
  const areCalls =
    open.length > 1 && open.every((state) => kindOf(state.request) === "call" || kindOf(state.request) === "write");
  const groups = [...new Set(open.map((state) => state.group))];
  const decide = (kind: "confirm" | "skip"): void => {
    if (!isArmed()) return;
    for (const group of groups) actions.respondGroup(group, { kind });
  };
  return (
    <div ref={place} className={styles.tray} role="region" aria-label={words.requests.trayLabel}>
      <Mark kind="ask" label={words.rail.markWaiting} />
      <span>{words.requests.tray(open.length)}</span>
      <button type="button" className={parts.quiet} onClick={onShow}>
        {words.requests.show}
      </button>
      {areCalls ? (
        <>
          <button type="button" className={parts.quiet} aria-disabled={!looksArmed} onClick={() => decide("confirm")}>
            {words.requests.allowAll}
          </button>
          <button type="button" className={parts.quiet} aria-disabled={!looksArmed} onClick={() => decide("skip")}>
            {words.requests.skipAll}
          </button>
        </>
      ) : null}
    </div>
  );
}
