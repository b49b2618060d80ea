/** Kinds of files by media type and name. */

import type { SessionFile } from "../../store/types";

export type FileKind = "markdown" | "text" | "code" | "image" | "csv" | "workbook" | "html" | "pdf" | "other";

const CODE: Readonly<Record<string, string>> = {
  py: "python",
  rs: "rust",
  ts: "typescript",
  tsx: "typescript",
  js: "javascript",
  jsx: "javascript",
  json: "json",
  toml: "toml",
  yaml: "yaml",
  yml: "yaml",
  sh: "bash",
  sql: "sql",
  css: "css",
  xml: "xml",
  go: "go",
  java: "java",
  c: "c",
  h: "c",
  diff: "diff",
};

const XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet";

export const endingOf = (name: string): string => (/\.([^.]{1,8})$/.exec(name)?.[1] ?? "").toLowerCase();

export function kindOfFile(file: Pick<SessionFile, "name" | "media_type">): FileKind {
  const ending = endingOf(file.name);
  const type = (file.media_type.split(";")[0] ?? "").trim();
  if (type === "application/pdf" || ending === "pdf") return "pdf";
  if (type === "text/html" || ending === "html" || ending === "htm") return "html";
  if (/^image\/(png|jpeg|gif|webp|svg\+xml)$/.test(type)) return "image";
  if (type === "text/markdown" || ending === "md") return "markdown";
  if (type === "text/csv" || ending === "csv" || ending === "tsv") return "csv";
  if (type === XLSX || ending === "xlsx") return "workbook";
  if (CODE[ending]) return "code";
  if (type.startsWith("text/") || type === "application/json") return "text";
  return "other";
}

export const languageOf = (name: string): string => CODE[endingOf(name)] ?? "";

/** Returns true if a text that becomes a file of this name looks different from its source. */
export const hasPreview = (name: string): boolean =>
  ["markdown", "html", "csv"].includes(kindOfFile({ name, media_type: "" }));
