import { memo, type ReactNode, useEffect, useMemo, useState } from "react";
import { useWords } from "../../words";
import { CopyButton } from "../parts/CopyButton";
import type { ColouredLine } from "./highlight";
import styles from "./markdown.module.css";

/** The longest code that is coloured, in UTF-16 units. */
const LONGEST_COLOURED = 20_000;
/** The lines of one part of a long code: a part that does not change is not laid out again. */
const LINES_OF_PART = 60;

function parts(text: string): readonly string[] {
  const lines = text.split("\n");
  const found: string[] = [];
  for (let at = 0; at < lines.length; at += LINES_OF_PART) found.push(lines.slice(at, at + LINES_OF_PART).join("\n"));
  return found;
}

const CodePart = memo(function CodePart({ text }: { text: string }): ReactNode {
  return <span className={styles.codePart}>{text}</span>;
});

function useColours(text: string, language: string, isDone: boolean): readonly ColouredLine[] | null {
  const [lines, setLines] = useState<{ text: string; lines: readonly ColouredLine[] } | null>(null);
  useEffect(() => {
    if (!isDone || !language || text.length > LONGEST_COLOURED) return;
    let isCurrent = true;
    void import("./highlight").then(
      async ({ colourCode }) => {
        const coloured = await colourCode(text, language);
        if (isCurrent && coloured) setLines({ text, lines: coloured });
      },
      () => undefined,
    );
    return () => {
      isCurrent = false;
    };
  }, [text, language, isDone]);
  return lines && lines.text === text ? lines.lines : null;
}

export function Code({ text, language, isDone }: { text: string; language: string; isDone: boolean }): ReactNode {
  const words = useWords();
  const name = (language.split(/[\s{]/)[0] ?? "").toLowerCase().slice(0, 30);
  const lines = useColours(text, name, isDone);
  const plain = useMemo(() => parts(text), [text]);
  return (
    <figure className={styles.code}>
      <figcaption>
        <span>{name}</span>
        <CopyButton text={() => text} label={words.text.copyCode} />
      </figcaption>
      <pre tabIndex={0}>
        <code>
          {lines
            ? lines.map((line, index) => (
                <span key={index} className={styles.codePart}>
                  {line.length === 0
                    ? "\u200b"
                    : line.map((piece, at) => (
                        <span key={at} className={piece.kind ? styles[piece.kind] : undefined}>
                          {piece.text}
                        </span>
                      ))}
                </span>
              ))
            : plain.map((part, index) => <CodePart key={index} text={part} />)}
        </code>
      </pre>
    </figure>
  );
}
