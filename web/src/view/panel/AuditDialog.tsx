import { type ReactNode, useEffect, useState } from "react";
import type { AuditLine, Loadable } from "../../store/types";
import { textIn, useLanguage, useWords, type Words } from "../../words";
import { formatDay } from "../../words/numbers";
import { PlainText } from "../markdown/Blocks";
import { Dialog } from "../parts/Dialog";
import { ErrorBox } from "../parts/ErrorBox";
import parts from "../parts/parts.module.css";
import { Hidden } from "../requests/Hidden";
import { isObject } from "../requests/schema";
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
      <div className={parts.end}>
        <button type="button" className={`${parts.button} ${parts.plain}`} onClick={onClose}>
          {words.page.close}
        </button>
      </div>
    </Dialog>
  );
}

function Line({ line }: { line: AuditLine }): ReactNode {
  const words = useWords();
  const language = useLanguage();
  const what = String(line.what);
  const detail = JSON.stringify(line.detail ?? {}, null, 2);
  return (
    <li>
      <div className={styles.auditHead}>
        <b>{textIn(words.usage.auditKinds, what) ?? what}</b>
        <span>{summaryOf(line, words)}</span>
        <span>{typeof line.at_ms === "number" ? formatDay(line.at_ms, language) : ""}</span>
      </div>
      <Hidden text={detail} />
      <details>
        <summary>{words.usage.record}</summary>
        <p>
          {words.usage.hash} <code>{String(line.hash ?? "")}</code>
        </p>
        <PlainText text={detail} />
      </details>
    </li>
  );
}

/** Returns what a line is about, and who: the response, the title, or the words. */
function summaryOf(line: AuditLine, words: Words): string {
  if (!isObject(line.detail)) return "";
  const { response, question, text, by, user, requests } = line.detail;
  const asked = Array.isArray(requests) ? requests.flatMap((one: unknown) => (isObject(one) ? (one.tool ?? one.about) : [])) : [];
  const about =
    typeof response === "string" ? (textIn(words.requests.resolved, response) ?? response) : (question ?? text ?? asked.join(", "));
  const who = by ?? user;
  return [about, who].filter((part): part is string => typeof part === "string" && part !== "").map(cut).join(" · ");
}

const cut = (text: string): string => (text.length > 120 ? `${text.slice(0, 118)}…` : text);
