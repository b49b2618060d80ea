import { memo, type ReactNode } from "react";
import type { PendingMessage, Turn, UserMessageRow } from "../../store/types";
import { useWords } from "../../words";
import { FileChip } from "../files/FileChip";
import { BlockView } from "../markdown/Blocks";
import { CitedInTurn } from "../markdown/Cited";
import { Markdown } from "../markdown/Markdown";
import text from "../markdown/markdown.module.css";
import { ErrorBox } from "../parts/ErrorBox";
import { RequestSlot } from "../requests/Slot";
import { Rows } from "../rows/Rows";
import { conversationOf, isActive, newestTurn, useActions, usePage } from "../store";
import { End } from "./End";
import { NoteLine } from "./NoteLine";
import { Question } from "./Question";
import { runOf, type TalkRow } from "./rows";
import styles from "./talk.module.css";
import { WorkLine } from "./WorkLine";

const classes = (...names: readonly (string | false | undefined)[]): string => names.filter(Boolean).join(" ");

interface RowProps {
  readonly row: TalkRow;
  readonly onOpenLane: (run: string, path: string) => void;
}

export const RowView = memo(function RowView({ row, onOpenLane }: RowProps): ReactNode {
  switch (row.kind) {
    case "question":
      return <Question turn={row.turn} />;
    case "block":
      return (
        <div className={classes(text.text, text.row, row.isLast && text.growing, row.isNarration && styles.narration)}>
          <CitedInTurn turn={row.turn}>
            <BlockView block={row.block} links={row.links} />
          </CitedInTurn>
        </div>
      );
    case "text":
      return (
        <div className={classes(text.row, row.isNarration && styles.narration)}>
          <CitedInTurn turn={row.turn}>
            <Markdown text={row.text} isWhole />
          </CitedInTurn>
        </div>
      );
    case "work":
      return <WorkRow run={row.run} row={row} onOpenLane={onOpenLane} />;
    case "rows":
      return <Rows results={row.results} />;
    case "note":
      return <NoteLine note={row.note} />;
    case "file":
      return (
        <div className={styles.note}>
          <FileChip file={row.file.file} />
        </div>
      );
    case "said":
      return <Said said={row.said} row={row.key} />;
    case "pending":
      return <Pending message={row.message} />;
    case "request":
      return <RequestRow run={row.run} request={row.request} isOpen={row.isOpen} />;
    case "waiting":
      return <Waiting turn={row.turn} />;
    case "end":
      return <End turn={row.turn} />;
  }
});

function WorkRow({
  run,
  row,
  onOpenLane,
}: {
  run: string;
  row: Extract<TalkRow, { kind: "work" }>;
  onOpenLane: RowProps["onOpenLane"];
}): ReactNode {
  const state = usePage((page) => runOf(conversationOf(page), run));
  return state ? <WorkLine run={state} path="" items={row.items} onOpenLane={(path) => onOpenLane(run, path)} /> : null;
}

function RequestRow({ run, request, isOpen }: { run: string; request: string; isOpen: boolean }): ReactNode {
  const state = usePage((page) => runOf(conversationOf(page), run));
  return state ? (
    <div className={isOpen ? styles.request : styles.decided}>
      <RequestSlot run={state} request={request} />
    </div>
  ) : null;
}

function Waiting({ turn }: { turn: Turn }): ReactNode {
  const words = useWords();
  return (
    <p className={styles.waiting}>
      <span className={styles.dotLive} aria-hidden="true" />
      {turn.status === "sending" ? words.talk.sending : words.talk.waitingFirst}
    </p>
  );
}

/** The state of an unread message: a run that has ended reads nothing more. */
function useUnread(row: string | null): string {
  const words = useWords();
  const isAtWork = usePage((state) => {
    const turn = newestTurn(conversationOf(state));
    return isActive(turn) && (row === null || row.startsWith(`${turn?.key}/`));
  });
  return isAtWork ? words.talk.unread : words.talk.neverRead;
}

function Said({ said, row }: { said: UserMessageRow; row: string }): ReactNode {
  const words = useWords();
  const unread = useUnread(row);
  const user = usePage((state) => state.conversations.user);
  return (
    <div className={styles.said}>
      <span className={styles.saidBy}>
        {said.by && said.by !== "you" && said.by !== user ? words.talk.said(said.by) : words.talk.youSaid} ·{" "}
        {said.isRead ? words.talk.read : unread}
      </span>
      <span>{said.text}</span>
    </div>
  );
}

function Pending({ message }: { message: PendingMessage }): ReactNode {
  const words = useWords();
  const unread = useUnread(null);
  const actions = useActions();
  return (
    <div className={styles.said}>
      <span className={styles.saidBy}>
        {words.talk.youSaid} · {message.error ? words.talk.unsent : unread}
      </span>
      <span>{message.text}</span>
      {message.error ? <ErrorBox error={message.error} onRetry={() => actions.retryMessage(message.id)} /> : null}
    </div>
  );
}
