import { type ReactNode, useId } from "react";
import type { NeededKey } from "../../wire/contract";
import { useWords } from "../../words";
import parts from "../parts/parts.module.css";
import styles from "./requests.module.css";

interface KeyFieldProps {
  readonly needed: NeededKey;
  readonly isRejected: boolean;
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly onEnter: () => void;
}

/** One field for the reader's key, with the only server that receives it. */
export function KeyField({ needed, isRejected, value, onChange, onEnter }: KeyFieldProps): ReactNode {
  const words = useWords();
  const noteId = useId();
  return (
    <form
      className={styles.form}
      onSubmit={(event) => {
        event.preventDefault();
        onEnter();
      }}
    >
      {isRejected ? <p className={styles.wrong}>{words.requests.keyRejected(needed.origin)}</p> : null}
      <label className={styles.key}>
        <span>{words.requests.keyLabel(needed.name, needed.origin)}</span>
        <input
          className={`${parts.field} ${parts.isCode}`}
          type="password"
          autoComplete="off"
          spellCheck={false}
          value={value}
          aria-describedby={noteId}
          onChange={(event) => onChange(event.target.value)}
        />
      </label>
      <p id={noteId} className={styles.note}>
        {words.requests.keyNote(needed.origin)}
      </p>
    </form>
  );
}
