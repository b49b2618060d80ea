/** Colours of code; loaded with the first code block that names its language. */

import { createCssVariablesTheme, createHighlighterCore, type HighlighterCore, type LanguageInput } from "shiki/core";
import { createJavaScriptRegexEngine } from "shiki/engine/javascript";

export interface ColouredPiece {
  readonly text: string;
  /** The name of a class, or an empty text for plain code. */
  readonly kind: "" | "quiet" | "name" | "word" | "string" | "numeral";
}
export type ColouredLine = readonly ColouredPiece[];

const LANGUAGES: Readonly<Record<string, () => LanguageInput>> = {
  bash: () => import("@shikijs/langs/bash"),
  c: () => import("@shikijs/langs/c"),
  css: () => import("@shikijs/langs/css"),
  diff: () => import("@shikijs/langs/diff"),
  go: () => import("@shikijs/langs/go"),
  html: () => import("@shikijs/langs/html"),
  java: () => import("@shikijs/langs/java"),
  javascript: () => import("@shikijs/langs/javascript"),
  json: () => import("@shikijs/langs/json"),
  python: () => import("@shikijs/langs/python"),
  rust: () => import("@shikijs/langs/rust"),
  sql: () => import("@shikijs/langs/sql"),
  toml: () => import("@shikijs/langs/toml"),
  typescript: () => import("@shikijs/langs/typescript"),
  xml: () => import("@shikijs/langs/xml"),
  yaml: () => import("@shikijs/langs/yaml"),
};

const ALIASES: Readonly<Record<string, string>> = {
  sh: "bash",
  shell: "bash",
  console: "bash",
  zsh: "bash",
  js: "javascript",
  jsx: "javascript",
  ts: "typescript",
  tsx: "typescript",
  py: "python",
  rs: "rust",
  yml: "yaml",
  golang: "go",
  htm: "html",
  svg: "xml",
  jsonc: "json",
};

const KINDS: Readonly<Record<string, ColouredPiece["kind"]>> = {
  "var(--shiki-token-comment)": "quiet",
  "var(--shiki-token-punctuation)": "",
  "var(--shiki-token-keyword)": "word",
  "var(--shiki-token-function)": "name",
  "var(--shiki-token-string)": "string",
  "var(--shiki-token-string-expression)": "string",
  "var(--shiki-token-constant)": "numeral",
  "var(--shiki-token-parameter)": "",
  "var(--shiki-token-link)": "name",
};

let highlighter: Promise<HighlighterCore> | null = null;
const loaded = new Set<string>();

function start(): Promise<HighlighterCore> {
  highlighter ??= createHighlighterCore({
    themes: [createCssVariablesTheme({ name: "page", variablePrefix: "--shiki-" })],
    langs: [],
    engine: createJavaScriptRegexEngine({ forgiving: true }),
  });
  return highlighter;
}

/** Returns the coloured lines, or null for an unknown language. */
export async function colourCode(text: string, language: string): Promise<readonly ColouredLine[] | null> {
  const name = ALIASES[language] ?? language;
  const load = LANGUAGES[name];
  if (!load) return null;
  try {
    const core = await start();
    if (!loaded.has(name)) {
      await core.loadLanguage(load());
      loaded.add(name);
    }
    const { tokens } = core.codeToTokens(text, {
      lang: name,
      theme: "page",
      tokenizeTimeLimit: 30,
      tokenizeMaxLineLength: 2_000,
    });
    return tokens.map((line) => line.map((token) => ({ text: token.content, kind: KINDS[token.color ?? ""] ?? "" })));
  } catch {
    return null;
  }
}
