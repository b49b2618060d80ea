/** The rows of a conversation: one flat list, so that only the visible part is in the document. */

import type {
  CallRow,
  ChildRow,
  Conversation,
  FileRow,
  MessageRow,
  NoteRow,
  PendingMessage,
  QueryRows,
  RequestState,
  Row,
  Run,
  Turn,
  UserMessageRow,
} from "../../store/types";
import { callsOfRequests } from "../lanes";
import { type Block, MarkdownReader } from "../markdown/lex";

/** A part of a work line. */
export type WorkItem =
  | CallRow
  | ChildRow
  | { readonly kind: "reasoning"; readonly key: string; readonly text: string; readonly isComplete: boolean };

export type TalkRow =
  | { readonly kind: "question"; readonly key: string; readonly turn: Turn }
  | {
      readonly kind: "block";
      readonly key: string;
      /** The turn whose sources the text cites. */
      readonly turn: string;
      readonly block: Block;
      readonly links: MarkdownReader["links"];
      readonly isLast: boolean;
      /** The text is on the way to the answer. */
      readonly isNarration: boolean;
    }
  | {
      readonly kind: "text";
      readonly key: string;
      readonly turn: string;
      readonly text: string;
      readonly isNarration: boolean;
    }
  | { readonly kind: "work"; readonly key: string; readonly run: string; readonly items: readonly WorkItem[] }
  /** The results of queries over tables. */
  | { readonly kind: "rows"; readonly key: string; readonly results: readonly QueryRows[] }
  | { readonly kind: "note"; readonly key: string; readonly note: NoteRow }
  | { readonly kind: "file"; readonly key: string; readonly file: FileRow }
  | { readonly kind: "said"; readonly key: string; readonly said: UserMessageRow }
  | { readonly kind: "pending"; readonly key: string; readonly message: PendingMessage }
  | {
      readonly kind: "request";
      readonly key: string;
      readonly run: string;
      readonly request: string;
      readonly isOpen: boolean;
    }
  | { readonly kind: "waiting"; readonly key: string; readonly turn: Turn }
  | { readonly kind: "end"; readonly key: string; readonly turn: Turn };

/** A complete text below this length is one row, in UTF-16 units. */
const SHORT_TEXT = 3_000;

const NO_ROWS: readonly TalkRow[] = [];

/** Makes rows, and keeps those whose source is unchanged. */
export class RowMaker {
  private readonly readers = new Map<string, MarkdownReader>();
  private readonly turns = new WeakMap<Turn, readonly TalkRow[]>();
  private readonly settled = new WeakMap<
    readonly Row[],
    { requests: Run["requests"]; rows: readonly TalkRow[]; open: readonly WorkItem[] }
  >();
  private readonly texts = new WeakMap<MessageRow, { readonly isNarration: boolean; readonly rows: readonly TalkRow[] }>();

  rowsOf(conversation: Conversation): readonly TalkRow[] {
    const rows = conversation.turns.flatMap((turn) => this.rowsOfTurn(turn));
    const pending = conversation.unreadMessages.map((message): TalkRow => ({
      kind: "pending",
      key: `pending-${message.id}`,
      message,
    }));
    if (pending.length === 0) return rows;
    // What was sent to the run comes before its end.
    const last = rows.at(-1);
    return last?.kind === "end" ? [...rows.slice(0, -1), ...pending, last] : [...rows, ...pending];
  }

  private rowsOfTurn(turn: Turn): readonly TalkRow[] {
    const known = this.turns.get(turn);
    if (known) return known;
    const rows = this.makeTurn(turn);
    this.turns.set(turn, rows);
    return rows;
  }

  private makeTurn(turn: Turn): readonly TalkRow[] {
    const rows: TalkRow[] = [{ kind: "question", key: `${turn.key}/question`, turn }];
    const { detail } = turn;
    if (detail) rows.push(...this.rowsOfRun(turn.key, detail));
    else if (turn.answer !== null && turn.status !== "failed")
      rows.push(...this.blocks(turn.key, `${turn.key}/answer`, turn.answer, true, false));
    const isActive =
      turn.status === "sending" || turn.status === "queued" || turn.status === "running" || turn.status === "paused";
    if (isActive && rows.length === 1) rows.push({ kind: "waiting", key: `${turn.key}/waiting`, turn });
    rows.push({ kind: "end", key: `${turn.key}/end`, turn });
    return rows;
  }

  private rowsOfRun(turn: string, run: Run): readonly TalkRow[] {
    const root = run.lanes.get("");
    if (!root) return NO_ROWS;
    const settled = this.settledRows(turn, run, root.rows);
    const rows = [...settled.rows];
    let open = settled.open;
    for (const draft of root.drafts) {
      if (draft.reasoning) open = [...open, reasoningOf(draft)];
      if (!draft.text) continue;
      this.flush(rows, run, open);
      open = [];
      rows.push(...this.textOf(turn, draft, false));
    }
    this.flush(rows, run, open);
    const hasAnswer =
      run.end === null ||
      !run.end.answer ||
      isTextOfRows(root.rows, run.end.answer) ||
      root.rows.some((row) => row.kind === "message" && row.text !== "" && run.end?.answer.endsWith(row.text));
    if (!hasAnswer && run.end && run.end.status !== "failed")
      rows.push(...this.blocks(turn, `${turn}/answer`, run.end.answer, true, false));
    return rows;
  }

  /** The rows of kept events; they change only with a new event or response. */
  private settledRows(
    turn: string,
    run: Run,
    source: readonly Row[],
  ): { rows: readonly TalkRow[]; open: readonly WorkItem[] } {
    const known = this.settled.get(source);
    if (known && known.requests === run.requests) return known;
    const rows: TalkRow[] = [];
    const requests = [...run.requests.values()];
    const ofRequests = callsOfRequests(run, "");
    const lastWork = source.findLastIndex(isWork);
    let nextRequest = 0;
    let open: WorkItem[] = [];
    const flush = (): void => {
      this.flush(rows, run, open);
      open = [];
    };
    for (const [index, row] of source.entries()) {
      const at = row.kind === "call" ? row.startedAtMs : row.atMs;
      for (let state = requests[nextRequest]; state && state.atMs < at; state = requests[nextRequest]) {
        flush();
        rows.push(requestRow(run, state));
        nextRequest += 1;
      }
      switch (row.kind) {
        case "call": {
          if (!ofRequests.has(row.call)) open.push(row);
          const results = rowsOfCall(row)?.results ?? [];
          if (results.length === 0) break;
          flush();
          rows.push({ kind: "rows", key: `${turn}/${row.key}/rows`, results });
          break;
        }
        case "child":
          open.push(row);
          break;
        case "message":
          if (row.reasoning) open.push(reasoningOf(row));
          if (row.text) {
            flush();
            rows.push(...this.textOf(turn, row, !row.isAnswer && index < lastWork));
          }
          break;
        case "note":
          flush();
          rows.push({ kind: "note", key: `${turn}/${row.key}`, note: row });
          break;
        case "file":
          flush();
          rows.push({ kind: "file", key: `${turn}/${row.key}`, file: row });
          break;
        case "user_message":
          flush();
          rows.push({ kind: "said", key: `${turn}/${row.key}`, said: row });
          break;
      }
    }
    const rest = requests.slice(nextRequest);
    if (rest.length > 0) {
      flush();
      rows.push(...rest.map((state) => requestRow(run, state)));
    }
    const result = { requests: run.requests, rows, open };
    this.settled.set(source, result);
    return result;
  }

  private flush(rows: TalkRow[], run: Run, items: readonly WorkItem[]): void {
    const first = items[0];
    if (first) rows.push({ kind: "work", key: `${run.id}/${first.key}/work`, run: run.id, items });
  }

  private textOf(turn: string, message: MessageRow, isNarration: boolean): readonly TalkRow[] {
    const known = this.texts.get(message);
    if (known?.isNarration === isNarration) return known.rows;
    const key = `${turn}/${message.key}`;
    // A short text is read when its row is shown; a growing text keeps its rows when it is complete.
    const isShort = message.isComplete && message.text.length < SHORT_TEXT && !this.readers.has(key);
    const rows: readonly TalkRow[] = isShort
      ? [{ kind: "text", key, turn, text: message.text, isNarration }]
      : this.blocks(turn, key, message.text, message.isComplete, isNarration);
    this.texts.set(message, { isNarration, rows });
    return rows;
  }

  private blocks(turn: string, key: string, text: string, isWhole: boolean, isNarration: boolean): readonly TalkRow[] {
    let reader = this.readers.get(key);
    if (!reader) {
      reader = new MarkdownReader();
      this.readers.set(key, reader);
    }
    const { links } = reader;
    const blocks = reader.read(text, isWhole).filter((block) => block.raw.trim() !== "");
    return blocks.map((block, index) => ({
      kind: "block",
      turn,
      key: `${key}/${block.at}`,
      block,
      links,
      isNarration,
      isLast: !isWhole && index === blocks.length - 1,
    }));
  }
}

/** A text before work tells what is done next; a text that was rejected is a part of the work itself. */
const isWork = (row: Row): boolean =>
  row.kind === "call" || row.kind === "child" || (row.kind === "note" && row.note.type === "rejected");

/** Returns the results of the queries of a call, with their text. */
function rowsOfCall(row: CallRow): { results: readonly QueryRows[]; text: string } | null {
  if (row.result?.status !== "done" || row.result.view.kind !== "rows") return null;
  return { results: row.result.view.results, text: row.result.text.trim() };
}

/** Returns true if an answer is only the text of results that are shown as tables. */
function isTextOfRows(rows: readonly Row[], answer: string): boolean {
  const texts = rows.flatMap((row) => (row.kind === "call" ? (rowsOfCall(row)?.text ?? []) : []));
  const text = answer.trim();
  return texts.some((_, index) => texts.slice(index).join("\n\n") === text);
}

function reasoningOf(message: MessageRow): WorkItem {
  return {
    kind: "reasoning",
    key: `${message.key}/reasoning`,
    text: message.reasoning,
    isComplete: message.isComplete || message.text !== "",
  };
}

function requestRow(run: Run, state: RequestState): TalkRow {
  return {
    kind: "request",
    key: `${run.id}/request/${state.request.id}`,
    run: run.id,
    request: state.request.id,
    isOpen: state.isOpen,
  };
}

/** Returns the run with an id in the conversation. */
export function runOf(conversation: Conversation | null, id: string): Run | null {
  const turns = conversation?.turns ?? [];
  for (let at = turns.length - 1; at >= 0; at -= 1) {
    const detail = turns[at]?.detail;
    if (detail?.id === id) return detail;
  }
  return null;
}
