import type { ReactNode } from "react";
import { VList } from "virtua";
import { useLanguage, useWords } from "../../words";
import { formatCount } from "../../words/numbers";
import type { TextTable } from "./csv";
import styles from "./files.module.css";

/** The rows that decide how many columns are shown: a title or a gap may come before the table itself. */
const FIRST_ROWS = 100;

/** A table of many rows; only the visible ones are in the document. */
export function TableView({ name, table }: { name: string; table: TextTable }): ReactNode {
  const words = useWords();
  const language = useLanguage();
  const [header = [], ...rows] = table.rows;
  const width = Math.max(...table.rows.slice(0, FIRST_ROWS).map((row) => row.length));
  const isNumber = Array.from({ length: width }, (_, index) =>
    rows.slice(0, 20).every((row) => /^-?[\d.,\s%]*$/.test(row[index] ?? "")),
  );
  const cells = (row: readonly string[], role: "columnheader" | "cell"): ReactNode =>
    Array.from({ length: width }, (_, index) => (
      <span
        key={index}
        role={role}
        className={isNumber[index] ? styles.numberCell : styles.cell}
        title={(row[index] ?? "").length > 24 ? row[index] : undefined}
      >
        {(row[index] ?? "").slice(0, 400)}
      </span>
    ));
  return (
    <div className={styles.csv}>
      {table.isCut ? <p className={styles.state}>{words.files.rows(formatCount(rows.length, language))}</p> : null}
      <div className={styles.csvScroll} tabIndex={0} role="region" aria-label={name}>
        <div className={styles.csvInner} role="table" aria-label={name} aria-rowcount={table.rows.length}>
          <div role="rowgroup">
            <div role="row" className={styles.csvHead}>
              {cells(header, "columnheader")}
            </div>
          </div>
          <VList className={styles.csvBody} data={rows} itemSize={30} role="rowgroup">
            {(row, index) => (
              <div key={index} role="row" className={styles.csvRow}>
                {cells(row, "cell")}
              </div>
            )}
          </VList>
        </div>
      </div>
    </div>
  );
}
