import type { ReactNode } from "react";
import { Markdown } from "../markdown/Markdown";
import { Csv } from "./Csv";
import styles from "./files.module.css";
import { HtmlFrame } from "./HtmlFrame";
import { kindOfFile } from "./kinds";

/** A text as the file of this name will look. */
export function Preview({ name, text }: { name: string; text: string }): ReactNode {
  const kind = kindOfFile({ name, media_type: "" });
  return kind === "markdown" ? (
    <div className={`${styles.preview} ${styles.previewText}`} tabIndex={0} role="region" aria-label={name}>
      <Markdown text={text} isWhole isSmall />
    </div>
  ) : (
    <div className={`${styles.preview} ${styles.previewPart}`}>
      {kind === "html" ? <HtmlFrame name={name} text={text} /> : <Csv name={name} text={text} />}
    </div>
  );
}
