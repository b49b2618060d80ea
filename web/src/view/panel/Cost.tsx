import type { ReactNode } from "react";
import type { Run, Turn } from "../../store/types";
import { useWords } from "../../words";
import { formatMoney, formatTokens } from "../../words/numbers";
import { runTotals } from "../lanes";
import styles from "./panel.module.css";

/** One figure for the whole run. */
export function Cost({ run, budget }: { run: Run; budget: Turn["budget"] }): ReactNode {
  const words = useWords();
  const { tokens, microUsd: money, modelCalls, toolCalls } = runTotals(run);
  const limit = budget?.micro_usd.limit ?? null;
  const tokenLimit = budget?.tokens.limit ?? null;
  const share =
    limit !== null && money !== null
      ? { value: money, max: limit }
      : tokenLimit !== null
        ? { value: tokens, max: tokenLimit }
        : null;
  const tokenText = words.usage.tokenCount(
    tokenLimit === null ? formatTokens(tokens) : words.usage.of(formatTokens(tokens), formatTokens(tokenLimit)),
  );
  return (
    <div className={styles.cost}>
      <div className={styles.costRow}>
        <span>{words.usage.run}</span>
        <span>
          {money === null
            ? tokenText
            : limit === null
              ? formatMoney(money)
              : words.usage.of(formatMoney(money), formatMoney(limit))}
        </span>
      </div>
      {share ? (
        <meter
          className={styles.meter}
          min={0}
          max={Math.max(1, share.max)}
          value={Math.min(share.value, share.max)}
          aria-label={words.usage.run}
        />
      ) : null}
      <div className={`${styles.costRow} ${styles.costFaint}`}>
        <span>
          {words.usage.modelCalls(modelCalls)} · {words.usage.toolCallCount(toolCalls)}
        </span>
        {money === null ? null : <span>{tokenText}</span>}
      </div>
    </div>
  );
}
