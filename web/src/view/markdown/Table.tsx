import { type ReactNode, useRef, useState } from "react";
import { useWords } from "../../words";
import { Inline } from "./Inline";
import type { MarkdownToken } from "./lex";
import styles from "./markdown.module.css";
import { TableTools } from "./TableTools";
import { tableTexts } from "./tables";

type TableToken = Extract<MarkdownToken, { type: "table" }>;

/** The rows that are shown at first. */
const FIRST_ROWS = 200;

function inside(tokens: readonly unknown[]): readonly MarkdownToken[] {
  return tokens as readonly MarkdownToken[];
}

export function Table({ token, depth }: { token: TableToken; depth: number }): ReactNode {
  const words = useWords();
  const table = useRef<HTMLTableElement>(null);
  const [isWhole, setIsWhole] = useState(token.rows.length <= FIRST_ROWS);
  const rows = isWhole ? token.rows : token.rows.slice(0, FIRST_ROWS);
  const align = (index: number): string | undefined => {
    const side = token.align[index];
    return side === "right" ? styles.right : side === "center" ? styles.center : undefined;
  };
  return (
    <div className={styles.table}>
      <div className={styles.tableScroll} role="region" aria-label={words.text.copyTable} tabIndex={0}>
        <table ref={table}>
          <thead>
            <tr>
              {token.header.map((cell, index) => (
                <th key={index} scope="col" className={align(index)}>
                  <Inline tokens={inside(cell.tokens)} depth={depth + 1} />
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map((row, at) => (
              <tr key={at}>
                {row.map((cell, index) => (
                  <td key={index} className={align(index)}>
                    <Inline tokens={inside(cell.tokens)} depth={depth + 1} />
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <TableTools
        table={table}
        texts={() => tableTexts(token)}
        hiddenRows={isWhole ? 0 : token.rows.length}
        onAll={() => setIsWhole(true)}
      />
    </div>
  );
}
