import { type ReactNode, useEffect, useState } from "react";
import { useWords } from "../../words";
import styles from "./parts.module.css";

/** Copies a text, and says so for two seconds. */
export function CopyButton({ text, label, name }: { text: () => string; label?: string; name?: string }): ReactNode {
  const words = useWords();
  const [isCopied, setIsCopied] = useState(false);
  useEffect(() => {
    if (!isCopied) return;
    const timer = setTimeout(() => setIsCopied(false), 2_000);
    return () => clearTimeout(timer);
  }, [isCopied]);
  const copy = (): void => {
    navigator.clipboard.writeText(text()).then(
      () => setIsCopied(true),
      () => undefined,
    );
  };
  return (
    <button type="button" className={styles.quiet} aria-label={label} onClick={copy}>
      {isCopied ? words.talk.copied : (name ?? words.talk.copy)}
    </button>
  );
}
