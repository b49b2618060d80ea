import type { ReactNode } from "react";
import { useWords } from "../../words";
import { excerptHidden, hasHidden } from "./characters";
import styles from "./requests.module.css";

/** The hidden characters that are spelled out; the rest is counted. */
const MOST = 50;

/** Shows the hidden characters of a text, with the characters around them. */
export function Hidden({ text }: { text: string }): ReactNode {
  const words = useWords();
  if (!hasHidden(text)) return null;
  const { pieces, rest } = excerptHidden(text, MOST);
  return (
    <span className={styles.hidden}>
      <span>{words.requests.hidden}: </span>
      {pieces.map((piece, index) =>
        piece.isHidden ? <mark key={index}>⟨{piece.text}⟩</mark> : <span key={index}>{piece.text}</span>,
      )}
      {rest > 0 ? <span> {words.requests.hiddenMore(rest)}</span> : null}
    </span>
  );
}
