/** Numbers of a workbook as people write them: dates, times and percentages. */

import { attributesOf, tagsOf } from "./xml";

export type NumberFormat = "plain" | "date" | "percent";

const DAY_MS = 86_400_000;
/** The day of 1970-01-01 in the calendar that begins with 1900, and in the one that begins with 1904. */
const EPOCH_1900 = 25_569;
const EPOCH_1904 = 24_107;

/** Returns true for the numbers of Excel's own formats of dates and times. */
const isDateNumber = (id: number): boolean =>
  (id >= 14 && id <= 22) || (id >= 27 && id <= 36) || (id >= 45 && id <= 47) || (id >= 50 && id <= 58);

/** Reads the format of each style of cells. */
export function readFormats(xml: string): readonly NumberFormat[] {
  const own = new Map<number, NumberFormat>();
  const formats: NumberFormat[] = [];
  let isInCells = false;
  for (const tag of tagsOf(xml)) {
    if (tag.name === "cellXfs") isInCells = !tag.isEnd;
    const attributes = attributesOf(tag.attributes);
    const id = Number(attributes.numFmtId);
    if (tag.name === "numFmt") own.set(id, formatOfCode(attributes.formatCode ?? ""));
    if (tag.name !== "xf" || tag.isEnd || !isInCells) continue;
    const percent = id === 9 || id === 10 ? "percent" : "plain";
    formats.push(own.get(id) ?? (isDateNumber(id) ? "date" : percent));
  }
  return formats;
}

function formatOfCode(code: string): NumberFormat {
  // Without texts in quotes, escaped characters, and colors or conditions in brackets.
  const pattern = code.replace(/"[^"]*"|\\.|_.|\[(?!h|m|s)[^\]]*\]/gi, "");
  if (/[ymdhs]/i.test(pattern) && !/general/i.test(pattern)) return "date";
  return pattern.includes("%") ? "percent" : "plain";
}

/** Returns a number as text; a text that is no number stays as it is. */
export function showNumber(text: string, format: NumberFormat, has1904: boolean): string {
  const number = Number(text);
  if (text.trim() === "" || !Number.isFinite(number)) return text;
  if (format === "percent") return `${round(number * 100)} %`;
  if (format === "date") return showDate(number, has1904) ?? round(number);
  return round(number);
}

/** Drops the digits that a binary number cannot hold: 0.30000000000000004 becomes 0.3. */
const round = (number: number): string => String(Number(number.toPrecision(15)));

function showDate(serial: number, has1904: boolean): string | null {
  // Excel has a February 29 in 1900.
  const day = has1904 ? serial - EPOCH_1904 : serial - EPOCH_1900 + (serial < 60 ? 1 : 0);
  const date = new Date(Math.round(day * DAY_MS));
  if (serial < 0 || Number.isNaN(date.getTime()) || date.getUTCFullYear() > 9_999) return null;
  const [whole = "", time = ""] = date.toISOString().replace(/\.\d+Z$/, "").split("T");
  if (serial < 1) return time;
  return time === "00:00:00" ? whole : `${whole} ${time}`;
}
