import { lazy, type ReactNode, Suspense } from "react";
import type { QueryRows } from "../../store/types";
import { Boundary } from "../parts/Boundary";

const RowsView = lazy(() => import("./RowsView").then(({ RowsView: view }) => ({ default: view })));

/** The results of queries, whose view is loaded with the first of them. */
export function Rows({ results }: { results: readonly QueryRows[] }): ReactNode {
  return (
    <Boundary>
      <Suspense>
        <RowsView results={results} />
      </Suspense>
    </Boundary>
  );
}
