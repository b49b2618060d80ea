import { type ReactNode, useMemo, useState } from "react";
import type { CallRow, ToolResult } from "../../store/types";
import { useLanguage, useWords } from "../../words";
import { formatCount, formatDuration } from "../../words/numbers";
import { FileChip } from "../files/FileChip";
import { callLine, outcomeOf } from "../lanes";
import { PlainText } from "../markdown/Blocks";
import { Cited } from "../markdown/Cited";
import { allowedAddress, hostOf } from "../markdown/links";
import { Markdown } from "../markdown/Markdown";
import { Hidden } from "../requests/Hidden";
import { Rows } from "../rows/Rows";
import styles from "./talk.module.css";

/** A call: its line, and below it the arguments, the output and the result. */
export function CallView({ call }: { call: CallRow }): ReactNode {
  const words = useWords();
  const [isOpen, setIsOpen] = useState(false);
  const hasFailed = outcomeOf(call) === "failed";
  const isWorking = call.result === null && call.endedAtMs === null;
  return (
    <div className={styles.item}>
      <button type="button" className={styles.itemHead} aria-expanded={isOpen} onClick={() => setIsOpen(!isOpen)}>
        <span className={isWorking ? styles.dotLive : hasFailed ? styles.dotBad : styles.dot} aria-hidden="true" />
        <span className={styles.lineText}>{callLine(call.tool, call.arguments)}</span>
        <span className={styles.took}>
          {call.result?.status === "failed"
            ? words.work.reason[call.result.reason]
            : call.endedAtMs === null
              ? ""
              : formatDuration(call.endedAtMs - call.startedAtMs - call.waitedMs)}
        </span>
      </button>
      {isOpen ? <CallDetails call={call} /> : null}
    </div>
  );
}

function CallDetails({ call }: { call: CallRow }): ReactNode {
  const words = useWords();
  const text = useMemo(() => JSON.stringify(call.arguments, null, 2) ?? "", [call.arguments]);
  return (
    <div className={styles.details}>
      <p className={styles.label}>{words.work.arguments}</p>
      <PlainText text={text} />
      <Hidden text={text} />
      {call.progress && call.result === null ? (
        <>
          <p className={styles.label}>{words.work.progress}</p>
          <PlainText text={call.progress.text} />
          {call.progress.isCut ? <p>{words.work.progressCut}</p> : null}
        </>
      ) : null}
      <p className={styles.label}>{words.work.result}</p>
      {call.result ? <ResultView result={call.result} hasFailed={outcomeOf(call) === "failed"} /> : <p>{words.work.noResult}</p>}
    </div>
  );
}

function ResultView({ result, hasFailed }: { result: ToolResult; hasFailed: boolean }): ReactNode {
  const words = useWords();
  const language = useLanguage();
  if (result.status === "plan_refused") return <p>{words.work.planRefused}</p>;
  if (result.status === "failed") {
    return (
      <>
        <p className={hasFailed ? styles.bad : undefined}>{words.work.reason[result.reason]}</p>
        {result.detail ? <PlainText text={result.detail} /> : null}
      </>
    );
  }
  const { view } = result;
  return (
    <>
      {view.kind === "searched" ? (
        view.results.map((found) => (
          <div key={found.query} className={styles.found}>
            <p>{found.query}</p>
            <ul>
              {found.pages.map((page) => (
                <li key={page.url}>
                  <Page title={page.title} url={page.url} />
                </li>
              ))}
            </ul>
          </div>
        ))
      ) : view.kind === "rows" ? (
        <Rows results={view.results} />
      ) : result.text ? (
        result.text.length > 8_000 ? (
          <PlainText text={result.text} />
        ) : (
          <Cited citations={result.citations}>
            <Markdown text={result.text} isWhole isSmall />
          </Cited>
        )
      ) : (
        <p>{words.work.empty}</p>
      )}
      {result.full_output ? (
        <p>{words.work.fullOutput(result.full_output.file, formatCount(result.full_output.characters, language))}</p>
      ) : null}
      {result.files.length > 0 ? (
        <div className={styles.chips}>
          {result.files
            .filter((file) => !file.internal)
            .map((file) => (
              <FileChip key={file.name} file={file} />
            ))}
        </div>
      ) : null}
    </>
  );
}

function Page({ title, url }: { title: string; url: string }): ReactNode {
  const address = allowedAddress(url);
  if (!address) return <span>{title || url}</span>;
  return (
    <a href={address} target="_blank" rel="noopener noreferrer">
      <bdi>{title || url}</bdi> <span className={styles.host}>{hostOf(address)}</span>
    </a>
  );
}
