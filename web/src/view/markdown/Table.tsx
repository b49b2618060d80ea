import { MenuButton, MenuItem, MenuProvider } from "@ariakit/react";
import { type ReactNode, useRef, useState } from "react";
import { useWords } from "../../words";
import menu from "../parts/menu.module.css";
import { PopMenu } from "../parts/PopMenu";
import { Inline } from "./Inline";
import type { MarkdownToken } from "./lex";
import styles from "./markdown.module.css";
import { copyFormatted, tableAsCsv, tableAsMarkdown, tableTexts } from "./tables";

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
  const copy = (text: string): void => void navigator.clipboard.writeText(text).catch(() => undefined);
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
      <div className={styles.tableTools}>
        {isWhole ? null : (
          <button type="button" className={styles.more} onClick={() => setIsWhole(true)}>
            {words.text.allRows(token.rows.length)}
          </button>
        )}
        <MenuProvider>
          <MenuButton className={styles.tool}>{words.text.copyTable}</MenuButton>
          <PopMenu>
            <MenuItem className={menu.item} onClick={() => copy(tableAsMarkdown(tableTexts(token)))}>
              {words.text.asMarkdown}
            </MenuItem>
            <MenuItem className={menu.item} onClick={() => table.current && copyFormatted(table.current)}>
              {words.text.asText}
            </MenuItem>
            <MenuItem className={menu.item} onClick={() => copy(tableAsCsv(tableTexts(token)))}>
              {words.text.asCsv}
            </MenuItem>
          </PopMenu>
        </MenuProvider>
      </div>
    </div>
  );
}
