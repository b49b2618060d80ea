import { type ReactNode, useState } from "react";
import type { SessionFile } from "../../store/types";
import { useWords } from "../../words";
import { formatBytes } from "../../words/numbers";
import { PlainText } from "../markdown/Blocks";
import { Code } from "../markdown/Code";
import { Markdown } from "../markdown/Markdown";
import { Dialog } from "../parts/Dialog";
import { Icon } from "../parts/Icon";
import parts from "../parts/parts.module.css";
import { useContent } from "./content";
import { MOST_ROWS } from "./csv";
import { Csv } from "./Csv";
import { HtmlFrame } from "./HtmlFrame";
import { kindOfFile, languageOf } from "./kinds";
import styles from "./files.module.css";
import { Workbook } from "./Workbook";

/** The most bytes of a text that are read. */
const MOST_TEXT = 2_000_000;
/** The most bytes of a table that are read; most tables reach their last row long before. */
const MOST_TABLE = 100_000_000;

/** A file in view. */
export function Viewer({ file, onClose }: { file: SessionFile; onClose: () => void }): ReactNode {
  const words = useWords();
  const kind = kindOfFile(file);
  return (
    <Dialog title={file.name} onClose={onClose} size="full" isTitleHidden>
      <header className={styles.head}>
        <h2 className={styles.headName}>
          <bdi>{file.name}</bdi>
          <span className={styles.size}>{formatBytes(file.size)}</span>
        </h2>
        <a className={parts.button} href={file.download_url} rel="noopener noreferrer" download={file.name}>
          {words.files.save}
        </a>
        <button type="button" className={parts.icon} aria-label={words.page.close} onClick={onClose}>
          <Icon name="close" />
        </button>
      </header>
      <div className={styles.view}>
        {kind === "image" ? (
          <div className={styles.page} tabIndex={0} role="region" aria-label={file.name}>
            <img
              className={styles.image}
              src={file.preview_url}
              alt={file.description || file.name}
              referrerPolicy="no-referrer"
            />
          </div>
        ) : kind === "other" || kind === "pdf" ? (
          <p className={styles.state}>{words.files.noView}</p>
        ) : kind === "workbook" ? (
          <Workbook url={file.download_url} />
        ) : (
          <TextFile file={file} />
        )}
      </div>
    </Dialog>
  );
}

function TextFile({ file }: { file: SessionFile }): ReactNode {
  const words = useWords();
  const kind = kindOfFile(file);
  const [isSource, setIsSource] = useState(false);
  // The preview of HTML is changed for browsers; the preview page needs the file itself.
  const limit = kind === "csv" ? MOST_TABLE : MOST_TEXT;
  const lines = kind === "csv" ? MOST_ROWS : undefined;
  const content = useContent(kind === "html" ? file.download_url : file.preview_url, limit, lines);
  if (content.state === "loading") return <p className={styles.state}>{words.files.loading}</p>;
  if (content.state === "failed") return <p className={styles.state}>{words.files.failed}</p>;
  const { isCut, hasMore } = content;
  const isTable = kind === "csv" && !isSource;
  // The source of a table has the limit of texts.
  const text = kind === "csv" && isSource ? content.text.slice(0, MOST_TEXT) : content.text;
  const isPart = isCut || hasMore;
  const isShort = isTable ? isCut : isPart || text.length < content.text.length;
  const shown = isShort && !isTable && kind === "csv" ? new Blob([text]).size : limit;
  const hasSource = kind === "markdown" || kind === "html" || kind === "csv";
  return (
    <>
      {hasSource || isShort ? (
        <div className={styles.bar}>
          {isShort ? <span>{words.files.cut(formatBytes(shown), formatBytes(file.size))}</span> : null}
          {hasSource ? (
            <button
              type="button"
              className={parts.quiet}
              aria-pressed={isSource}
              onClick={() => setIsSource(!isSource)}
            >
              {isSource ? words.files.rendered : words.files.source}
            </button>
          ) : null}
        </div>
      ) : null}
      {kind === "html" && !isSource ? (
        <HtmlFrame name={file.name} text={text} />
      ) : isTable ? (
        <Csv name={file.name} text={text} isPart={isPart} />
      ) : (
        <div className={styles.page} tabIndex={0} role="region" aria-label={file.name}>
          <div className={styles.sheet}>
            {kind === "markdown" && !isSource ? (
              <Markdown text={text} isWhole />
            ) : kind === "code" ? (
              <Code text={text} language={languageOf(file.name)} isDone />
            ) : (
              <PlainText text={text} />
            )}
          </div>
        </div>
      )}
    </>
  );
}
