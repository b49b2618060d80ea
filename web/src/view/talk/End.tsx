import type { ReactNode } from "react";
import type { Run, RunEnd, SessionFile, Turn } from "../../store/types";
import { useLanguage, useWords } from "../../words";
import { sentenceOfCode } from "../../words/errors";
import { formatDuration, formatMoney, formatTime, formatTokens } from "../../words/numbers";
import { FileChip } from "../files/FileChip";
import { kindOfFile } from "../files/kinds";
import { useOpenFile } from "../files/open";
import { runTotals } from "../lanes";
import { CopyButton } from "../parts/CopyButton";
import { ErrorBox } from "../parts/ErrorBox";
import parts from "../parts/parts.module.css";
import { canDecide, conversationOf, newestTurn, useActions, usePage } from "../store";
import styles from "./talk.module.css";

const MOST_PICTURES = 4;
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
      <Pictures files={files} />
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
        {turn.status === "finished" || turn.status === "stopped" ? <AskAgain turn={turn} style={parts.quiet} /> : null}
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

/** The first pictures of an answer, such as charts. */
function Pictures({ files }: { files: readonly SessionFile[] }): ReactNode {
  const words = useWords();
  const open = useOpenFile();
  return files
    .filter((file) => kindOfFile(file) === "image")
    .slice(0, MOST_PICTURES)
    .map((file) => (
      <button
        key={file.name}
        type="button"
        className={styles.picture}
        aria-label={words.files.open(file.name)}
        onClick={() => open(file.name)}
      >
        <img src={file.preview_url} alt={file.description || file.name} loading="lazy" referrerPolicy="no-referrer" />
      </button>
    ));
}

/** The figures of the whole run, with all agents. */
function Figures({ run, end }: { run: Run; end: RunEnd }): ReactNode {
  const words = useWords();
  const { tokens, microUsd } = runTotals(run);
  const facts = [
    words.talk.tookMs(formatDuration(end.tookMs - end.pausedMs)),
    end.pausedMs > 0 ? words.talk.pausedMs(formatDuration(end.pausedMs)) : "",
    words.usage.tokenCount(formatTokens(tokens)),
    microUsd === null ? "" : formatMoney(microUsd),
  ].filter(Boolean);
  return <span className={styles.figures}>{facts.join(" · ")}</span>;
}

function Failed({ turn, end }: { turn: Turn; end: RunEnd | null }): ReactNode {
  const words = useWords();
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
      <div className={parts.errorActs}>
        <AskAgain turn={turn} style={parts.button} />
      </div>
    </div>
  );
}

/** Asks the newest question again, as it is or changed: then it is in the box, below another text there. */
function AskAgain({ turn, style }: { turn: Turn; style: string | undefined }): ReactNode {
  const words = useWords();
  const actions = useActions();
  const { question } = turn;
  const canAsk = usePage((state) => conversationOf(state)?.canWrite && newestTurn(conversationOf(state))?.key === turn.key);
  const mode = usePage(({ modes }) => modes.find(({ name }) => name === turn.detail?.mode)?.name);
  if (!canAsk || question === null) return null;
  const draft = mode === undefined ? {} : { mode };
  const askAgain = (): void => {
    actions.setDraft(draft);
    actions.ask(question);
  };
  const edit = (): void => {
    const box = document.querySelector<HTMLTextAreaElement>("[data-key=box]");
    const typed = box?.value.trim() ?? "";
    actions.setDraft({ ...draft, text: typed === "" || typed === question ? question : `${typed}\n\n${question}` });
    box?.focus();
  };
  return (
    <>
      <button type="button" className={style} onClick={askAgain}>
        {words.talk.askAgain}
      </button>
      <button type="button" className={style} onClick={edit}>
        {words.talk.editQuestion}
      </button>
    </>
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

/** Puts the question before into the box: a run that has ended cannot be continued. */
function AskInstead({ unsent, question }: { unsent: Turn; question: string }): ReactNode {
  const words = useWords();
  const actions = useActions();
  const askInstead = (): void => {
    actions.takeBack(unsent.key);
    actions.setDraft({ text: question });
    document.querySelector<HTMLTextAreaElement>("[data-key=box]")?.focus();
  };
  return (
    <button type="button" className={parts.button} onClick={askInstead}>
      {words.talk.editQuestion}
    </button>
  );
}

function Unsent({ turn }: { turn: Turn }): ReactNode {
  const words = useWords();
  const actions = useActions();
  const { error } = turn;
  const before = usePage((state) => conversationOf(state)?.turns.at(-2)?.question ?? null);
  const isStopping = usePage((state) => conversationOf(state)?.isStopping ?? false);
  // A guest stops only their own runs.
  const canStopOther = usePage((state) => {
    const { isOwner = false, turns = [] } = conversationOf(state) ?? {};
    return error?.run != null && (isOwner || turns.some(({ run, isOwn }) => run === error.run && isOwn));
  });
  // The other run is the newest one after a reload; there it can be followed and stopped. The text stays a draft.
  const followOther = (): void => {
    actions.takeBack(turn.key);
    location.reload();
  };
  const acts = (
    <>
      {error?.code === "nothing_to_continue" && before ? <AskInstead unsent={turn} question={before} /> : null}
      {error?.code === "session_busy" ? (
        <>
          <button type="button" className={parts.button} onClick={followOther}>
            {words.talk.followBusy}
          </button>
          {canStopOther ? (
            <button
              type="button"
              className={parts.button}
              aria-disabled={isStopping}
              onClick={() => actions.stopOther(turn.key)}
            >
              {words.talk.stopBusy}
            </button>
          ) : null}
        </>
      ) : null}
      <button
        type="button"
        className={`${parts.button} ${parts.plain}`}
        onClick={() => {
          actions.takeBack(turn.key);
          document.querySelector<HTMLTextAreaElement>("[data-key=box]")?.focus();
        }}
      >
        {words.talk.takeBack}
      </button>
      {error?.code === "session_busy" ? <span role="status">{isStopping ? words.talk.stoppingBusy : ""}</span> : null}
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
