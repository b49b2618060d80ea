import { type ReactNode, useMemo, useRef, useState } from "react";
import type { QueryRows } from "../../store/types";
import { useLanguage, useWords } from "../../words";
import { formatCount, separateThousands } from "../../words/numbers";
import markdown from "../markdown/markdown.module.css";
import { TableTools } from "../markdown/TableTools";
import { cellText, compareCells } from "./chart";
import { isNumeric, isQuantity } from "./column_kinds";
import styles from "./rows.module.css";

/** The rows that are shown at first. */
const FIRST_ROWS = 20;
const MAX_COLUMNS = 100;
/** The part of a cell that is shown, in UTF-16 units. */
const MAX_CELL = 400;

interface Order {
  readonly column: number;
  readonly isDown: boolean;
}

/** The rows of a result, in the order of the query or of a column that the reader chose. */
export function ResultTable({ result }: { result: Pick<QueryRows, "columns" | "rows"> }): ReactNode {
  const words = useWords();
  const language = useLanguage();
  const table = useRef<HTMLTableElement>(null);
  const [order, setOrder] = useState<Order | null>(null);
  const [isWhole, setIsWhole] = useState(false);
  const columns = result.columns.slice(0, MAX_COLUMNS);
  const rows = useMemo(() => sortRows(result.rows, order), [result.rows, order]);
  const shown = isWhole ? rows : rows.slice(0, FIRST_ROWS);
  const turn = (column: number): void => {
    const isSame = order?.column === column;
    setOrder(isSame && order.isDown ? null : { column, isDown: isSame });
  };
  const texts = (): string[][] => [
    result.columns.map((column) => column.name),
    ...rows.map((row) => row.map(cellText)),
  ];
  const quantities = useMemo(
    () => result.columns.map((column, at) => isQuantity(column, result.rows.map((row) => row[at]))),
    [result],
  );
  const side = (at: number): string | undefined => (isNumeric(columns[at]) ? markdown.right : undefined);
  const shownCell = (value: unknown, at: number): string => {
    const text = cellText(value);
    return quantities[at] ? separateThousands(text, language) : text.slice(0, MAX_CELL);
  };
  return (
    <div className={`${markdown.text} ${markdown.table}`}>
      <div className={markdown.tableScroll} role="region" aria-label={words.rows.label} tabIndex={0}>
        <table ref={table}>
          <thead>
            <tr>
              {columns.map((column, at) => (
                <th key={column.key} scope="col" className={side(at)} aria-sort={sortWord(order, at)}>
                  <button type="button" className={styles.sort} onClick={() => turn(at)}>
                    <bdi>{column.name}</bdi>
                    <span aria-hidden="true">{order?.column === at ? (order.isDown ? " ↓" : " ↑") : ""}</span>
                  </button>
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {shown.map((row, at) => (
              <tr key={at}>
                {columns.map((column, index) => (
                  <td key={column.key} className={side(index)}>
                    {shownCell(row[index], index)}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {result.columns.length > MAX_COLUMNS ? (
        <p className={styles.note}>
          {words.rows.columns(MAX_COLUMNS, formatCount(result.columns.length, language))}
        </p>
      ) : null}
      <TableTools
        table={table}
        texts={texts}
        hiddenRows={shown.length < rows.length ? rows.length : 0}
        onAll={() => setIsWhole(true)}
      />
    </div>
  );
}

function sortRows(rows: QueryRows["rows"], order: Order | null): QueryRows["rows"] {
  if (!order) return rows;
  const { column, isDown } = order;
  return rows.toSorted((one, other) => {
    const [first, second] = [one[column] ?? null, other[column] ?? null];
    // Empty cells stay last.
    const isTurned = isDown && first !== null && second !== null;
    return isTurned ? compareCells(second, first) : compareCells(first, second);
  });
}

const sortWord = (order: Order | null, column: number): "ascending" | "descending" | "none" =>
  order?.column === column ? (order.isDown ? "descending" : "ascending") : "none";
