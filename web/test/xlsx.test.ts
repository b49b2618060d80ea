// Workbooks: what a sheet shows of cells, dates and formats, and what is no workbook.

import { deflateRawSync } from "node:zlib";
import { expect, test } from "vitest";
import { readWorkbook } from "../src/view/files/xlsx";

/** Writes an archive; every second part is stored without compression. */
function zip(parts: Readonly<Record<string, string>>): Uint8Array<ArrayBuffer> {
  const pieces: Uint8Array[] = [];
  const directory: Uint8Array[] = [];
  let at = 0;
  for (const [index, [name, text]] of Object.entries(parts).entries()) {
    const isStored = index % 2 === 1;
    const plain = new TextEncoder().encode(text);
    const content = isStored ? plain : deflateRawSync(plain);
    const title = new TextEncoder().encode(name);
    const local = new DataView(new ArrayBuffer(30));
    local.setUint32(0, 0x04034b50, true);
    local.setUint16(26, title.length, true);
    const entry = new DataView(new ArrayBuffer(46));
    entry.setUint32(0, 0x02014b50, true);
    entry.setUint16(10, isStored ? 0 : 8, true);
    entry.setUint32(20, content.length, true);
    entry.setUint16(28, title.length, true);
    entry.setUint32(42, at, true);
    pieces.push(new Uint8Array(local.buffer), title, content);
    directory.push(new Uint8Array(entry.buffer), title);
    at += 30 + title.length + content.length;
  }
  const end = new DataView(new ArrayBuffer(22));
  end.setUint32(0, 0x06054b50, true);
  end.setUint16(10, Object.keys(parts).length, true);
  end.setUint32(16, at, true);
  const whole = Buffer.concat([...pieces, ...directory, new Uint8Array(end.buffer)]);
  return new Uint8Array(whole);
}

const STYLES = `<styleSheet><numFmts><numFmt numFmtId="164" formatCode="d&quot;day&quot; mmm yyyy"/>
<numFmt numFmtId="165" formatCode="[Red]0.0%"/><numFmt numFmtId="166" formatCode="&quot;days&quot; 0"/></numFmts>
<cellStyleXfs><xf numFmtId="14"/></cellStyleXfs>
<cellXfs><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="164"/><xf numFmtId="165"/><xf numFmtId="166"/><xf numFmtId="9"/></cellXfs>
</styleSheet>`;

/** A workbook whose first sheet has these rows. */
function workbook(rows: string, change: Readonly<Record<string, string>> = {}): Uint8Array<ArrayBuffer> {
  return zip({
    "xl/workbook.xml": `<?xml version="1.0"?><workbook xmlns:r="r"><sheets>
      <sheet name="A &amp; B" sheetId="1" r:id="rId1"/><sheet name="secret" state="hidden" r:id="rId2"/>
      <sheet name="Chart" r:id="rId3"/><sheet name="Last" r:id="rId4"/></sheets></workbook>`,
    "xl/_rels/workbook.xml.rels": `<Relationships><Relationship Id="rId1" Target="worksheets/sheet1.xml"/>
      <Relationship Id="rId2" Target="worksheets/sheet2.xml"/><Relationship Id="rId3" Target="chartsheets/sheet1.xml"/>
      <Relationship Id="rId4" Target="/xl/worksheets/sheet3.xml"/></Relationships>`,
    "xl/sharedStrings.xml": `<sst><si><t>tea</t></si><si><r><t>gr</t></r><r><t xml:space="preserve">een &lt;b&gt;</t></r></si>
      <si><t>東京</t><rPh sb="0" eb="2"><t>トウキョウ</t></rPh></si></sst>`,
    "xl/styles.xml": STYLES,
    "xl/worksheets/sheet1.xml": `<worksheet><sheetData>${rows}</sheetData></worksheet>`,
    "xl/worksheets/sheet3.xml": `<x:worksheet xmlns:x="x"><x:sheetData><x:row r="1"><x:c t="str"><x:f>A1</x:f><x:v>by formula</x:v></x:c></x:row></x:sheetData></x:worksheet>`,
    ...change,
  });
}

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
