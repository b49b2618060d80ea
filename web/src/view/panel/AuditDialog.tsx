import { type ReactNode, useEffect, useState } from "react";
import type { AuditLine, Loadable } from "../../store/types";
import { useLanguage, useWords } from "../../words";
import { formatDay } from "../../words/numbers";
import { PlainText } from "../markdown/Blocks";
import { Dialog } from "../parts/Dialog";
import { ErrorBox } from "../parts/ErrorBox";
import { Hidden } from "../requests/Hidden";
import { useActions } from "../store";
import styles from "./panel.module.css";

const LOADING: Loadable<readonly AuditLine[]> = { state: "loading" };

/** Requests, decisions, messages and changes of a run, with the hashes of their records. */
export default function AuditDialog({ run, onClose }: { run: string; onClose: () => void }): ReactNode {
  const words = useWords();
  const actions = useActions();
  const [lines, setLines] = useState(LOADING);
  useEffect(() => {
    let isCurrent = true;
    void actions.loadAudit(run).then((loaded) => {
      if (isCurrent) setLines(loaded);
    });
    return () => {
      isCurrent = false;
    };
  }, [actions, run]);
  return (
    <Dialog title={words.usage.auditTitle} onClose={onClose} size="wide">
      {lines.state === "loading" ? <p>{words.page.loading}</p> : null}
      {lines.state === "failed" ? <ErrorBox error={lines.error} /> : null}
      {lines.state === "ready" ? (
        <ol className={styles.audit}>
          {lines.value.map((line, index) => (
            <Line key={index} line={line} />
          ))}
        </ol>
      ) : null}
    </Dialog>
  );
}

function Line({ line }: { line: AuditLine }): ReactNode {
  const language = useLanguage();
  const detail = JSON.stringify(line.detail ?? {}, null, 2);
  return (
    <li>
      <div className={styles.auditHead}>
        <b>{String(line.what)}</b>
        <span>{typeof line.at_ms === "number" ? formatDay(line.at_ms, language) : ""}</span>
        <code>{String(line.hash ?? "").slice(0, 12)}</code>
      </div>
      <PlainText text={detail} />
      <Hidden text={detail} />
    </li>
  );
}
