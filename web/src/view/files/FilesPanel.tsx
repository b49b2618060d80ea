import type { ReactNode } from "react";
import type { SessionFile } from "../../store/types";
import { useWords } from "../../words";
import { formatBytes } from "../../words/numbers";
import { endingOf, kindOfFile } from "./kinds";
import styles from "./files.module.css";
import { useOpenFile } from "./open";

export function FilesPanel({ files }: { files: readonly SessionFile[] }): ReactNode {
  const words = useWords();
  const open = useOpenFile();
  if (files.length === 0) return <p className={styles.none}>{words.files.none}</p>;
  return (
    <ul className={styles.list}>
      {files.map((file) => (
        <li key={file.name} className={styles.entry}>
          {kindOfFile(file) === "pdf" ? (
            <a className={styles.entryOpen} href={file.preview_url} target="_blank" rel="noopener noreferrer">
              <Entry file={file} />
            </a>
          ) : (
            <button type="button" className={styles.entryOpen} onClick={() => open(file.name)}>
              <Entry file={file} />
            </button>
          )}
          <a
            className={styles.save}
            href={file.download_url}
            rel="noopener noreferrer"
            download={file.name}
            aria-label={`${words.files.save}: ${file.name}`}
          >
            {words.files.save}
          </a>
        </li>
      ))}
    </ul>
  );
}

function Entry({ file }: { file: SessionFile }): ReactNode {
  return (
    <>
      <span className={styles.ending} aria-hidden="true">
        {endingOf(file.name).slice(0, 4) || "file"}
      </span>
      <span className={styles.entryText}>
        <bdi className={styles.name}>{file.name}</bdi>
        <span className={styles.entryNote}>
          {[formatBytes(file.size), file.description].filter(Boolean).join(" · ")}
        </span>
      </span>
    </>
  );
}
