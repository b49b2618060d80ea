import type { ReactNode } from "react";
import { useWords } from "../../words";
import { ErrorBox } from "../parts/ErrorBox";
import parts from "../parts/parts.module.css";
import { useActions, usePage } from "../store";
import styles from "./shell.module.css";

/** Errors without a place of their own, and a new version. */
export function Notices(): ReactNode {
  const words = useWords();
  const actions = useActions();
  const notices = usePage((state) => state.notices);
  const hasNewVersion = usePage((state) => state.hasNewVersion);
  if (notices.length === 0 && !hasNewVersion) return null;
  return (
    <div className={styles.notices} role="region" aria-label={words.errors.title}>
      {hasNewVersion ? (
        <p className={styles.notice}>
          {words.page.newVersion}
          <button type="button" className={parts.quiet} onClick={() => location.reload()}>
            {words.page.reload}
          </button>
        </p>
      ) : null}
      {notices.map((notice) => (
        <ErrorBox key={notice.id} error={notice.error}>
          <button type="button" className={parts.button} onClick={() => actions.dismissNotice(notice.id)}>
            {words.page.dismiss}
          </button>
        </ErrorBox>
      ))}
    </div>
  );
}
