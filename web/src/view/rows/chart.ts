/** The chart of a result: what is drawn, as data. */

import type { QueryRows } from "../../store/types";

export type ChartKind = "line" | "area" | "bar" | "pie" | "scatter";

export interface Series {
  readonly name: string;
  /** One value for each label; null is a gap. */
  readonly values: readonly (number | null)[];
}

export interface ChartData {
  readonly kind: ChartKind;
  /** The name of the horizontal axis; empty if the labels speak for themselves. */
  readonly xName: string;
  readonly labels: readonly string[];
  /** The places of the labels on the axis of a line, from 0 to 1. */
  readonly places: readonly number[];
  readonly series: readonly Series[];
  /** The values of a label add up. */
  readonly isStacked: boolean;
  /** The chart has only the first rows. */
  readonly isCut: boolean;
}

export const MAX_SERIES = 6;
export const MAX_LABELS: Readonly<Record<ChartKind, number>> = { line: 1_000, area: 1_000, bar: 40, pie: 12, scatter: 1_000 };

export const cellText = (value: unknown): string =>
  value === null || value === undefined ? "" : typeof value === "string" ? value : JSON.stringify(value);

/** Returns the number of a cell; long decimals are texts. */
export function numberOf(value: unknown): number | null {
  if (typeof value === "number") return value;
  return typeof value === "string" && /^-?\d+(\.\d+)?$/.test(value) ? Number(value) : null;
}

const texts = new Intl.Collator(undefined, { numeric: true });

/** Compares cells: numbers by value, texts as a reader sorts them, and empty cells last. */
export function compareCells(one: unknown, other: unknown): number {
  if (one === null || other === null) return one === other ? 0 : one === null ? 1 : -1;
  const [first, second] = [numberOf(one), numberOf(other)];
  return first !== null && second !== null ? first - second : texts.compare(cellText(one), cellText(other));
}

/** Returns the chart that the server chose for a result; null if there is none, or if its values are no numbers. */
export function chartOf(result: Pick<QueryRows, "chart" | "columns" | "rows">): ChartData | null {
  const { kind: wanted, x, y } = result.chart;
  if (wanted !== "line" && wanted !== "bar" && wanted !== "pie") return null;
  const column = (key: unknown): number => result.columns.findIndex((other) => other.key === key);
  const dimension = column(x);
  const measures = (Array.isArray(y) ? y : []).map(column).filter((at) => at >= 0 && at !== dimension);
  if (dimension < 0 || measures.length === 0 || result.rows.length < 2) return null;
  const kind = wanted === "pie" && !isWhole(result.rows, measures) ? "bar" : wanted;
  const sorted =
    kind === "line" ? result.rows.toSorted((one, other) => compareCells(one[dimension], other[dimension])) : result.rows;
  const rows = sorted.slice(0, MAX_LABELS[kind]);
  const series = measures.slice(0, MAX_SERIES).map((at) => ({
    name: result.columns[at]?.name ?? "",
    values: rows.map((row) => numberOf(row[at])),
  }));
  const drawn = series.filter(({ values }) => values.some((value) => value !== null));
  if (drawn.length === 0) return null;
  const labels = rows.map((row) => cellText(row[dimension]) || "–");
  const xName = result.columns[dimension]?.name ?? "";
  const isCut = rows.length < sorted.length || measures.length > MAX_SERIES;
  return { kind, xName, labels, places: placesOf(labels), series: drawn, isStacked: false, isCut };
}

/** Returns true if one measure can be parts of a whole, and all have room. */
function isWhole(rows: readonly (readonly unknown[])[], measures: readonly number[]): boolean {
  const values = rows.map((row) => numberOf(row[measures[0] ?? 0]) ?? -1);
  const hasRoom = measures.length === 1 && rows.length <= MAX_LABELS.pie;
  return hasRoom && values.every((value) => value >= 0) && values.some((value) => value > 0);
}

/** Spreads dates and numbers by their distances, and other labels evenly. */
export function placesOf(labels: readonly string[]): readonly number[] {
  const values = labels.map((label) => (/^\d{4}-\d\d(-\d\d)?/.test(label) ? Date.parse(label) : (numberOf(label) ?? Number.NaN)));
  const [first = 0, last = 0] = [values[0], values.at(-1)];
  const isAscending = values.every((value, index) => index === 0 || value >= (values[index - 1] ?? 0));
  if (last > first && isAscending && values.every(Number.isFinite)) return values.map((value) => (value - first) / (last - first));
  return labels.map((_, index) => (labels.length > 1 ? index / (labels.length - 1) : 0));
}

/** The smallest range of values on an axis: pixels divided by less can be infinite. */
export const MIN_RANGE = 1e-300;

/** Returns round values from at most `low` to at least `high`, both around zero. */
export function ticksOf(low: number, high: number): readonly number[] {
  const [from, to] = [Math.min(0, low), Math.max(0, high)];
  if (to - from < MIN_RANGE) return [0, 1];
  const rough = (to - from) / 4;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * ([1, 2, 2.5, 5, 10].find((factor) => factor * power >= rough) ?? 10);
  const begin = Math.floor(from / step);
  const end = Math.ceil(to / step);
  return Array.from({ length: end - begin + 1 }, (_, index) => Number(((begin + index) * step).toPrecision(12)));
}

/** Returns the begin and the end of each part of a whole, from 0 to 1. */
export function slicesOf(values: readonly (number | null)[]): readonly { from: number; to: number; value: number }[] {
  const sum = values.reduce<number>((total, value) => total + (value ?? 0), 0);
  let before = 0;
  return values.map((part) => {
    const value = part ?? 0;
    const from = before / sum;
    before += value;
    return { from, to: before / sum, value };
  });
}

/** The place of a value on its axis. */
export interface Span {
  readonly value: number;
  readonly begin: number;
  readonly end: number;
}

/** Returns the place of each value: from zero, or from the end of the values below it; bars of each sign add up apart. */
export function spansOf({ kind, series, labels, isStacked }: ChartData): readonly (readonly (Span | null)[])[] {
  const ends = { up: labels.map(() => 0), down: labels.map(() => 0) };
  return series.map(({ values }) =>
    values.map((value, index) => {
      if (value === null) return null;
      const side = kind === "bar" && value < 0 ? ends.down : ends.up;
      const begin = isStacked ? (side[index] ?? 0) : 0;
      const end = begin + value;
      side[index] = end;
      return { value, begin, end };
    }),
  );
}

/** Returns the lowest and the highest value with its label. */
export function extremesOf({ labels, series }: ChartData): { low: [string, number]; high: [string, number] } | null {
  let low: [string, number] | null = null;
  let high: [string, number] | null = null;
  for (const { values } of series) {
    values.forEach((value, index) => {
      if (value === null) return;
      const label = labels[index] ?? "";
      if (!low || value < low[1]) low = [label, value];
      if (!high || value > high[1]) high = [label, value];
    });
  }
  return low && high ? { low, high } : null;
}
