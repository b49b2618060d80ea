import type { ReactNode } from "react";
import type { NoteRow } from "../../store/types";
import { type PageLanguage, useLanguage, useWords, type Words } from "../../words";
import { sentenceOfCode } from "../../words/errors";
import { formatTime } from "../../words/numbers";
import styles from "./talk.module.css";

function noteText({ note }: NoteRow, words: Words, language: PageLanguage): string {
  switch (note.type) {
    case "reset":
      return words.note.reset(note.attempt, sentenceOfCode(note.failure.code, note.failure.detail, language));
    case "model_changed":
      return words.note.modelChanged(
        note.from,
        note.to,
        sentenceOfCode(note.failure.code, note.failure.detail, language),
      );
    case "model_delayed":
      return words.note.modelDelayed(
        formatTime(note.untilMs, language),
        sentenceOfCode(note.failure.code, note.failure.detail, language),
      );
    case "rejected":
      return words.note.rejected;
    case "reviewed": {
      const { round, isAccepted, problems, failure } = note;
      if (failure) return words.note.notReviewed(round, sentenceOfCode(failure.code, failure.detail, language));
      return words.note.reviewed(round, isAccepted, problems);
    }
    case "resumed":
      return words.note.resumed;
    case "compacted":
      return words.note.compacted(note.exchanges, note.turns);
  }
}

/** A thin line about the run itself. */
export function NoteLine({ note }: { note: NoteRow }): ReactNode {
  const words = useWords();
  const language = useLanguage();
  return (
    <p className={styles.note}>
      <span>{noteText(note, words, language)}</span>
    </p>
  );
}
