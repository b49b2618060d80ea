/** Columns of results: which numbers are quantities, and which name something. */

import type { QueryRows } from "../../store/types";
import { numberOf } from "./chart";

type Column = QueryRows["columns"][number];

/** The ends of names of columns whose numbers are names, such as `order_id`, `orderId`, `zip code`, `订单号`. */
const NAMES = /(?:^|[^a-z])(?:id|code|no|nr|number|zip|phone)$|(?:号|号码|编码|代码|邮编|电话)$/i;
const CASED_NAMES = /[a-z]I[dD]$/;

export const isNumeric = (column: Column | undefined): boolean =>
  ["integer", "decimal", "number"].includes(column?.type ?? "");

/** Returns true if the thousands of a column are separated: not in identifiers, years, and groups of rows. */
export function isQuantity(column: Column, values: readonly unknown[]): boolean {
  if (!isNumeric(column) || column.role === "dimension") return false;
  return !NAMES.test(column.name) && !CASED_NAMES.test(column.name) && !values.every(isYear);
}

function isYear(value: unknown): boolean {
  const number = numberOf(value);
  return number === null || (Number.isInteger(number) && number >= 1_900 && number <= 2_100);
}
