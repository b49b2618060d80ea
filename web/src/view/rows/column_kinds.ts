/** Columns of results: which numbers are quantities, and which name something. */

import type { QueryRows } from "../../store/types";
import { numberOf } from "./chart";

type Column = QueryRows["columns"][number];

/** The ends of names of columns whose numbers are names, such as `order_id`, `orderid`, `zip code`, `订单号`. */
const NAMES = /(?:^|[^a-z])(?:code|no|nr|number|zip|zipcode|postcode|phone)$|id$|(?:号|号码|编码|代码|邮编|电话)$/i;
/** Words that end like an identifier, and are none. */
const OTHERS = /(?:^|[^a-z])(?:(?:un|pre|over)?paid|aid|bid|raid|acid|grid|covid|void|fluid|liquid|solid|hybrid|(?:in)?valid)$/i;

export const isNumeric = (column: Column | undefined): boolean =>
  ["integer", "decimal", "number"].includes(column?.type ?? "");

/** Returns true if the thousands of a column are separated: not in identifiers, groups of rows, and what may be years. */
export function isQuantity(column: Column, values: readonly unknown[]): boolean {
  if (!isNumeric(column) || column.role === "dimension") return false;
  const name = column.name.replaceAll(/([a-z])([A-Z])/g, "$1 $2");
  if (NAMES.test(name) && !OTHERS.test(name)) return false;
  return column.role === "measure" || !values.every(isYear);
}

function isYear(value: unknown): boolean {
  const number = numberOf(value);
  return number === null || (Number.isInteger(number) && number >= 1_900 && number <= 2_100);
}
