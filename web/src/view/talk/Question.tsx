import { type ReactNode, useState } from "react";
import type { SessionFile, Turn } from "../../store/types";
import { useWords } from "../../words";
import { FileChip } from "../files/FileChip";
import parts from "../parts/parts.module.css";
import { conversationOf, usePage } from "../store";
import styles from "./talk.module.css";

/** The part of a long question that is shown at first, in UTF-16 units. */
const FIRST_PART = 1_200;
/** The part of a question that names it for screen readers, in UTF-16 units. */
const NAME_PART = 80;

export function Question({ turn }: { turn: Turn }): ReactNode {
  const words = useWords();
  const [isWhole, setIsWhole] = useState(false);
  const text = turn.question;
  // A question sent from this page names its files itself; later its run does.
  const attachments = turn.attachments.length > 0 ? turn.attachments : (turn.detail?.attachments ?? []);
  const isCut = text !== null && text.length > FIRST_PART && !isWhole;
  const isShared = usePage((state) => !turn.isOwn && (conversationOf(state)?.canWrite ?? true));
  const asker = turn.isOwn ? words.talk.you : words.talk.guest(turn.user);
  return (
    <section className={styles.questionRow} aria-label={`${asker}: ${(text ?? "").slice(0, NAME_PART)}`}>
      <h2 className={styles.question}>
        {isShared ? <span className={styles.saidBy}>{asker}</span> : null}
        {text === null ? (
          <i>{words.talk.questionExpired}</i>
        ) : (
          <bdi>{isCut ? `${text.slice(0, FIRST_PART)}…` : text}</bdi>
        )}
      </h2>
      {isCut ? (
        <button type="button" className={parts.quiet} onClick={() => setIsWhole(true)}>
          {words.talk.showAll}
        </button>
      ) : null}
      {attachments.length > 0 ? (
        <div className={styles.chips}>
          {attachments.map((name) => (
            <Attachment key={name} name={name} />
          ))}
        </div>
      ) : null}
    </section>
  );
}

function Attachment({ name }: { name: string }): ReactNode {
  const file = usePage(
    (state): SessionFile | null => conversationOf(state)?.files.find((other) => other.name === name) ?? null,
  );
  return file ? <FileChip file={file} /> : <span className={styles.fileName}>{name}</span>;
}
