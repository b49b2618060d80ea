import { type ReactNode, useEffect, useState } from "react";
import { useWords } from "../../words";
import { useBytes } from "./content";
import styles from "./files.module.css";
import { TableView } from "./TableView";
import type { SheetTable } from "./xlsx";

/** The most bytes of a workbook that are read. */
const MOST = 24_000_000;

type Reading = readonly SheetTable[] | "loading" | "failed";

/** A workbook: its visible sheets as tables. It is read in a worker. */
export function Workbook({ url }: { url: string }): ReactNode {
  const words = useWords();
  const content = useBytes(url, MOST);
  const [sheets, setSheets] = useState<Reading>("loading");
  const [chosen, setChosen] = useState(0);
  const bytes = content.state === "ready" && !content.isCut ? content.bytes : null;
  useEffect(() => {
    if (!bytes) return;
    const worker = new Worker(new URL("./xlsx.worker.ts", import.meta.url), { type: "module" });
    worker.addEventListener("message", (event: MessageEvent<readonly SheetTable[] | null>) =>
      setSheets(event.data ?? "failed"),
    );
    worker.postMessage(bytes);
    return () => worker.terminate();
  }, [bytes]);
  const isTooLarge = content.state === "ready" && content.isCut;
  if (content.state === "failed" || isTooLarge || sheets === "failed") {
    return <p className={styles.state}>{words.files.failed}</p>;
  }
  if (sheets === "loading") return <p className={styles.state}>{words.files.loading}</p>;
  const sheet = sheets[chosen];
  if (!sheet) return <p className={styles.state}>{words.files.noView}</p>;
  return (
    <>
      {sheets.length > 1 ? (
        <div className={styles.sheets} role="group" aria-label={words.files.sheets}>
          {sheets.map(({ name }, index) => (
            <button key={index} type="button" aria-pressed={index === chosen} onClick={() => setChosen(index)}>
              <bdi>{name}</bdi>
            </button>
          ))}
        </div>
      ) : null}
      {sheet.rows.length > 0 ? (
        <TableView key={chosen} name={sheet.name} table={sheet} />
      ) : (
        <p className={styles.state}>{words.files.emptySheet}</p>
      )}
    </>
  );
}
