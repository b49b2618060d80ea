import { memo, type ReactNode, useMemo, useState } from "react";
import type { Lane, PlanStep, Run } from "../../store/types";
import { useWords, type Words } from "../../words";
import { formatClock, formatMoney, formatTokens } from "../../words/numbers";
import { lastLine, NO_WORK, type StepWork, workOfSteps } from "../lanes";
import { awaitsPlan } from "../panel/turn";
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
  const work = useMemo(() => workOfSteps(run), [run]);
  const status = useMemo(() => new Map((steps ?? []).map((step) => [step.id, step.status])), [steps]);
  if (!run.plan) return <p className={styles.none}>{awaitsPlan(run) ? words.plan.awaited : words.plan.none}</p>;
  const card = (step: PlanStep): ReactNode => {
    const { lane, tokens, microUsd, isWaiting } = work.get(step.id) ?? NO_WORK;
    const hasEnded = run.end !== null;
    // A clock stands still while its agent waits.
    const endMs = lane?.endedAtMs ?? (hasEnded || isWaiting ? run.lastEventAtMs : null);
    const waits = step.depends_on.filter((id) => !/^(?:completed|skipped)$/.test(status.get(id) ?? "")).length;
    const all = { step, lane, tokens, microUsd, isWaiting, endMs, waits, hasEnded, onOpenLane };
    return <StepCard {...all} />;
  };
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
                        {card(step)}
                      </li>
                    ))}
                  </ol>
                </>
              ) : (
                card(first)
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

/** True if a stop of the run ended the work on a step, before or after the run itself. */
const isStopped = (step: PlanStep, lane: Lane | null, hasEnded: boolean): boolean =>
  (hasEnded && step.status === "in_progress") || (lane?.status === "stopped" && step.status === "blocked");

function markOf(step: PlanStep, lane: Lane | null, isAsking: boolean, hasEnded: boolean): MarkKind {
  if (isAsking) return "ask";
  if (isStopped(step, lane, hasEnded)) return "skip";
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

function stateWords({ step, lane, waits, hasEnded }: StepCardProps, words: Words): string {
  if (isStopped(step, lane, hasEnded)) return words.talk.turnStatus.stopped;
  if (hasEnded && step.status === "not_started") return words.plan.status.not_started;
  if (step.status !== "not_started") return step.agent || words.plan.status[step.status];
  return waits > 0 ? words.plan.waitsFor(waits) : step.agent || words.plan.status.not_started;
}

/** Values and objects that stay the same while nothing about the step changes. */
interface StepCardProps extends StepWork {
  readonly step: PlanStep;
  /** The end of its clock; null while the clock runs. */
  readonly endMs: number | null;
  /** The steps that must end before. */
  readonly waits: number;
  readonly hasEnded: boolean;
  readonly onOpenLane: (path: string) => void;
}

const StepCard = memo(function StepCard(props: StepCardProps): ReactNode {
  const { step, lane, tokens, microUsd, isWaiting, endMs, hasEnded, onOpenLane } = props;
  const words = useWords();
  const isAsking = usePage(canDecide) && isWaiting;
  const now = useServerNow(lane !== null && endMs === null);
  const mark = markOf(step, lane, isAsking, hasEnded);
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
            <span>{stateWords(props, words)}</span>
          )}
          {lane && step.status !== "not_started" ? (
            <span>{formatClock((endMs ?? now) - lane.startedAtMs)}</span>
          ) : null}
          {tokens > 0 ? <span>{words.usage.tokenCount(formatTokens(tokens))}</span> : null}
          {microUsd !== null ? <span>{formatMoney(microUsd)}</span> : null}
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
