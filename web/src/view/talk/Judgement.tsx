import { type ReactNode, useState } from "react";
import { Icon } from "../parts/Icon";
import styles from "./talk.module.css";

interface JudgementProps {
  readonly head: string;
  readonly reasons: readonly string[];
  readonly hasFailed: boolean;
}

/** A judgement on an answer as one line, which opens to its reasons. */
export function Judgement({ head, reasons, hasFailed }: JudgementProps): ReactNode {
  const [isOpen, setIsOpen] = useState(false);
  return (
    <div className={styles.work}>
      <button type="button" className={styles.line} aria-expanded={isOpen} onClick={() => setIsOpen(!isOpen)}>
        <span className={hasFailed ? styles.dotBad : styles.dot} aria-hidden="true" />
        <span className={styles.lineText}>{head}</span>
        <span className={isOpen ? styles.chevronOpen : styles.chevron}>
          <Icon name="chevron" />
        </span>
      </button>
      {isOpen ? (
        <ul className={styles.reasons}>
          {reasons.map((reason, index) => (
            <li key={index}>
              <bdi>{reason}</bdi>
            </li>
          ))}
        </ul>
      ) : null}
    </div>
  );
}
