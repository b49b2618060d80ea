import type { ReactNode } from "react";
import type { ErrorInfo } from "../../store/types";
import { useLanguage, useWords } from "../../words";
import { sentenceOfError } from "../../words/errors";
import styles from "./parts.module.css";
import { useCountdown } from "./time";

interface ErrorBoxProps {
  readonly error: ErrorInfo;
  readonly title?: string;
  readonly onRetry?: () => void;
  readonly children?: ReactNode;
}

export function ErrorBox({ error, title, onRetry, children }: ErrorBoxProps): ReactNode {
  const words = useWords();
  const language = useLanguage();
  const left = useCountdown(error);
  const retry = error.isRetryable || error.status === 0 || error.status >= 500 ? onRetry : undefined;
  return (
    <div className={styles.error} role="group" aria-label={title ?? words.errors.title}>
      <div className={styles.errorHead}>{title ?? words.errors.title}</div>
      <div>{sentenceOfError(error, language)}</div>
      <div className={styles.errorFacts}>
        <span>
          {words.errors.code} <code>{error.code}</code>
        </span>
        {error.requestId ? (
          <span>
            {words.errors.requestId} <code>{error.requestId}</code>
          </span>
        ) : null}
      </div>
      {retry || children ? (
        <div className={styles.errorActs}>
          {retry ? (
            <button type="button" className={styles.button} disabled={left > 0} onClick={retry}>
              {left > 0 ? words.errors.retryIn(left) : words.errors.retry}
            </button>
          ) : null}
          {children}
        </div>
      ) : null}
    </div>
  );
}
