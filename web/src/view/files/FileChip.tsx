import type { ReactNode } from "react";
import type { SessionFile } from "../../store/types";
import { formatBytes } from "../../words/numbers";
import { endingOf, kindOfFile } from "./kinds";
import styles from "./files.module.css";
import { useOpenFile } from "./open";

/** A file as a button that opens it. */
export function FileChip({ file }: { file: SessionFile }): ReactNode {
  const open = useOpenFile();
  const inside = (
    <>
      <span className={styles.ending} aria-hidden="true">
        {endingOf(file.name).slice(0, 4) || "file"}
      </span>
      <bdi className={styles.name}>{file.name}</bdi>
      <span className={styles.size}>{formatBytes(file.size)}</span>
    </>
  );
  const title = file.description || file.name;
  if (kindOfFile(file) === "pdf") {
    return (
      <a className={styles.chip} title={title} href={file.preview_url} target="_blank" rel="noopener noreferrer">
        {inside}
      </a>
    );
  }
  return (
    <button type="button" className={styles.chip} title={title} onClick={() => open(file.name)}>
      {inside}
    </button>
  );
}
