import type { ReactNode } from "react";
import styles from "./parts.module.css";

export type MarkKind = "open" | "work" | "ask" | "done" | "bad" | "skip";

const CLASSES: Readonly<Record<MarkKind, string | undefined>> = {
  open: undefined,
  work: styles.markWork,
  ask: styles.markAsk,
  done: styles.markDone,
  bad: styles.markBad,
  skip: styles.markSkip,
};

/** The state of a step or an agent, as a shape. `label` is its name for screen readers. */
export function Mark({ kind, label }: { kind: MarkKind; label: string }): ReactNode {
  return <span role="img" aria-label={label} className={`${styles.mark} ${CLASSES[kind] ?? ""}`} />;
}
