import type { ReactNode } from "react";
import type { Upload } from "../../store/types";
import { useLanguage, useWords } from "../../words";
import { sentenceOfError } from "../../words/errors";
import { formatBytes } from "../../words/numbers";
import { Icon } from "../parts/Icon";
import { useActions } from "../store";
import styles from "./input.module.css";

/** The files of the draft, with their progress. */
export function Uploads({ uploads }: { uploads: readonly Upload[] }): ReactNode {
  const words = useWords();
  const language = useLanguage();
  const actions = useActions();
  if (uploads.length === 0) return null;
  return (
    <ul className={styles.uploads}>
      {uploads.map((upload) => (
        <li
          key={upload.id}
          className={upload.state === "failed" ? `${styles.upload} ${styles.failed}` : styles.upload}
          title={upload.error ? sentenceOfError(upload.error, language) : undefined}
        >
          <bdi className={styles.uploadName}>{upload.name}</bdi>
          <span className={styles.uploadSize}>
            {upload.state === "uploading" ? `${Math.round(upload.progress * 100)} %` : formatBytes(upload.size)}
          </span>
          {upload.state === "uploading" ? (
            <progress
              className={styles.progress}
              max={1}
              value={upload.progress}
              aria-label={words.input.uploading(upload.name, Math.round(upload.progress * 100))}
            />
          ) : null}
          {upload.error ? (
            <button
              type="button"
              className={styles.again}
              aria-label={words.input.retryFile(upload.name)}
              onClick={() => actions.retryUpload(upload.id)}
            >
              {words.errors.retry}
            </button>
          ) : null}
          <button
            type="button"
            className={styles.remove}
            aria-label={words.input.removeFile(upload.name)}
            onClick={() => actions.removeUpload(upload.id)}
          >
            <Icon name="close" />
          </button>
          {upload.state === "failed" ? (
            <span className={styles.uploadError}>
              {upload.error ? sentenceOfError(upload.error, language) : words.input.lostFile}
            </span>
          ) : null}
        </li>
      ))}
    </ul>
  );
}
