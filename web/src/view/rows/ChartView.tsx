import { type ReactNode, useMemo } from "react";
import { useWords } from "../../words";
import { Code } from "../markdown/Code";
import { Chart } from "./Chart";
import { readChartBlock } from "./chart_block";
import { ResultTable } from "./ResultTable";
import styles from "./rows.module.css";

/** The chart of a block with its values as a table; a block that is no chart is code. */
export function ChartView({ text }: { text: string }): ReactNode {
  const words = useWords();
  const block = useMemo(() => readChartBlock(text), [text]);
  if (!block) return <Code text={text} language="json" isDone />;
  const { title, unit, source, data, table } = block;
  const columns = table.columns.map((column) => ({
    ...column,
    name: column.name || (column.type === "text" ? words.rows.chartLabel : words.rows.chartValue),
  }));
  return (
    <div className={styles.result}>
      {title || unit ? (
        <p className={styles.question}>
          {title} {unit ? <span className={styles.unit}>{unit}</span> : null}
        </p>
      ) : null}
      <Chart data={data} />
      {source ? <p className={styles.note}>{words.rows.chartSource(source)}</p> : null}
      <details className={styles.query}>
        <summary>{words.rows.chartValues}</summary>
        <ResultTable result={{ ...table, columns }} />
      </details>
    </div>
  );
}
