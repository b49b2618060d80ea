import { type ReactNode, useRef } from "react";
import type { Run } from "../../store/types";
import { useWords } from "../../words";
import { Mark } from "../parts/Mark";
import parts from "../parts/parts.module.css";
import { openRequests, useActions } from "../store";
import { useArmed } from "./armed";
import { decisionOf, editKey, useIsAnyUnready } from "./edits";
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
  const isUnready = useIsAnyUnready(open.map(({ request }) => editKey(run.id, request)));
  if (open.length === 0 || isInView) return null;
  // Calls, or results, can be decided together; a question, a plan or a budget is decided on its own.
  const kinds = open.map((state) => kindOf(state.request));
  const areCalls = kinds.length > 1 && kinds.every((kind) => kind === "call" || kind === "write");
  const areResults = kinds.length > 1 && kinds.every((kind) => kind === "result");
  const skipAll = (): void => {
    if (!isArmed()) return;
    for (const group of new Set(open.map((state) => state.group))) actions.respondGroup(group, { kind: "skip" });
  };
  /** A group whose cards have no changes is allowed as one; the other requests one by one, as their cards show them. */
  const allowAll = (): void => {
    if (!isArmed()) return;
    const allowed = open.map(({ request, group }) => ({ id: request.id, group, decision: decisionOf(run.id, request) }));
    const changed = new Set(allowed.flatMap(({ group, decision }) => (decision.kind === "modify" ? [group] : [])));
    for (const { id, group, decision } of allowed) if (changed.has(group)) actions.respond(id, decision);
    for (const group of new Set(allowed.map(({ group }) => group)))
      if (!changed.has(group)) actions.respondGroup(group, { kind: "confirm" });
  };
  return (
    <div ref={place} className={styles.tray} role="region" aria-label={words.requests.trayLabel}>
      <Mark kind="ask" label={words.rail.markWaiting} />
      <span>{words.requests.tray(open.length)}</span>
      <button type="button" className={parts.quiet} onClick={onShow}>
        {words.requests.show}
      </button>
      {areCalls || areResults ? (
        <button
          type="button"
          className={parts.quiet}
          disabled={isUnready}
          title={isUnready ? words.requests.unready : undefined}
          aria-disabled={!looksArmed}
          onClick={allowAll}
        >
          {areCalls ? words.requests.allowAll : words.requests.acceptAll}
        </button>
      ) : null}
      {areCalls ? (
        <button type="button" className={parts.quiet} aria-disabled={!looksArmed} onClick={skipAll}>
          {words.requests.skipAll}
        </button>
      ) : null}
    </div>
  );
}
