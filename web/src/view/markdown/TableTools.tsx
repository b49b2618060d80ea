import { MenuButton, MenuItem, MenuProvider } from "@ariakit/react";
import type { ReactNode, RefObject } from "react";
import { useWords } from "../../words";
import menu from "../parts/menu.module.css";
import { PopMenu } from "../parts/PopMenu";
import styles from "./markdown.module.css";
import { copyFormatted, tableAsCsv, tableAsMarkdown, type TableTexts } from "./tables";

interface TableToolsProps {
  readonly table: RefObject<HTMLTableElement | null>;
  /** Returns all cells; the first row is the header. */
  readonly texts: () => TableTexts;
  /** The number of all rows if some are hidden, otherwise 0. */
  readonly hiddenRows: number;
  readonly onAll: () => void;
}

/** The buttons below a table: show all rows, and copy. */
export function TableTools({ table, texts, hiddenRows, onAll }: TableToolsProps): ReactNode {
  const words = useWords();
  const copy = (text: string): void => void navigator.clipboard.writeText(text).catch(() => undefined);
  return (
    <div className={styles.tableTools}>
      {hiddenRows === 0 ? null : (
        <button type="button" className={styles.more} onClick={onAll}>
          {words.text.allRows(hiddenRows)}
        </button>
      )}
      <MenuProvider>
        <MenuButton className={styles.tool}>{words.text.copyTable}</MenuButton>
        <PopMenu>
          <MenuItem className={menu.item} onClick={() => copy(tableAsMarkdown(texts()))}>
            {words.text.asMarkdown}
          </MenuItem>
          <MenuItem className={menu.item} onClick={() => table.current && copyFormatted(table.current)}>
            {words.text.asText}
          </MenuItem>
          <MenuItem className={menu.item} onClick={() => copy(tableAsCsv(texts()))}>
            {words.text.asCsv}
          </MenuItem>
        </PopMenu>
      </MenuProvider>
    </div>
  );
}
