import { createElement, memo, type ReactNode, useMemo, useState } from "react";
import { formatBytes } from "../../words/numbers";
import { useWords } from "../../words";
import { ChartBlock } from "../rows/ChartBlock";
import { Code } from "./Code";
import { DEEPEST, Inline } from "./Inline";
import { type Block, lexBlock, type MarkdownReader, type MarkdownToken } from "./lex";
import { Maths } from "./Maths";
import { Table } from "./Table";
import styles from "./markdown.module.css";

/** The part of a long plain text that is shown at first, in UTF-16 units. */
const FIRST_PART = 20_000;

/** A text of this length may scroll, so the keyboard must reach it; in UTF-16 units. */
const SCROLLS = 400;

/** A text that is shown as it is; a long one only in part. */
export function PlainText({ text }: { text: string }): ReactNode {
  const [isWhole, setIsWhole] = useState(false);
  const words = useWords();
  const isCut = text.length > FIRST_PART && !isWhole;
  return (
    <>
      <pre className={styles.plain} tabIndex={text.length > SCROLLS ? 0 : undefined}>
        {isCut ? text.slice(0, FIRST_PART) : text}
      </pre>
      {isCut ? (
        <button type="button" className={styles.more} onClick={() => setIsWhole(true)}>
          {words.talk.showAllOf(formatBytes(text.length))}
        </button>
      ) : null}
    </>
  );
}

interface BlockProps {
  readonly block: Block;
  readonly links: MarkdownReader["links"];
}

/** One block: its inside is read when it is rendered. */
export const BlockView = memo(
  function BlockView({ block, links }: BlockProps): ReactNode {
    const tokens = useMemo(() => lexBlock(block, links), [block, links]);
    return <Blocks tokens={tokens} depth={0} isDone={block.isDone} level={block.level} />;
  },
  (before, after) =>
    before.block.raw === after.block.raw &&
    before.block.isDone === after.block.isDone &&
    before.block.level === after.block.level &&
    before.links === after.links,
);

function inside(tokens: readonly unknown[] | undefined): readonly MarkdownToken[] {
  return (tokens ?? []) as readonly MarkdownToken[];
}

interface BlocksProps {
  readonly tokens: readonly MarkdownToken[];
  readonly depth: number;
  readonly isDone: boolean;
  /** The level of a heading; headings in lists and quotes are at the first. */
  readonly level?: number;
}

function Blocks({ tokens, depth, isDone, level = 3 }: BlocksProps): ReactNode {
  if (depth > DEEPEST) return <PlainText text={tokens.map((token) => token.raw).join("")} />;
  return tokens.map((token, index) => (
    <BlockToken key={index} token={token} depth={depth} isDone={isDone || index < tokens.length - 1} level={level} />
  ));
}

function BlockToken({
  token,
  depth,
  isDone,
  level,
}: {
  token: MarkdownToken;
  depth: number;
  isDone: boolean;
  level: number;
}): ReactNode {
  switch (token.type) {
    case "space":
    case "def":
      return null;
    case "heading":
      return createElement(
        `h${level || 3}`,
        { className: styles[`heading${Math.min(4, token.depth)}`] },
        <Inline tokens={inside(token.tokens)} depth={depth + 1} />,
      );
    case "paragraph":
      return (
        <p>
          <Inline tokens={inside(token.tokens)} depth={depth + 1} />
        </p>
      );
    case "text":
      return token.tokens ? <Inline tokens={inside(token.tokens)} depth={depth + 1} /> : token.text;
    case "code":
      if (token.lang === "chart") return <ChartBlock text={token.text} isDone={isDone} />;
      return <Code text={token.text} language={token.lang ?? ""} isDone={isDone} />;
    case "blockquote":
      return (
        <blockquote>
          <Blocks tokens={inside(token.tokens)} depth={depth + 1} isDone={isDone} />
        </blockquote>
      );
    case "list":
      return <List token={token} depth={depth} isDone={isDone} />;
    case "table":
      return <Table token={token} depth={depth} />;
    case "hr":
      return <hr />;
    case "math":
      return <Maths tex={token.tex} raw={token.raw} isBlock />;
    case "html":
      return /^\s*<!--[\s\S]*-->\s*$/.test(token.raw) ? null : <PlainText text={token.raw.trimEnd()} />;
    case "plain":
      return <PlainText text={token.raw} />;
    default:
      return <p>{token.raw}</p>;
  }
}

type ListToken = Extract<MarkdownToken, { type: "list" }>;

function List({ token, depth, isDone }: { token: ListToken; depth: number; isDone: boolean }): ReactNode {
  const words = useWords();
  const items = token.items.map((item, index) => (
    <li key={index} className={item.task ? styles.task : undefined}>
      {item.task ? (
        <input
          type="checkbox"
          checked={item.checked === true}
          disabled
          aria-label={item.checked ? words.text.taskDone : words.text.task}
        />
      ) : null}
      <Blocks
        tokens={inside(item.tokens).filter((part) => (part.type as string) !== "checkbox")}
        depth={depth + 1}
        isDone={isDone || index < token.items.length - 1}
      />
    </li>
  ));
  const tight = token.loose ? undefined : styles.tight;
  if (!token.ordered) return <ul className={tight}>{items}</ul>;
  return (
    <ol className={tight} start={token.start === "" ? 1 : token.start}>
      {items}
    </ol>
  );
}
