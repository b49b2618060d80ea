import type { ReactNode } from "react";
import type { Run, RunEnd, SessionFile, Turn } from "../../store/types";
import { useLanguage, useWords } from "../../words";
import { sentenceOfCode } from "../../words/errors";
import { formatDuration, formatMoney, formatTime, formatTokens } from "../../words/numbers";
import { FileChip } from "../files/FileChip";
import { runTotals } from "../lanes";
import { CopyButton } from "../parts/CopyButton";
import { ErrorBox } from "../parts/ErrorBox";
import parts from "../parts/parts.module.css";
import { canDecide, conversationOf, newestTurn, useActions, usePage } from "../store";
import styles from "./talk.module.css";

const NO_FILES: readonly SessionFile[] = [];

/** The end of an answer: its files, failures, figures, and what can be done next. */
export function End({ turn }: { turn: Turn }): ReactNode {
  const words = useWords();
  const actions = useActions();
  const end = turn.detail?.end ?? null;
  const answer = end?.answer || turn.answer || "";
  const sessionFiles = usePage((state) => conversationOf(state)?.files ?? NO_FILES);
  const named = turn.fileNames.flatMap((name) => sessionFiles.find((file) => file.name === name) ?? []);
  const files = end ? end.files : named;
  const isOver =
    turn.status === "finished" || turn.status === "failed" || turn.status === "stopped" || turn.status === "expired";
  if (turn.status === "unsent") return <Unsent turn={turn} />;
  if (turn.status === "paused") return <Paused turn={turn} />;
  if (!isOver) return turn.detailError ? <ErrorBox error={turn.detailError} onRetry={actions.retry} /> : null;
  return (
    <div className={styles.end}>
      {turn.status === "stopped" ? <p className={styles.stopped}>{words.talk.stopped}</p> : null}
      {turn.status === "expired" ? <p className={styles.stopped}>{words.talk.expired}</p> : null}
      {turn.status === "failed" ? <Failed turn={turn} end={end} /> : null}
      {end?.finish === "length" ? <p className={styles.stopped}>{words.talk.cutLength}</p> : null}
      {end?.finish === "filtered" ? <p className={styles.stopped}>{words.talk.cutFiltered}</p> : null}
      {files.length > 0 ? (
        <div className={styles.chips}>
          {files.slice(0, 12).map((file) => (
            <FileChip key={file.name} file={file} />
          ))}
        </div>
      ) : null}
      <div className={styles.endFacts}>
        {end && turn.detail ? <Figures run={turn.detail} end={end} /> : null}
        {answer && turn.status !== "failed" ? <CopyButton text={() => answer} label={words.talk.copyAnswer} /> : null}
        {turn.detail === null && turn.run !== null && turn.status !== "expired" ? (
          <button
            type="button"
            className={parts.quiet}
            disabled={turn.isLoadingDetail}
            onClick={() => turn.run && actions.loadDetail(turn.run)}
          >
            {turn.isLoadingDetail ? words.talk.loadingDetail : words.talk.detail}
          </button>
        ) : null}
      </div>
      {turn.detailError ? (
        <ErrorBox error={turn.detailError} onRetry={() => turn.run && actions.loadDetail(turn.run)} />
      ) : null}
    </div>
  );
}

/** The figures of the whole run, with all agents. */
function Figures({ run, end }: { run: Run; end: RunEnd }): ReactNode {
  const words = useWords();
  const { tokens, microUsd } = runTotals(run);
  const facts = [
    words.talk.tookMs(formatDuration(end.tookMs)),
    end.pausedMs > 0 ? words.talk.pausedMs(formatDuration(end.pausedMs)) : "",
    words.usage.tokenCount(formatTokens(tokens)),
    microUsd === null ? "" : formatMoney(microUsd),
  ].filter(Boolean);
  return <span className={styles.figures}>{facts.join(" · ")}</span>;
}

function Failed({ turn, end }: { turn: Turn; end: RunEnd | null }): ReactNode {
  const words = useWords();
  const actions = useActions();
  const { question } = turn;
  const canAsk = usePage((state) => conversationOf(state)?.canWrite && newestTurn(conversationOf(state))?.key === turn.key);
  /** Puts the question into the box; another text there is kept above it. */
  const askAgain = (text: string): void => {
    const box = document.querySelector<HTMLTextAreaElement>("[data-key=box]");
    const typed = box?.value.trim() ?? "";
    actions.setDraft({ text: typed === "" || typed === text ? text : `${typed}\n\n${text}` });
    box?.focus();
  };
  const language = useLanguage();
  const failure = end?.failure ?? null;
  return (
    <div className={parts.error}>
      <div className={parts.errorHead}>{words.errors.runFailed}</div>
      <div>{failure ? sentenceOfCode(failure.code, failure.detail, language) : (turn.answer ?? "")}</div>
      <div className={parts.errorFacts}>
        {failure ? (
          <span>
            {words.errors.code} <code>{failure.code}</code>
          </span>
        ) : null}
        {turn.run ? (
          <span>
            {words.errors.run} <code>{turn.run}</code>
          </span>
        ) : null}
      </div>
      {canAsk && question !== null ? (
        <div className={parts.errorActs}>
          <button type="button" className={parts.button} onClick={() => askAgain(question)}>
            {words.talk.askAgain}
          </button>
        </div>
      ) : null}
    </div>
  );
}

function Paused({ turn }: { turn: Turn }): ReactNode {
  const words = useWords();
  const actions = useActions();
  const isMine = usePage(canDecide);
  const isNewest = usePage((state) => newestTurn(conversationOf(state))?.key === turn.key);
  const language = useLanguage();
  const open = [...(turn.detail?.requests.values() ?? [])].filter((state) => state.isOpen);
  const ends = open.flatMap(({ request }) => request.expires_at_ms ?? []);
  return (
    <div className={styles.paused}>
      <span className={isMine ? styles.pauseSign : `${styles.pauseSign} ${styles.others}`} aria-hidden="true" />
      <span>
        {ends.length > 0 ? words.talk.pausedUntil(formatTime(Math.min(...ends), language)) : words.talk.paused}
      </span>
      {isMine && isNewest && open.length === 0 ? (
        <button type="button" className={parts.quiet} onClick={actions.continueRun}>
          {words.talk.continueRun}
        </button>
      ) : null}
    </div>
  );
}

function Unsent({ turn }: { turn: Turn }): ReactNode {
  const words = useWords();
  const actions = useActions();
  const { error } = turn;
  // The other run is the newest one after a reload; there it can be followed and stopped. The text stays a draft.
  const followOther = (): void => {
    actions.takeBack(turn.key);
    location.reload();
  };
  const acts = (
    <>
      {error?.code === "session_busy" ? (
        <button type="button" className={parts.button} onClick={followOther}>
          {words.talk.followBusy}
        </button>
      ) : null}
      <button type="button" className={`${parts.button} ${parts.plain}`} onClick={() => actions.takeBack(turn.key)}>
        {words.talk.takeBack}
      </button>
    </>
  );
  if (!error) {
    return (
      <div className={styles.paused}>
        <span>{words.talk.unsent}</span>
        <button type="button" className={parts.button} onClick={() => actions.resend(turn.key)}>
          {words.talk.sendAgain}
        </button>
        {acts}
      </div>
    );
  }
  return (
    <ErrorBox error={error} title={words.talk.unsent} onRetry={() => actions.resend(turn.key)}>
      {acts}
    </ErrorBox>
  );
}
