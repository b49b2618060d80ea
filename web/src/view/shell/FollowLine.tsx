import type { ReactNode } from "react";
import type { Following } from "../../store/types";
import { useLanguage, useWords } from "../../words";
import { sentenceOfError } from "../../words/errors";
import { ErrorBox } from "../parts/ErrorBox";
import parts from "../parts/parts.module.css";
import { useNow } from "../parts/time";
import { useActions, usePage } from "../store";
import styles from "./shell.module.css";

/** The state of the stream, if it is not live. */
export function FollowLine({ following }: { following: Following | null }): ReactNode {
  const words = useWords();
  const language = useLanguage();
  const actions = useActions();
  const isOnline = usePage((state) => state.isOnline);
  const now = useNow(following?.state === "reconnecting");
  const isIdle = following === null || following.state === "idle";
  if (following?.state === "failed")
    return <ErrorBox error={following.error} title={words.follow.failed} onRetry={actions.retry} />;
  if (!isOnline) return <Line text={isIdle ? words.page.offline : words.follow.offline} />;
  if (following?.state !== "reconnecting") return null;
  // A cause other than a broken connection, such as a limit, has a sentence of its own.
  const hasCause =
    following.error !== null && following.error.code !== "offline" && following.error.code !== "unreadable";
  const cause = following.error && hasCause ? sentenceOfError(following.error, language) : words.follow.broke;
  return (
    <Line text={`${cause} ${words.follow.again(Math.max(0, Math.ceil((following.atMs - now) / 1_000)))}`}>
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
