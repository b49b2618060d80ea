import type { ReactNode } from "react";
import { useWords } from "../../words";
import { hasHidden, spellHidden } from "./characters";
import styles from "./requests.module.css";

/** Shows the hidden characters of a text. */
export function Hidden({ text }: { text: string }): ReactNode {
  const words = useWords();
  if (!hasHidden(text)) return null;
  return (
    <span className={styles.hidden}>
      <span>{words.requests.hidden}: </span>
      {spellHidden(text.slice(0, 2_000)).map((piece, index) =>
        piece.isHidden ? <mark key={index}>⟨{piece.text}⟩</mark> : <span key={index}>{piece.text}</span>,
      )}
    </span>
  );
}
