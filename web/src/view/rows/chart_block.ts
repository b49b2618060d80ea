/** The fenced block `chart` of a Markdown text: JSON in the form that documents draw, too. */

import type { QueryRows } from "../../store/types";
import { type ChartData, type ChartKind, MAX_LABELS, MAX_SERIES, placesOf, type Series } from "./chart";

export interface ChartBlock {
  readonly title: string;
  /** The unit of the values, or the name of their axis. */
  readonly unit: string;
  readonly source: string;
  readonly data: ChartData;
  /** All values. */
  readonly table: Pick<QueryRows, "columns" | "rows">;
}

const KINDS: readonly string[] = ["line", "area", "bar", "pie", "scatter"] satisfies readonly ChartKind[];
const KEYS = new Set(["type", "title", "unit", "labels", "series", "source", "stacked", "horizontal", "x", "y"]);
/** The limits of a block: UTF-16 units, series, labels or drawn points of a series, and UTF-16 units of a text. */
const MAX_JSON = 60_000;
const MAX_BLOCK_SERIES = 12;
const MAX_POINTS = 500;
const MAX_TEXT = 200;

type Fields = Readonly<Record<string, unknown>>;
type Point = readonly [number, number];

const isObject = (value: unknown): value is Fields => typeof value === "object" && value !== null && !Array.isArray(value);
const isNumber = (value: unknown): value is number => typeof value === "number" && Number.isFinite(value) && Math.abs(value) < 1e15;
const isPoint = (value: unknown): value is Point => Array.isArray(value) && value.length === 2 && value.every(isNumber);
const isListOf = <T>(value: unknown, most: number, is: (item: unknown) => item is T): value is readonly T[] =>
  Array.isArray(value) && value.length > 0 && value.length <= most && value.every(is);
const isLabel = (value: unknown): value is string | number | boolean => ["string", "number", "boolean"].includes(typeof value);
const isValue = (value: unknown): value is number | null => value === null || isNumber(value);

/** Reads the JSON of a block; null if it is no chart. */
export function readChartBlock(text: string): ChartBlock | null {
  const fields = parseFields(text);
  const kind = fields?.["type"] as ChartKind;
  if (!fields || !KINDS.includes(kind) || Object.keys(fields).some((key) => !KEYS.has(key))) return null;
  const words = ["title", "unit", "source", "x", "y"].map((key) => (key in fields ? fields[key] : ""));
  if (!words.every((word) => typeof word === "string")) return null;
  const [title = "", unit = "", source = "", x = "", y = ""] = words.map((word) => word.trim().slice(0, MAX_TEXT));
  const { series } = fields;
  if (!isListOf(series, MAX_BLOCK_SERIES, isObject)) return null;
  if (!series.every(({ name }) => name === undefined || typeof name === "string")) return null;
  const names = series.map(({ name }) => ((name as string | undefined) ?? "").slice(0, MAX_TEXT) || y || unit || title);
  const parts = kind === "scatter" ? pointsOf(series, names, x, y) : valuesOf(fields["labels"], series, names, kind);
  if (!parts) return null;
  const data = cutChart(kind, { ...parts, xName: x, isStacked: Boolean(fields["stacked"]) && kind !== "pie" && kind !== "scatter" });
  if (data.series.every(({ values }) => values.every((value) => value === null))) return null;
  return { title, unit: unit || y, source, data, table: parts.table };
}

function parseFields(text: string): Fields | null {
  if (text.length > MAX_JSON) return null;
  try {
    const parsed: unknown = JSON.parse(text);
    return isObject(parsed) ? parsed : null;
  } catch {
    return null;
  }
}

interface Parts {
  readonly labels: readonly string[];
  readonly places: readonly number[];
  readonly series: readonly Series[];
  readonly table: ChartBlock["table"];
}

const numberColumn = (name: string, index: number) => ({ key: `${index}`, name, type: "number" });
const valueColumn = (name: string, index: number) => ({ ...numberColumn(name, index), role: "measure" as const });

/** Returns the values of each label. */
function valuesOf(labelList: unknown, series: readonly Fields[], names: readonly string[], kind: ChartKind): Parts | null {
  if (!isListOf(labelList, MAX_POINTS, isLabel)) return null;
  const labels = labelList.map((label) => String(label).slice(0, MAX_TEXT));
  const rows = series.map(({ values }) => values);
  if (!rows.every((values) => isListOf(values, MAX_POINTS, isValue) && values.length === labels.length)) return null;
  const lists = rows as readonly (readonly (number | null)[])[];
  const isWhole = (values: readonly (number | null)[]): boolean =>
    values.every((value) => (value ?? -1) >= 0) && values.some((value) => value !== 0);
  if (kind === "pie" && (lists.length > 1 || !lists.every(isWhole))) return null;
  return {
    labels,
    places: placesOf(labels),
    series: lists.map((values, index) => ({ name: names[index] ?? "", values })),
    table: {
      columns: [{ key: "label", name: "", type: "text" }, ...names.map(valueColumn)],
      rows: labels.map((label, index) => [label, ...lists.map((values) => values[index] ?? null)]),
    },
  };
}

/** Returns the points of all series, each as a value at its own label. */
function pointsOf(series: readonly Fields[], names: readonly string[], x: string, y: string): Parts | null {
  const lists = series.map(({ points }) => points);
  if (!lists.every((points) => Array.isArray(points) && points.every(isPoint))) return null;
  const points = (lists as readonly (readonly Point[])[]).flatMap((list, index) =>
    list.slice(0, MAX_POINTS).map(([at, value]) => ({ index, at, value })),
  );
  if (points.length === 0) return null;
  const all = points.map(({ at }) => at);
  const low = Math.min(...all);
  const width = Math.max(...all) - low;
  return {
    labels: all.map(String),
    places: all.map((at) => (width > 0 ? (at - low) / width : 0.5)),
    series: names.map((name, index) => ({ name, values: points.map((point) => (point.index === index ? point.value : null)) })),
    table: {
      columns: [{ key: "name", name: "", type: "text" }, numberColumn(x || "x", 0), valueColumn(y || "y", 1)],
      rows: points.map(({ index, at, value }) => [names[index], at, value]),
    },
  };
}

/** Leaves out what a chart has no room for. Values without the others are neither shares nor parts of a sum. */
function cutChart(wanted: ChartKind, whole: Omit<ChartData, "kind" | "isCut">): ChartData {
  const kind = wanted === "pie" && whole.labels.length > MAX_LABELS.pie ? "bar" : wanted;
  const most = MAX_LABELS[kind];
  const series = whole.series.slice(0, MAX_SERIES).map(({ name, values }) => ({ name, values: values.slice(0, most) }));
  return {
    ...whole,
    kind,
    isStacked: whole.isStacked && whole.series.length <= MAX_SERIES,
    labels: whole.labels.slice(0, most),
    places: whole.places.slice(0, most),
    series,
    isCut: whole.labels.length > most || whole.series.length > MAX_SERIES,
  };
}
