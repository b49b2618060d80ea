import { type ReactNode, useEffect, useState } from "react";
import { VList } from "virtua";
import { useLanguage, useWords } from "../../words";
import { formatCount } from "../../words/numbers";
import { type CsvTable } from "./csv";
import styles from "./files.module.css";

/** A table of many rows; it is read in a worker, and only the visible rows are in the document. */
export function Csv({ name, text }: { name: string; text: string }): ReactNode {
  const words = useWords();
  const language = useLanguage();
  const [table, setTable] = useState<CsvTable | null>(null);
  useEffect(() => {
    const worker = new Worker(new URL("./csv.worker.ts", import.meta.url), { type: "module" });
    worker.addEventListener("message", (event: MessageEvent<CsvTable>) => setTable(event.data));
    worker.postMessage(text);
    return () => worker.terminate();
  }, [text]);
  if (!table) return <p className={styles.state}>{words.files.loading}</p>;
  const [header = [], ...rows] = table.rows;
  const width = Math.max(header.length, rows[0]?.length ?? 0);
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
