import { type ReactNode, useState } from "react";
import { useWords } from "../../words";
import { Markdown } from "../markdown/Markdown";
import styles from "./talk.module.css";

/** The model's reasoning, folded. */
export function Reasoning({ text, isWhole }: { text: string; isWhole: boolean }): ReactNode {
  const words = useWords();
  const [isOpen, setIsOpen] = useState(false);
  return (
    <div className={styles.item}>
      <button type="button" className={styles.itemHead} aria-expanded={isOpen} onClick={() => setIsOpen(!isOpen)}>
        <span className={isWhole ? styles.dot : styles.dotLive} aria-hidden="true" />
        <span className={styles.lineText}>{words.talk.reasoning}</span>
      </button>
      {isOpen ? (
        <div className={styles.reasoning}>
          <Markdown text={text} isWhole={isWhole} isSmall />
        </div>
      ) : null}
    </div>
  );
}
