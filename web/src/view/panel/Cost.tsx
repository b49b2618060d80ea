import type { ReactNode } from "react";
import type { Run, Turn } from "../../store/types";
import { useWords } from "../../words";
import { formatMoney, formatTokens } from "../../words/numbers";
import { totalsBelow } from "../lanes";
import styles from "./panel.module.css";

/** One figure for the whole run. */
export function Cost({ run, budget }: { run: Run; budget: Turn["budget"] }): ReactNode {
  const words = useWords();
  const totals = totalsBelow(run, "");
  const spent = run.end?.spent;
  const money = spent ? (spent.usage.micro_usd ?? null) : totals.microUsd;
  const tokens = spent ? spent.usage.input_tokens + spent.usage.output_tokens : totals.tokens;
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
          {words.usage.modelCalls(spent?.model_calls ?? totals.modelCalls)} ·{" "}
          {words.usage.toolCallCount(spent?.tool_calls ?? totals.toolCalls)}
        </span>
        {money === null ? null : <span>{tokenText}</span>}
      </div>
    </div>
  );
}
