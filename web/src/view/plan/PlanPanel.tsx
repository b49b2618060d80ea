import { memo, type ReactNode, useMemo, useState } from "react";
import type { Lane, PlanStep, Run } from "../../store/types";
import { useWords, type Words } from "../../words";
import { formatClock, formatMoney, formatTokens } from "../../words/numbers";
import { laneOfStep, lastLine, openRequestsBelow, totalsBelow } from "../lanes";
import { Mark, type MarkKind } from "../parts/Mark";
import parts from "../parts/parts.module.css";
import { useServerNow } from "../parts/time";
import { canDecide, usePage } from "../store";
import styles from "./plan.module.css";
import { layersOf } from "./steps";

/** The steps that are shown at first. */
const FIRST_STEPS = 200;

interface PlanPanelProps {
  readonly run: Run;
  readonly onOpenLane: (path: string) => void;
}

/** The steps by dependency; parallel ones side by side. */
export function PlanPanel({ run, onOpenLane }: PlanPanelProps): ReactNode {
  const words = useWords();
  const [isWhole, setIsWhole] = useState(false);
  const steps = run.plan?.steps;
  const layers = useMemo(() => layersOf((steps ?? []).slice(0, isWhole ? undefined : FIRST_STEPS)), [steps, isWhole]);
  if (!run.plan) return <p className={styles.none}>{words.plan.none}</p>;
  return (
    <div className={styles.plan}>
      {run.plan.title ? <h3 className={styles.title}>{run.plan.title}</h3> : null}
      <ol>
        {layers.map((layer) => {
          const first = layer[0];
          return first ? (
            <li key={first.id} className={styles.layer}>
              {layer.length > 1 ? (
                <>
                  <p className={styles.atOnce}>{words.plan.atOnce(layer.length)}</p>
                  <ol className={styles.parallel}>
                    {layer.map((step) => (
                      <li key={step.id} className={styles.many}>
                        <StepCard run={run} step={step} onOpenLane={onOpenLane} />
                      </li>
                    ))}
                  </ol>
                </>
              ) : (
                <StepCard run={run} step={first} onOpenLane={onOpenLane} />
              )}
            </li>
          ) : null;
        })}
      </ol>
      {run.plan.steps.length > FIRST_STEPS && !isWhole ? (
        <button type="button" className={parts.quiet} onClick={() => setIsWhole(true)}>
          {words.plan.showAll(run.plan.steps.length)}
        </button>
      ) : null}
    </div>
  );
}

function markOf(step: PlanStep, lane: Lane | null, isAsking: boolean, hasEnded: boolean): MarkKind {
  if (isAsking) return "ask";
  if (hasEnded && step.status === "in_progress") return "skip";
  if (lane?.status === "failed") return "bad";
  switch (step.status) {
    case "completed":
      return "done";
    case "in_progress":
      return "work";
    case "blocked":
      return "bad";
    case "skipped":
      return "skip";
    case "not_started":
      return "open";
  }
}

function stateWords(step: PlanStep, run: Run, words: Words): string {
  if (run.end !== null && step.status === "in_progress") return words.talk.turnStatus.stopped;
  if (run.end !== null && step.status === "not_started") return words.plan.status.not_started;
  if (step.status !== "not_started") return step.agent || words.plan.status[step.status];
  const waits = step.depends_on.filter((id) => {
    const status = run.plan?.steps.find((other) => other.id === id)?.status;
    return status !== "completed" && status !== "skipped";
  }).length;
  return waits > 0 ? words.plan.waitsFor(waits) : step.agent || words.plan.status.not_started;
}

/** True if the start or the result of a step waits for a user. */
const isReviewed = (run: Run, step: PlanStep): boolean =>
  [...run.requests.values()].some(({ isOpen, request }) => isOpen && "step" in request && request.step === step.id);

const StepCard = memo(function StepCard({ run, step, onOpenLane }: PlanPanelProps & { step: PlanStep }): ReactNode {
  const words = useWords();
  const lane = laneOfStep(run, step.id);
  const isMine = usePage(canDecide);
  const isWaiting = isReviewed(run, step) || (lane !== null && lane.endedAtMs === null && openRequestsBelow(run, lane.path).length > 0);
  const isAsking = isMine && isWaiting;
  // A clock stands still while its agent waits.
  const isRunning = lane !== null && lane.endedAtMs === null && run.end === null && !isWaiting;
  const now = useServerNow(isRunning);
  const mark = markOf(step, lane, isAsking, run.end !== null);
  const totals = lane ? totalsBelow(run, lane.path) : null;
  const line = lane ? lastLine(lane) : step.note;
  const body = (
    <>
      <Mark
        kind={mark}
        label={
          isAsking
            ? words.plan.asksYou
            : mark === "skip"
              ? words.talk.turnStatus.stopped
              : words.plan.status[step.status]
        }
      />
      <span className={styles.body}>
        <span className={styles.name}>{step.stage || step.details}</span>
        {step.stage ? <span className={styles.details}>{step.details}</span> : null}
        <span className={styles.facts}>
          {isAsking ? (
            <span className={styles.asks}>{words.plan.asksYou}</span>
          ) : (
            <span>{stateWords(step, run, words)}</span>
          )}
          {lane && step.status !== "not_started" ? (
            <span>{formatClock((lane.endedAtMs ?? (isRunning ? now : run.lastEventAtMs)) - lane.startedAtMs)}</span>
          ) : null}
          {totals && totals.tokens > 0 ? <span>{words.usage.tokenCount(formatTokens(totals.tokens))}</span> : null}
          {totals && totals.microUsd !== null ? <span>{formatMoney(totals.microUsd)}</span> : null}
        </span>
        {line ? <span className={styles.last}>{line}</span> : null}
      </span>
    </>
  );
  return lane ? (
    <button type="button" className={styles.card} onClick={() => onOpenLane(lane.path)}>
      {body}
    </button>
  ) : (
    <div className={styles.card}>{body}</div>
  );
});
