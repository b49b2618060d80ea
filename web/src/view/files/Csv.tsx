import { type ReactNode, useEffect, useState } from "react";
import { useWords } from "../../words";
import type { TextTable } from "./csv";
import styles from "./files.module.css";
import { TableView } from "./TableView";

interface CsvProps {
  readonly name: string;
  readonly text: string;
  /** The file has more than this text. */
  readonly isPart?: boolean;
}

/** A table in CSV; it is read in a worker. */
export function Csv({ name, text, isPart = false }: CsvProps): ReactNode {
  const words = useWords();
  const [table, setTable] = useState<TextTable | null>(null);
  useEffect(() => {
    const worker = new Worker(new URL("./csv.worker.ts", import.meta.url), { type: "module" });
    worker.addEventListener("message", (event: MessageEvent<TextTable>) => setTable(event.data));
    worker.postMessage({ text, isPart });
    return () => worker.terminate();
  }, [text, isPart]);
  return table ? <TableView name={name} table={table} /> : <p className={styles.state}>{words.files.loading}</p>;
}
