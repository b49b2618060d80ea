import { type ReactNode, useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "react";
import { Virtualizer, type VirtualizerHandle } from "virtua";
import type { Conversation } from "../../store/types";
import { useWords } from "../../words";
import { Icon } from "../parts/Icon";
import parts from "../parts/parts.module.css";
import { useActions } from "../store";
import { useIsPrinting } from "../shell/media";
import { focusCard, setRequestShower } from "../shell/requestFocus";
import { RowView } from "./RowView";
import { RowMaker } from "./rows";
import { questionsInView, useSeek } from "./seek";
import styles from "./talk.module.css";

/** The distance from the end below which no button leads there, in pixels. */
const NEAR_END = 60;
/** The room that a row may lose before it grows again, in pixels: the question must not move. */
const SLACK = 48;
/** The space above a question at the top, in pixels. */
const TOP_SPACE = 20;
/** The part of the view that shows rows at least, when rows above it got smaller. */
const SHOWN = 1 / 3;
const NO_QUESTIONS: readonly number[] = [];

interface TalkProps {
  readonly conversation: Conversation;
  readonly onOpenLane: (run: string, path: string) => void;
}

/**
 * The rows of a conversation. A new question scrolls to the top once; afterwards only the reader scrolls.
 */
export function Talk({ conversation, onOpenLane }: TalkProps): ReactNode {
  const words = useWords();
  const actions = useActions();
  const [maker] = useState(() => new RowMaker());
  const rows = useMemo(() => maker.rowsOf(conversation), [maker, conversation]);
  const scroller = useRef<HTMLDivElement>(null);
  const inner = useRef<HTMLDivElement>(null);
  const spacer = useRef<HTMLDivElement>(null);
  const list = useRef<VirtualizerHandle>(null);
  const [isAtEnd, setIsAtEnd] = useState(true);
  const [questions, setQuestions] = useState(NO_QUESTIONS);
  const newest = conversation.turns.at(-1)?.key ?? null;
  const oldest = conversation.turns[0]?.key ?? null;
  const question = newest === null ? -1 : rows.findLastIndex((row) => row.kind === "question");
  const questionIndex = useRef(question);
  questionIndex.current = question;
  const shifts = useOlderRows(oldest);
  // Older turns above move the rows before the next measurement.
  const kept = useMemo(() => questions.filter((at) => rows[at]?.kind === "question"), [questions, rows]);
  const isPrinting = useIsPrinting();
  const seek = useSeek(scroller, inner, list, TOP_SPACE);
  /** Where the reader, or a seek, has scrolled to; and the height of all rows beyond that of the view. */
  const held = useRef({ top: 0, rest: 0 });
  const latestRows = useRef(rows);
  latestRows.current = rows;

  /**
   * Leaves room below the newest question, so that it can be at the top; and below rows that got smaller, such as a
   * decided card, so that the reader stays where they are. The last rows stay in view.
   */
  const fit = useCallback((isScrolled: boolean): void => {
    const view = scroller.current;
    if (!view || !inner.current || !spacer.current) return;
    const offset = list.current?.getItemOffset(Math.max(0, questionIndex.current)) ?? 0;
    const below = inner.current.offsetHeight - offset;
    const begin = inner.current.getBoundingClientRect().top - view.getBoundingClientRect().top + view.scrollTop;
    const rest = inner.current.offsetHeight - view.clientHeight;
    // Rows that got smaller, or a view that got larger, have moved the rows down, which looks like scrolling.
    const isCut =
      rest < held.current.rest &&
      view.scrollTop < held.current.top &&
      view.scrollTop + view.clientHeight >= view.scrollHeight - 1;
    const lowest = begin + Math.max(offset + SLACK, inner.current.offsetHeight - view.clientHeight * SHOWN);
    const top = Math.min(isScrolled && !isCut ? view.scrollTop : held.current.top, lowest);
    held.current = { top, rest };
    const toStay = top - begin - rest;
    spacer.current.style.setProperty("height", `${Math.max(24, view.clientHeight - below + SLACK, toStay)}px`);
    if (isCut) view.scrollTop = top;
    seek.again();
    setIsAtEnd(inner.current.offsetHeight + TOP_SPACE - view.scrollTop - view.clientHeight < NEAR_END);
    const { current } = list;
    if (!current) return;
    const found = questionsInView(latestRows.current, view.scrollTop, (top) => current.findItemIndex(top));
    setQuestions((known) => (known.join() === found.join() ? known : found));
  }, [seek]);

  useLayoutEffect(() => {
    fit(false);
    const watcher = new ResizeObserver(() => fit(false));
    if (inner.current) watcher.observe(inner.current);
    if (scroller.current) watcher.observe(scroller.current);
    return () => watcher.disconnect();
  }, [fit]);

  useEffect(() => {
    if (newest === null) return;
    fit(false);
    seek.to({ index: questionIndex.current, align: "start" });
  }, [newest, fit, seek]);

  useEffect(() => {
    setRequestShower((request) => {
      const at = latestRows.current.findIndex((row) => row.kind === "request" && row.request === request);
      if (at < 0) return;
      seek.to({ index: at, align: "center" });
      requestAnimationFrame(() => {
        const card = document.querySelector<HTMLElement>(`[data-request="${CSS.escape(request)}"]`);
        if (card) focusCard(card);
      });
    });
    return () => setRequestShower(null);
  }, [seek]);

  const toEnd = (): void => seek.to({ index: rows.length - 1, align: "end" });
  return (
    <div className={styles.talk}>
      <div
        ref={scroller}
        className={styles.scroller}
        role="region"
        aria-label={words.talk.label}
        tabIndex={0}
        onScroll={() => fit(true)}
        data-talk=""
      >
        <div className={styles.column}>
          {conversation.hasOlderTurns ? (
            <button
              type="button"
              className={`${parts.quiet} ${styles.older}`}
              disabled={conversation.isLoadingOlder}
              onClick={actions.loadOlderTurns}
            >
              {conversation.isLoadingOlder ? words.talk.loadingOlder : words.talk.older}
            </button>
          ) : null}
          <div ref={inner}>
            {isPrinting ? (
              rows.map((row) => <RowView key={row.key} row={row} onOpenLane={onOpenLane} />)
            ) : (
              <Virtualizer
                ref={list}
                scrollRef={scroller}
                data={rows}
                shift={shifts}
                keepMounted={kept}
                bufferSize={600}
                startMargin={conversation.hasOlderTurns ? 34 : 0}
              >
                {(row) => <RowView key={row.key} row={row} onOpenLane={onOpenLane} />}
              </Virtualizer>
            )}
          </div>
          <div ref={spacer} aria-hidden="true" />
        </div>
      </div>
      {isAtEnd ? null : (
        <button
          type="button"
          className={styles.toEnd}
          aria-label={words.talk.toEnd}
          title={words.talk.toEnd}
          onClick={toEnd}
        >
          <Icon name="down" />
        </button>
      )}
    </div>
  );
}

/** True in the render that shows older turns above the known ones. */
function useOlderRows(oldest: string | null): boolean {
  const known = useRef(oldest);
  const shifts = known.current !== null && known.current !== oldest;
  useEffect(() => {
    known.current = oldest;
  }, [oldest]);
  return shifts;
}
