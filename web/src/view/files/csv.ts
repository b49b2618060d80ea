/** Tables in CSV. */

/** A table as texts; the first row names the columns. */
export interface TextTable {
  readonly rows: readonly (readonly string[])[];
  readonly isCut: boolean;
}

/** The most rows that are shown. */
export const MOST_ROWS = 100_000;
/** The most columns that are shown. */
export const MOST_COLUMNS = 200;

function separatorOf(text: string): string {
  const line = text.slice(0, 4_000).split(/\r?\n/, 1)[0] ?? "";
  const count = (separator: string): number => line.split(separator).length;
  return [",", ";", "\t", "|"].reduce((best, separator) => (count(separator) > count(best) ? separator : best), ",");
}

/** Reads rows of a text, with quotes as in RFC 4180. The last row of a part of a file may be cut, and is left out. */
export function parseCsv(source: string, isPart = false): TextTable {
  const text = source.replace(/^\ufeff/, "");
  const separator = separatorOf(text);
  const rows: string[][] = [];
  let row: string[] = [];
  let at = 0;
  const endRow = (): void => {
    if (row.length > 1 || row[0] !== "") rows.push(row.length > MOST_COLUMNS ? row.slice(0, MOST_COLUMNS) : row);
    row = [];
  };
  while (at < text.length) {
    if (rows.length >= MOST_ROWS) return { rows, isCut: true };
    let cell = "";
    if (text[at] === '"') {
      let end = text.indexOf('"', at + 1);
      while (end >= 0 && text[end + 1] === '"') end = text.indexOf('"', end + 2);
      const close = end < 0 ? text.length : end;
      cell = text.slice(at + 1, close).replaceAll('""', '"');
      at = close + 1;
    }
    const begin = at;
    while (at < text.length && text[at] !== separator && text[at] !== "\n") at += 1;
    cell += text.slice(begin, at).replace(/\r$/, "");
    row.push(cell);
    if (at >= text.length || text[at] === "\n") endRow();
    at += 1;
  }
  if (row.length > 0) {
    if (text.endsWith(separator)) row.push("");
    endRow();
  }
  return isPart ? { rows: rows.slice(0, -1), isCut: true } : { rows, isCut: false };
}
