import { type ReactNode, useMemo, useState } from "react";
import { BlockView } from "./Blocks";
import { MarkdownReader } from "./lex";
import styles from "./markdown.module.css";

/** A text of a model or a user. `isWhole` is false while the text grows. */
export function Markdown({
  text,
  isWhole,
  isSmall = false,
}: {
  text: string;
  isWhole: boolean;
  isSmall?: boolean;
}): ReactNode {
  const [reader] = useState(() => new MarkdownReader());
  const blocks = useMemo(() => reader.read(text, isWhole), [reader, text, isWhole]);
  return (
    <div className={`${styles.text} ${isSmall ? styles.small : ""} ${isWhole ? "" : styles.growing}`}>
      {blocks.map((block) => (
        <BlockView key={block.at} block={block} links={reader.links} />
      ))}
    </div>
  );
}
