import { lazy, type ReactNode, Suspense } from "react";
import { useWords } from "../../words";
import { Boundary } from "../parts/Boundary";
import styles from "./rows.module.css";

const ChartView = lazy(() => import("./ChartView").then(({ ChartView: view }) => ({ default: view })));

/** A fenced block `chart` of a text: the room of a chart while the block is written, then the chart. */
export function ChartBlock({ text, isDone }: { text: string; isDone: boolean }): ReactNode {
  const space = <p className={styles.space}>{useWords().rows.chartBegun}</p>;
  if (!isDone) return space;
  return (
    <Boundary>
      <Suspense fallback={space}>
        <ChartView text={text} />
      </Suspense>
    </Boundary>
  );
}
