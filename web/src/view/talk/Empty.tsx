import type { ReactNode } from "react";
import { useWords } from "../../words";
import { useActions, usePage } from "../store";
import { SAMPLE_TABLE, sampleTable } from "./sample";
import styles from "./talk.module.css";

/** A new conversation: three questions that the current model can answer. */
export function Empty(): ReactNode {
  const words = useWords();
  const actions = useActions();
  const isScripted = usePage((state) => state.config.state === "ready" && state.config.value.isScriptedModel);
  const hasTable = usePage((state) => state.draft.uploads.some((upload) => upload.name === SAMPLE_TABLE));
  const samples = isScripted ? words.empty.samples : words.empty.openSamples;
  const choose = (question: string, mode: string, needsTable: boolean): void => {
    actions.setDraft({ text: question, mode });
    if (needsTable && !hasTable) actions.addFiles([sampleTable()]);
    document.querySelector<HTMLTextAreaElement>("[data-key=box]")?.focus();
  };
  return (
    <div className={styles.empty}>
      <div className={styles.emptyInner}>
        <h1 className={styles.emptyTitle}>{words.empty.title}</h1>
        <ul className={styles.samples}>
          {samples.map((sample) => (
            <li key={sample.question}>
              <button
                type="button"
                className={styles.sample}
                onClick={() => choose(sample.question, sample.mode, sample.needsTable)}
              >
                <span>{sample.question}</span>
                <span className={styles.sampleNote}>{sample.note}</span>
              </button>
            </li>
          ))}
        </ul>
      </div>
    </div>
  );
}
