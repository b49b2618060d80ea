/** Tables of an Excel workbook (xlsx), as texts. */

import { MOST_COLUMNS, MOST_ROWS, type TextTable } from "./csv";
import { type NumberFormat, readFormats, showNumber } from "./xlsxNumbers";
import { attributesOf, tagsOf, textOf } from "./xml";
import { ZipArchive } from "./zip";

export interface SheetTable extends TextTable {
  readonly name: string;
}

/** The longest text of one part of a workbook, in UTF-16 units. */
const LONGEST_PART = 20_000_000;

/**
 * Reads the visible sheets of a workbook, in their order; of each part at most `limit` UTF-16 units. Throws for bytes
 * that are no workbook.
 */
export async function readWorkbook(
  bytes: Uint8Array<ArrayBuffer>,
  limit = LONGEST_PART,
): Promise<readonly SheetTable[]> {
  const archive = new ZipArchive(bytes);
  const read = async (name: string): Promise<string> => (await archive.readText(name, limit)) ?? "";
  const workbook = await read("xl/workbook.xml");
  if (workbook === "") throw new RangeError("no workbook");
  const targets = readTargets(await read("xl/_rels/workbook.xml.rels"));
  const texts = readTexts(await read("xl/sharedStrings.xml"));
  const formats = readFormats(await read("xl/styles.xml"));
  const has1904 = /<(?:\w+:)?workbookPr[^>]*\bdate1904="(?:1|true)"/.test(workbook);
  const sheets: SheetTable[] = [];
  for (const tag of tagsOf(workbook)) {
    if (tag.name !== "sheet" || tag.isEnd) continue;
    const { name = "", state = "", id = "" } = attributesOf(tag.attributes);
    const target = targets.get(id) ?? "";
    // A sheet that is only a chart has no cells.
    if (state.toLowerCase().includes("hidden") || !/worksheets\//.test(target)) continue;
    const xml = await read(target.startsWith("/") ? target.slice(1) : `xl/${target}`);
    const table = readSheet(xml, { texts, formats, has1904 });
    // A part at the limit may end within a cell.
    sheets.push({ name, rows: table.rows, isCut: table.isCut || xml.length >= limit });
  }
  return sheets;
}

function readTargets(xml: string): ReadonlyMap<string, string> {
  const targets = new Map<string, string>();
  for (const tag of tagsOf(xml)) {
    const { Id: id, Target: target } = attributesOf(tag.attributes);
    if (tag.name === "Relationship" && id !== undefined && target !== undefined) targets.set(id, target);
  }
  return targets;
}

/** Reads the texts that cells share. */
function readTexts(xml: string): readonly string[] {
  const texts: string[] = [];
  let isPhonetic = false;
  for (const tag of tagsOf(xml)) {
    if (tag.name === "si" && !tag.isEnd) texts.push("");
    // The reading of a Japanese text is no part of it.
    else if (tag.name === "rPh") isPhonetic = !tag.isEnd;
    else if (tag.name === "t" && !tag.isEnd && !isPhonetic) texts.push((texts.pop() ?? "") + textOf(tag.text));
  }
  return texts;
}

interface Surroundings {
  readonly texts: readonly string[];
  readonly formats: readonly NumberFormat[];
  readonly has1904: boolean;
}

/** The cell that is being read. */
interface OpenCell {
  readonly column: number;
  readonly type: string;
  readonly format: NumberFormat;
  text: string;
}

function readSheet(xml: string, surroundings: Surroundings): TextTable {
  const rows: string[][] = [];
  let row: string[] = [];
  let cell: OpenCell | null = null;
  for (const tag of tagsOf(xml)) {
    if (tag.name === "row" && !tag.isEnd) {
      const at = Number(attributesOf(tag.attributes).r ?? rows.length + 1) - 1;
      if (!(at < MOST_ROWS)) return { rows, isCut: true };
      while (rows.length < at) rows.push([]);
      row = [];
      rows[at] = row;
    } else if (tag.name === "c" && !tag.isEnd) {
      const { r = "", t = "n", s = "0" } = attributesOf(tag.attributes);
      const column = r === "" ? row.length : columnOf(r);
      cell = { column, type: t, format: surroundings.formats[Number(s)] ?? "plain", text: "" };
      // An empty cell has no end of its own.
      if (tag.isEmpty) cell = null;
    } else if ((tag.name === "v" || tag.name === "t") && !tag.isEnd && cell) {
      cell.text += textOf(tag.text);
    } else if (tag.name === "c" && cell) {
      if (cell.column < MOST_COLUMNS) {
        while (row.length < cell.column) row.push("");
        row[cell.column] = showCell(cell, surroundings);
      }
      cell = null;
    }
  }
  return { rows, isCut: false };
}

/** Returns the column of a reference such as `AB12`, from 0. */
function columnOf(reference: string): number {
  let column = 0;
  for (const letter of /^[A-Z]{1,3}/.exec(reference)?.[0] ?? "A") column = column * 26 + letter.charCodeAt(0) - 64;
  return column - 1;
}

function showCell({ type, text, format }: OpenCell, { texts, has1904 }: Surroundings): string {
  switch (type) {
    case "s":
      return texts[Number(text)] ?? "";
    case "b":
      return text === "1" ? "TRUE" : "FALSE";
    case "n":
      return showNumber(text, format, has1904);
    default:
      return text;
  }
}
