import { type ReactNode, useMemo } from "react";
import type { QueryRows } from "../../store/types";
import { useLanguage, useWords } from "../../words";
import { formatCount } from "../../words/numbers";
import { Code } from "../markdown/Code";
import { Chart } from "./Chart";
import { chartOf } from "./chart";
import { ResultTable } from "./ResultTable";
import styles from "./rows.module.css";

/** The results of queries: for each its question, its chart, its rows, and the query itself. */
export function RowsView({ results }: { results: readonly QueryRows[] }): ReactNode {
  return results.map((result, index) => <Result key={index} result={result} />);
}

function Result({ result }: { result: QueryRows }): ReactNode {
  const words = useWords();
  const language = useLanguage();
  const chart = useMemo(() => chartOf(result), [result]);
  const { rows, row_count: count } = result;
  const notes = result.notes.map((code) => words.rows.note[code as keyof typeof words.rows.note] ?? code);
  return (
    <section className={styles.result} aria-label={result.question || words.rows.label}>
      {result.question ? <h3 className={styles.question}>{result.question}</h3> : null}
      {chart ? <Chart data={chart} /> : null}
      {rows.length > 0 ? <ResultTable result={result} /> : <p className={styles.note}>{words.rows.none}</p>}
      {rows.length < count || result.is_cut ? (
        <p className={styles.note}>
          {words.rows.cut(formatCount(rows.length, language), formatCount(count, language) + (result.is_cut ? "+" : ""))}
        </p>
      ) : null}
      <details className={styles.query}>
        <summary>{notes.length > 0 ? words.rows.queryAndNotes(notes.length) : words.rows.query}</summary>
        {notes.map((note) => (
          <p key={note}>{note}</p>
        ))}
        <Code text={result.sql} language="sql" isDone />
      </details>
    </section>
  );
}
