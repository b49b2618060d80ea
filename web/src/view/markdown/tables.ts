/** Tables for the clipboard. */

import type { MarkdownToken } from "./lex";

type TableToken = Extract<MarkdownToken, { type: "table" }>;

/** The cells' source texts; the first row is the header. */
export type TableTexts = readonly (readonly string[])[];

export const tableTexts = (token: TableToken): TableTexts => [
  token.header.map((cell) => cell.text),
  ...token.rows.map((row) => row.map((cell) => cell.text)),
];

export function tableAsMarkdown(rows: TableTexts): string {
  const lines = rows.map(
    (row) => `| ${row.map((cell) => cell.replaceAll("|", "\\|").replaceAll("\n", " ")).join(" | ")} |`,
  );
  const rule = `|${(rows[0] ?? []).map(() => " --- |").join("")}`;
  return [lines[0] ?? "", rule, ...lines.slice(1)].join("\n");
}

/** Removes the marks of emphasis and code. */
const withoutMarks = (text: string): string => text.replace(/(\*\*|__|`)(.+?)\1/g, "$2");

/** Quotes a cell; a text that a spreadsheet would compute gets an apostrophe. */
function csvCell(source: string): string {
  const text = withoutMarks(source);
  const isFormula = /^[=+\-@\t\r]/.test(text) && !/^[+-]?[\d.,]+\s*%?$/.test(text);
  const safe = isFormula ? `'${text}` : text;
  return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

export const tableAsCsv = (rows: TableTexts): string =>
  `${rows.map((row) => row.map(csvCell).join(",")).join("\r\n")}\r\n`;

/** Copies a rendered table as formatted text, without classes and buttons. */
export function copyFormatted(table: HTMLTableElement): void {
  const copy = table.cloneNode(true) as HTMLTableElement;
  for (const element of copy.querySelectorAll("*")) element.removeAttribute("class");
  for (const mark of copy.querySelectorAll("[aria-hidden]")) mark.remove();
  for (const button of copy.querySelectorAll("button"))
    button.replaceWith(button.closest("th") ? (button.textContent ?? "") : `[${button.textContent}]`);
  copy.removeAttribute("class");
  const plain = [...copy.rows].map((row) => [...row.cells].map((cell) => cell.textContent ?? "").join("\t")).join("\n");
  const formatted = new XMLSerializer().serializeToString(copy);
  void navigator.clipboard
    .write([
      new ClipboardItem({
        "text/html": new Blob([formatted], { type: "text/html" }),
        "text/plain": new Blob([plain], { type: "text/plain" }),
      }),
    ])
    .catch(() => undefined);
}
