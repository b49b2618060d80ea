import type { ReactNode } from "react";
import type { Following } from "../../store/types";
import { useWords } from "../../words";
import { ErrorBox } from "../parts/ErrorBox";
import parts from "../parts/parts.module.css";
import { useNow } from "../parts/time";
import { useActions, usePage } from "../store";
import styles from "./shell.module.css";

/** The state of the stream, if it is not live. */
export function FollowLine({ following }: { following: Following }): ReactNode {
  const words = useWords();
  const actions = useActions();
  const isOnline = usePage((state) => state.isOnline);
  const now = useNow(following.state === "reconnecting");
  if (following.state === "failed")
    return <ErrorBox error={following.error} title={words.follow.failed} onRetry={actions.retry} />;
  if (!isOnline && following.state !== "idle") return <Line text={words.follow.offline} />;
  if (following.state !== "reconnecting") return null;
  return (
    <Line text={words.follow.reconnecting(Math.max(0, Math.ceil((following.atMs - now) / 1_000)))}>
      <button type="button" className={parts.quiet} onClick={actions.retry}>
        {words.follow.now}
      </button>
    </Line>
  );
}

function Line({ text, children }: { text: string; children?: ReactNode }): ReactNode {
  return (
    <div className={styles.follow}>
      <span className={styles.broken} aria-hidden="true" />
      <span>{text}</span>
      {children}
    </div>
  );
}
