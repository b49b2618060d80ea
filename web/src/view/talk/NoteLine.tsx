import type { ReactNode } from "react";
import type { NoteRow } from "../../store/types";
import { type PageLanguage, useLanguage, useWords, type Words } from "../../words";
import { sentenceOfCode } from "../../words/errors";
import { formatTime } from "../../words/numbers";
import { newestRun, usePage } from "../store";
import { Judgement } from "./Judgement";
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
      return words.note.reviewed(round, isAccepted, problems.length);
    }
    case "verdict": {
      const scores = note.scores.map((own) => `${own.letter} ${own.score}`).join(" · ");
      const chosen = note.scores.find((own) => own.child === note.chosen);
      return words.note.verdict(chosen?.letter ?? null, scores);
    }
    case "resumed":
      return words.note.resumed;
    case "compacted":
      return words.note.compacted(note.exchanges, note.turns);
  }
}

/** The reasons of a judgement; `nameOf` returns the agent of an answer. */
function reasonsOf({ note }: NoteRow, nameOf: (child: string) => string): readonly string[] {
  if (note.type === "reviewed") return note.problems;
  if (note.type !== "verdict") return [];
  return note.scores.map(({ child, letter, score, reason }) => `${letter} · ${nameOf(child)} · ${score}: ${reason}`);
}

const hasFailed = ({ note }: NoteRow): boolean => note.type === "reviewed" && !note.isAccepted;

/** A thin line about the run itself. */
export function NoteLine({ note }: { note: NoteRow }): ReactNode {
  const words = useWords();
  const language = useLanguage();
  const text = noteText(note, words, language);
  const lanes = usePage((state) => (note.note.type === "verdict" ? newestRun(state)?.lanes : undefined));
  const reasons = reasonsOf(note, (child) => lanes?.get(child)?.agent ?? child);
  if (reasons.length > 0) return <Judgement head={text} reasons={reasons} hasFailed={hasFailed(note)} />;
  return (
    <p className={styles.note}>
      <span>{text}</span>
    </p>
  );
}
