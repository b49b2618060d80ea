import { type ReactNode, useMemo, useState } from "react";
import type { Citation, Lane, Row, Run } from "../../store/types";
import { useLanguage, useWords, type Words } from "../../words";
import { sentenceOfCode } from "../../words/errors";
import { formatClock, formatMoney, formatTokens } from "../../words/numbers";
import { callsOfRequests, laneName, lanesBelow, lastLine, openRequestsBelow, totalsBelow } from "../lanes";
import { Cited } from "../markdown/Cited";
import { Markdown } from "../markdown/Markdown";
import { Icon } from "../parts/Icon";
import { Mark, type MarkKind } from "../parts/Mark";
import parts from "../parts/parts.module.css";
import { useServerNow } from "../parts/time";
import { RequestSlot } from "../requests/Slot";
import { canDecide, usePage } from "../store";
import { NoteLine } from "./NoteLine";
import type { WorkItem } from "./rows";
import styles from "./talk.module.css";
import { WorkLine } from "./WorkLine";

/** The newest rows of a lane that are shown at first. */
const FIRST_ROWS = 120;

function markOf(lane: Lane, run: Run, isMine: boolean): MarkKind {
  if (isMine && lane.endedAtMs === null && openRequestsBelow(run, lane.path).length > 0) return "ask";
  if (lane.status === "finished") return "done";
  if (lane.status === "failed") return "bad";
  if (lane.status === "stopped") return "skip";
  return run.end === null ? "work" : "skip";
}

const markName = (kind: MarkKind, words: Words): string =>
  ({
    ask: words.plan.asksYou,
    done: words.talk.turnStatus.finished,
    bad: words.talk.turnStatus.failed,
    skip: words.talk.turnStatus.stopped,
    work: words.talk.turnStatus.running,
    open: words.talk.turnStatus.queued,
  })[kind];

function LaneFacts({ run, lane }: { run: Run; lane: Lane }): ReactNode {
  const words = useWords();
  const isWaiting = openRequestsBelow(run, lane.path).length > 0;
  const isRunning = lane.endedAtMs === null && run.end === null && !isWaiting;
  const now = useServerNow(isRunning);
  const totals = totalsBelow(run, lane.path);
  return (
    <span className={styles.facts}>
      {lane.agent ? <span>{lane.agent}</span> : null}
      <span>{formatClock((lane.endedAtMs ?? (isRunning ? now : run.lastEventAtMs)) - lane.startedAtMs)}</span>
      {totals.tokens > 0 ? <span>{words.usage.tokenCount(formatTokens(totals.tokens))}</span> : null}
      {totals.microUsd !== null ? <span>{formatMoney(totals.microUsd)}</span> : null}
    </span>
  );
}

/** A lane as one line: who, how long, how much, and the last words. */
export function LaneLine({ run, path, onOpen }: { run: Run; path: string; onOpen: () => void }): ReactNode {
  const words = useWords();
  const isMine = usePage(canDecide);
  const lane = run.lanes.get(path);
  if (!lane) return null;
  const kind = markOf(lane, run, isMine);
  const name = laneName(run, path, words);
  return (
    <button type="button" className={styles.lane} onClick={onOpen}>
      <Mark kind={kind} label={markName(kind, words)} />
      <span className={styles.laneBody}>
        <b>{name}</b>
        <LaneFacts run={run} lane={lane} />
        <span className={styles.laneLast}>{lastLine(lane)}</span>
      </span>
    </button>
  );
}

type LanePiece =
  | { readonly kind: "work"; readonly key: string; readonly items: readonly WorkItem[] }
  | Exclude<Row, { kind: "call" | "child" }>;

/** Joins calls that follow each other. */
function piecesOf(rows: readonly Row[], ofRequests: ReadonlySet<string>): readonly LanePiece[] {
  const pieces: LanePiece[] = [];
  let items: WorkItem[] = [];
  const flush = (): void => {
    const first = items[0];
    if (first) pieces.push({ kind: "work", key: `${first.key}/work`, items });
    items = [];
  };
  for (const row of rows) {
    if (row.kind === "call" || row.kind === "child") {
      if (row.kind === "child" || !ofRequests.has(row.call)) items.push(row);
      continue;
    }
    if (row.kind === "message") {
      if (row.reasoning)
        items.push({
          kind: "reasoning",
          key: `${row.key}/reasoning`,
          text: row.reasoning,
          isComplete: row.isComplete || row.text !== "",
        });
      if (!row.text) continue;
    }
    flush();
    pieces.push(row);
  }
  flush();
  return pieces;
}

interface LaneViewProps {
  readonly run: Run;
  readonly path: string;
  readonly onOpen: (path: string) => void;
  readonly onBack: () => void;
}

/** Returns the sources of the result that a lane returned to its caller. */
function citationsOf(run: Run, lane: Lane): readonly Citation[] | undefined {
  const rows = run.lanes.get(lane.parent ?? "")?.rows ?? [];
  const call = rows.find((row) => row.kind === "call" && row.call === lane.call);
  return call?.kind === "call" && call.result?.status === "done" ? call.result.citations : undefined;
}

/** The work of one agent, and the lanes below it. */
export function LaneView({ run, path, onOpen, onBack }: LaneViewProps): ReactNode {
  const words = useWords();
  const language = useLanguage();
  const isMine = usePage(canDecide);
  const [isWhole, setIsWhole] = useState(false);
  const lane = run.lanes.get(path);
  const pieces = useMemo(
    () => piecesOf(lane ? [...lane.rows, ...lane.drafts] : [], callsOfRequests(run, path)),
    [lane, run, path],
  );
  if (!lane) return null;
  const shown = isWhole ? pieces : pieces.slice(-FIRST_ROWS);
  const requests = [...run.requests.values()].filter((state) => state.path === path && state.isOpen);
  const below = lanesBelow(run, path);
  const kind = markOf(lane, run, isMine);
  const name = laneName(run, path, words);
  const wasShown = lane.rows.some((row) => row.kind === "message" && row.text === lane.text);
  return (
    <section className={styles.laneView} aria-label={words.lane.label(name)}>
      <header className={styles.laneHead}>
        <button type="button" className={parts.icon} aria-label={words.page.back} onClick={onBack}>
          <Icon name="back" />
        </button>
        <Mark kind={kind} label={markName(kind, words)} />
        <span className={styles.laneBody}>
          <b>{lane.description || name}</b>
          <LaneFacts run={run} lane={lane} />
        </span>
      </header>
      {shown.length < pieces.length ? (
        <button type="button" className={parts.quiet} onClick={() => setIsWhole(true)}>
          {words.talk.showAll}
        </button>
      ) : null}
      <Cited citations={citationsOf(run, lane)}>
        <div className={styles.laneRows}>
          {shown.map((piece) => (
            <Piece key={piece.key} piece={piece} run={run} path={path} onOpen={onOpen} />
          ))}
          {requests.map((state) => (
            <RequestSlot key={state.request.id} run={run} request={state.request.id} />
          ))}
          {lane.text && !wasShown && lane.status !== "failed" ? <Markdown text={lane.text} isWhole isSmall /> : null}
          {lane.failure ? (
            <p className={styles.bad}>{sentenceOfCode(lane.failure.code, lane.failure.detail, language)}</p>
          ) : null}
        </div>
      </Cited>
      {below.length > 0 ? (
        <>
          <h3 className={styles.below}>{words.lane.below}</h3>
          {below.map((child) => (
            <LaneLine key={child.path} run={run} path={child.path} onOpen={() => onOpen(child.path)} />
          ))}
        </>
      ) : null}
    </section>
  );
}

function Piece({
  piece,
  run,
  path,
  onOpen,
}: {
  piece: LanePiece;
  run: Run;
  path: string;
  onOpen: (path: string) => void;
}): ReactNode {
  const words = useWords();
  switch (piece.kind) {
    case "work":
      return <WorkLine run={run} path={path} items={piece.items} onOpenLane={onOpen} />;
    case "message":
      return <Markdown text={piece.text} isWhole={piece.isComplete} isSmall />;
    case "note":
      return <NoteLine note={piece} />;
    case "user_message":
      return <p className={styles.note}>{piece.text}</p>;
    case "file":
      return <p className={styles.note}>{words.note.fileAdded(piece.file.name)}</p>;
  }
}
