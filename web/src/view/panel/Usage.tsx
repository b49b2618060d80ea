import { lazy, type ReactNode, Suspense, useEffect, useState } from "react";
import type { Lane, Run, Turn } from "../../store/types";
import { type Words, useLanguage, useWords } from "../../words";
import { formatCount, formatDuration, formatMoney, formatTokens } from "../../words/numbers";
import { laneName, runTotals } from "../lanes";
import { useActions } from "../store";
import styles from "./panel.module.css";

const AuditDialog = lazy(() => import("./AuditDialog"));

interface UsageProps {
  readonly run: Run;
  readonly budget: Turn["budget"];
  /** The reader may see the audit: only who asked may. */
  readonly hasAudit: boolean;
}

interface Amount {
  readonly name: string;
  readonly spent: number;
  readonly limit: number | null;
  readonly format: (value: number) => string;
}

/** What the run has cost: against each budget, and by agent. */
export function Usage({ run, budget, hasAudit }: UsageProps): ReactNode {
  const words = useWords();
  const language = useLanguage();
  const [isAuditOpen, setIsAuditOpen] = useState(false);
  const { refreshBudget } = useActions();
  useEffect(() => refreshBudget(), [refreshBudget]);
  const lanes = [...run.lanes.values()];
  const hasMoney = lanes.some((lane) => lane.usage.micro_usd !== undefined);
  const count = (value: number): string => formatCount(value, language);
  const amounts: readonly Amount[] = budget
    ? [
        { name: words.usage.money, ...budget.micro_usd, format: formatMoney },
        { name: words.usage.tokens, ...budget.tokens, format: formatTokens },
        { name: words.usage.turns, ...budget.steps, format: count },
        { name: words.usage.toolCalls, ...budget.tool_calls, format: count },
        { name: words.usage.time, ...budget.wall_ms, format: formatDuration },
      ]
    : [];
  return (
    <>
      {amounts
        .filter((amount) => amount.spent > 0 || amount.limit !== null)
        .map((amount) => (
          <AmountView key={amount.name} amount={amount} words={words} />
        ))}
      {amounts.length === 0 ? <Summary run={run} words={words} /> : null}
      <h3 className={styles.heading}>{words.usage.lanes}</h3>
      <table className={styles.lanes}>
        <thead>
          <tr>
            <th scope="col">
              <span className="unseen">{words.plan.agent}</span>
            </th>
            <th scope="col">{words.usage.tokens}</th>
            {hasMoney ? <th scope="col">{words.usage.money}</th> : null}
          </tr>
        </thead>
        <tbody>
          {lanes.map((lane) => (
            <LaneRow key={lane.path} run={run} lane={lane} hasMoney={hasMoney} words={words} />
          ))}
        </tbody>
      </table>
      {hasAudit ? (
        <button type="button" className={styles.auditOpen} onClick={() => setIsAuditOpen(true)}>
          {words.usage.audit}
        </button>
      ) : null}
      <Suspense>{isAuditOpen ? <AuditDialog run={run.id} onClose={() => setIsAuditOpen(false)} /> : null}</Suspense>
    </>
  );
}

function Summary({ run, words }: { run: Run; words: Words }): ReactNode {
  const totals = runTotals(run);
  return (
    <p className={styles.summary}>
      {[
        words.usage.modelCalls(totals.modelCalls),
        words.usage.toolCallCount(totals.toolCalls),
        words.usage.tokenCount(formatTokens(totals.tokens)),
        totals.microUsd === null ? "" : formatMoney(totals.microUsd),
      ]
        .filter(Boolean)
        .join(" · ")}
    </p>
  );
}

function AmountView({ amount, words }: { amount: Amount; words: Words }): ReactNode {
  const { name, spent, limit, format } = amount;
  return (
    <div className={styles.amount}>
      <div className={styles.amountHead}>
        <span>{name}</span>
        <span>{limit === null ? format(spent) : words.usage.of(format(spent), format(limit))}</span>
      </div>
      {limit === null ? null : (
        <meter
          className={styles.meter}
          min={0}
          max={Math.max(1, limit)}
          value={Math.min(spent, limit)}
          aria-label={name}
        />
      )}
    </div>
  );
}

interface LaneRowProps {
  readonly run: Run;
  readonly lane: Lane;
  readonly hasMoney: boolean;
  readonly words: Words;
}

function LaneRow({ run, lane, hasMoney, words }: LaneRowProps): ReactNode {
  const { input_tokens, output_tokens, micro_usd } = lane.usage;
  const isBelowAnother = lane.parent !== null && lane.parent !== "";
  return (
    <tr>
      <th scope="row" className={isBelowAnother ? styles.deep : undefined}>
        {lane.path === "" ? words.usage.self : laneName(run, lane.path, words)}
      </th>
      <td>{formatTokens(input_tokens + output_tokens)}</td>
      {hasMoney ? <td>{micro_usd === undefined ? "–" : formatMoney(micro_usd)}</td> : null}
    </tr>
  );
}
