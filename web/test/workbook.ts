// Workbooks for tests, also for the stories, which Node runs without a build.

import { deflateRawSync } from "node:zlib";

/** Writes an archive; every second part is stored without compression. */
export function zip(parts: Readonly<Record<string, string>>): Uint8Array<ArrayBuffer> {
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
export function workbook(rows: string, change: Readonly<Record<string, string>> = {}): Uint8Array<ArrayBuffer> {
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
