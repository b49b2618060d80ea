// Workbooks: what a sheet shows of cells, dates and formats, and what is no workbook.

import { expect, test } from "vitest";
import { readWorkbook } from "../src/view/files/xlsx";
import { workbook, zip } from "./workbook";

const rowsOf = async (rows: string, change?: Readonly<Record<string, string>>) =>
  (await readWorkbook(workbook(rows, change)))[0]?.rows;

test("visible sheets in their order, without charts", async () => {
  const sheets = await readWorkbook(workbook(""));
  expect(sheets.map((sheet) => sheet.name)).toEqual(["A & B", "Last"]);
  expect(sheets[1]?.rows).toEqual([["by formula"]]);
});

test("texts, numbers and gaps", async () => {
  const rows = `<row r="1"><c r="A1" t="s"><v>0</v></c><c r="C1" t="s"><v>1</v></c><c r="D1" s="1"/><c t="s" r="E1"><v>2</v></c></row>
    <row r="3"><c r="B3"><v>0.30000000000000004</v></c><c r="C3" t="b"><v>1</v></c><c r="D3" t="e"><v>#DIV/0!</v></c>
    <c r="E3" t="inlineStr"><is><t>in &#65;</t><t>line</t></is></c></row>`;
  expect(await rowsOf(rows)).toEqual([
    ["tea", "", "green <b>", "", "東京"],
    [],
    ["", "0.3", "TRUE", "#DIV/0!", "in Aline"],
  ]);
});

test.each([
  [1, "45292", "2024-01-01"],
  [1, "45292.75", "2024-01-01 18:00:00"],
  [1, "0.5", "12:00:00"],
  [2, "60", "1900-02-28"],
  [2, "59", "1900-02-28"],
  [3, "0.125", "12.5 %"],
  [5, "0.07", "7 %"],
  [4, "45292", "45292"],
  [0, "45292", "45292"],
  [1, "-1", "-1"],
  [1, "1e300", "1e+300"],
  [1, "soon", "soon"],
  [99, "7", "7"],
])("a cell of style %i with %s shows %s", async (style, value, expected) => {
  expect(await rowsOf(`<row><c s="${style}"><v>${value}</v></c></row>`)).toEqual([[expected]]);
});

test("dates that begin with 1904", async () => {
  const change = {
    "xl/workbook.xml": `<workbook><workbookPr date1904="1"/><sheets><sheet name="a" id="rId1"/></sheets></workbook>`,
  };
  expect(await rowsOf(`<row><c s="1"><v>43830</v></c></row>`, change)).toEqual([["2024-01-01"]]);
});

test("far cells are cut, and do not fill the memory", async () => {
  const far = `<row r="1"><c r="XFD1"><v>1</v></c><c r="B1"><v>2</v></c></row><row r="1048576"><c r="A1048576"><v>1</v></c></row>`;
  const [sheet] = await readWorkbook(workbook(far));
  expect(sheet).toEqual({ name: "A & B", rows: [["", "2"]], isCut: true });
});

test("a text that grows a thousandfold ends at the limit", async () => {
  const bomb = `<row><c><v>1</v></c></row>`.repeat(100_000);
  const [sheet] = await readWorkbook(workbook(bomb), 10_000);
  expect(sheet?.isCut).toBe(true);
  expect(sheet?.rows.length).toBeLessThan(500);
});

test.each([
  ["nothing", new Uint8Array(0)],
  ["a text", new TextEncoder().encode("name,size\n".repeat(10))],
  ["an archive of something else", zip({ "a.txt": "a" })],
  ["half of a workbook", workbook("").slice(0, 700)],
  ["a directory that points nowhere", workbook("").map((byte, at, all) => (at > all.length - 10 ? 255 : byte))],
])("%s is no workbook", async (_, bytes) => {
  await expect(readWorkbook(bytes as Uint8Array<ArrayBuffer>)).rejects.toThrow(RangeError);
});

test("entities of a document type are not expanded", async () => {
  const change = { "xl/sharedStrings.xml": `<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]><sst><si><t>&a;</t></si></sst>` };
  expect(await rowsOf(`<row><c t="s"><v>0</v></c></row>`, change)).toEqual([["&a;"]]);
});
