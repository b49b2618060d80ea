// Markdown: what is read, what stays text, and how long it takes.

import { expect, test } from "vitest";
import { citedAddress, lastWord, splitCitations } from "../src/view/markdown/citations";
import { type Block, lexBlock, MarkdownReader, type MarkdownToken } from "../src/view/markdown/lex";
import { allowedAddress, allowedImageData, fileName } from "../src/view/markdown/links";
import { tableAsCsv, tableAsMarkdown } from "../src/view/markdown/tables";
import { parseCsv } from "../src/view/files/csv";
import { hasHidden, spellHidden } from "../src/view/requests/characters";

function read(text: string): readonly Block[] {
  return new MarkdownReader().read(text, true).filter((block) => block.raw.trim() !== "");
}

function tokensOf(text: string): MarkdownToken[] {
  const reader = new MarkdownReader();
  return reader.read(text, true).flatMap((block) => [...lexBlock(block, reader.links)]);
}

/** The types of all tokens, nested ones too. */
function typesIn(tokens: readonly unknown[]): string[] {
  return tokens.flatMap((token) => {
    const { type, tokens: inside, items } = token as { type: string; tokens?: unknown[]; items?: unknown[] };
    return [type, ...typesIn(inside ?? []), ...typesIn(items ?? [])];
  });
}

test.each([
  ["It costs $5 and $10.", []],
  ["a \\(x^2\\) b", ["x^2"]],
  ["$$\ny = 1\n$$", ["y = 1"]],
  ["\\[\nz\n\\]", ["z"]],
  ["so $$a$$ is", ["a"]],
  ["`\\(code\\)` and `$$no$$`", []],
  ["$x$ and \\$y\\$", []],
])("formulas of %j", (text, expected) => {
  const found: string[] = [];
  const visit = (tokens: readonly unknown[]): void => {
    for (const token of tokens as { type: string; tex?: string; tokens?: unknown[] }[]) {
      if (token.type === "math") found.push(token.tex ?? "");
      visit(token.tokens ?? []);
    }
  };
  visit(tokensOf(text));
  expect(found).toEqual(expected);
});

test("a growing text has the blocks of the whole text at every cut", () => {
  const text =
    "# A\n\nOne *two*\nthree.\n\n- a\n- b\n\n  c\n\n```py\nx = 1\n\ny\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n> q\n\n## B\n\nend";
  const whole = read(text).map((block) => [block.at, block.raw.trim(), block.level]);
  const reader = new MarkdownReader();
  for (let end = 1; end <= text.length; end += 1) reader.read(text.slice(0, end), false);
  const grown = reader.read(text, true).filter((block) => block.raw.trim() !== "");
  expect(grown.map((block) => [block.at, block.raw.trim(), block.level])).toEqual(whole);
});

test("finished blocks are kept while a text grows", () => {
  const reader = new MarkdownReader();
  const before = reader.read("one\n\ntwo\n\nthr", false);
  const after = reader.read("one\n\ntwo\n\nthree and more", false);
  expect(after[0]).toBe(before[0]);
  expect(after.at(-1)?.isDone).toBe(false);
});

test("headings have no gaps", () => {
  const levels = read("## a\n\n#### b\n\n## c\n\n# d\n\n### e").map((block) => block.level);
  expect(levels).toEqual([3, 4, 3, 3, 4]);
});

const HOSTILE: readonly (readonly [string, string])[] = [
  ["quotes 500 deep", `${">".repeat(500)} x`],
  ["lists 500 deep", Array.from({ length: 500 }, (_, depth) => `${"  ".repeat(depth)}- x`).join("\n")],
  ["20 000 columns", `|${" a |".repeat(20_000)}\n|${"---|".repeat(20_000)}\n|${" b |".repeat(20_000)}`],
  ["a line of 1 MB", "word ".repeat(200_000)],
  ["brackets", "[".repeat(5_000)],
  ["stars", "*a ".repeat(5_000)],
  ["stars and lines", "a **b\n".repeat(5_000)],
  ["images", "![".repeat(5_000)],
  ["backticks", Array.from({ length: 600 }, (_, count) => "`".repeat(count % 40)).join(" ")],
  ["underscores", "_a__b".repeat(4_000)],
  ["links in links", "[a](".repeat(4_000)],
  ["tags", "<a ".repeat(4_000)],
  ["dollars", "$$a ".repeat(4_000)],
  ["spaces before a citation", `a${" ".repeat(150_000)}b [1]`],
];

test.each(HOSTILE)("%s take no time that grows with the square of the text", (_name, text) => {
  const reader = new MarkdownReader();
  const start = performance.now();
  const blocks = reader.read(text, true);
  const split = performance.now() - start;
  expect(blocks.map((block) => block.raw).join("").length).toBeGreaterThan(0);
  let slowest = 0;
  for (const block of blocks.slice(0, 50)) {
    const begin = performance.now();
    lexBlock(block, reader.links);
    for (const piece of splitCitations(block.raw, () => true)) if (typeof piece === "string") lastWord(piece);
    slowest = Math.max(slowest, performance.now() - begin);
  }
  // The target is 50 ms on a quiet machine. Work that grows with the square of these texts takes minutes.
  expect(split).toBeLessThan(5_000);
  expect(slowest).toBeLessThan(5_000);
});

test("hostile lines that follow each other are one block", () => {
  const row = `|${"a|".repeat(20_000)}`;
  const blocks = new MarkdownReader().read(`Before\n\n${row}\n${row}\n${row}\n\nafter`, true);
  expect(blocks.filter(({ isPlain }) => isPlain).map(({ raw }) => raw)).toEqual([`${row}\n`.repeat(3)]);
});

test.each([
  ["brackets", `{"labels":[${'"a",'.repeat(400)}${"[],".repeat(1_500)}1]}`],
  ["30 000 characters", "word ".repeat(6_000)],
  ["an indentation of 80 spaces", `{\n${" ".repeat(80)}x`],
])("a fence is one block with %s in a line", (_name, line) => {
  for (const [begin, end] of [["```json", "```"], ["~~~", "~~~~ "], ["````", "```\r\n`````\r"]] as const) {
    const fence = `${begin}\n${line}\n${end}\n`;
    const text = `Before\n\n${fence}\n*After*`;
    const codes = tokensOf(text).filter(({ type }) => type === "code");
    expect(codes.map((token) => "text" in token && token.text.startsWith(line))).toEqual([true]);
    expect(read(text).some(({ isPlain }) => isPlain)).toBe(false);
    expect(typesIn(tokensOf(text))).toContain("em");
  }
});

test("a fence hides no hostile line after its end, and an open one lasts to the end", () => {
  const line = ">".repeat(500);
  expect(read(`\`\`\`\n${line}\n\`\`\`\`\n${line}\n`).map(({ isPlain }) => isPlain)).toEqual([false, true]);
  expect(read(`<div>\n\`\`\`\n${line}\n\n${line}`).every(({ raw, isPlain }) => isPlain || !raw.startsWith(">"))).toBe(true);
  expect(read(`\`\`\`\n${line}\n\n${line}`).length).toBe(1);
});

test("HTML is a token of its own, never an element", () => {
  expect(typesIn(tokensOf("<script>alert(1)</script>\n\na <b onclick=x>b</b>"))).toContain("html");
});

test.each([
  ["https://a.test/x", "https://a.test/x"],
  ["mailto:a@b.test", "mailto:a@b.test"],
  ["javascript:alert(1)", null],
  ["JaVaScRiPt:alert(1)", null],
  ["java\nscript:alert(1)", null],
  ["data:text/html,x", null],
  ["vbscript:x", null],
  ["//a.test", null],
  ["blob:https://a.test/x", null],
  ["file:///etc/passwd", null],
])("address %j", (href, expected) => {
  expect(allowedAddress(href)).toBe(expected);
});

test("images are pictures in themselves or files of the session", () => {
  expect(allowedImageData("data:image/png;base64,AAAA")).not.toBeNull();
  expect(allowedImageData("data:image/svg+xml;base64,AAAA")).toBeNull();
  expect(allowedImageData("https://a.test/x.png")).toBeNull();
  expect(fileName("charts/a%20b.png")).toBe("charts/a b.png");
  expect(fileName("https://a.test/x.png")).toBeNull();
  expect(fileName("//a.test/x.png")).toBeNull();
});

test("citations of listed sources", () => {
  expect(splitCitations("a [1] b [2] c [1, 4].", (n) => n !== 2)).toEqual([
    "a ",
    [1],
    " b [2] c ",
    [1, 4],
    ".",
  ]);
  expect(["of gold ", "of gold", "黄金", "a".repeat(30)].map(lastWord)).toEqual(["gold ", "gold", "金", "a".repeat(24)]);
  expect(citedAddress("https://a.test/Heat_(x)?a b<`>")).toBe("https://a.test/Heat_%28x%29?a%20b%3C%60%3E");
});

test("tables as Markdown and CSV", () => {
  const rows = [
    ["a", "b|c"],
    ["=1+1", 'say "x"'],
    ["-5", "**5 %**"],
  ];
  expect(tableAsMarkdown(rows)).toBe('| a | b\\|c |\n| --- | --- |\n| =1+1 | say "x" |\n| -5 | **5 %** |');
  expect(tableAsCsv(rows)).toBe('a,b|c\r\n\'=1+1,"say ""x"""\r\n-5,5 %\r\n');
});

test("CSV with quotes, line ends and other separators", () => {
  expect(parseCsv('a,b\r\n"x, ""y""\nz",2\r\n').rows).toEqual([
    ["a", "b"],
    ['x, "y"\nz', "2"],
  ]);
  expect(parseCsv("a;b\n1,5;2").rows).toEqual([
    ["a", "b"],
    ["1,5", "2"],
  ]);
  expect(parseCsv("a,b\n1,").rows).toEqual([
    ["a", "b"],
    ["1", ""],
  ]);
});

test("hidden characters are spelled out", () => {
  const text = "a\u202eb\u200bc";
  expect(hasHidden(text)).toBe(true);
  expect(hasHidden("plain\n\ttext 你好 😀")).toBe(false);
  expect(spellHidden(text).map((piece) => piece.text)).toEqual(["a", "U+202E", "b", "U+200B", "c"]);
});

test.each([
  ["See [the page](https://example.org/a", "See the page"],
  ["See ![a picture](https://exa", "See a picture"],
  ["See [the page](https://example.org/a) and [1", "See [the page](https://example.org/a) and [1"],
  ["```\n[code](http", "```\n[code](http"],
])("a link that is not complete shows only its text: %j", (text, expected) => {
  const tokensWhile = (source: string) => {
    const reader = new MarkdownReader();
    return reader.read(source, false).flatMap((block) => [...lexBlock(block, reader.links)]);
  };
  expect(tokensWhile(text)).toEqual(tokensWhile(expected));
  expect(JSON.stringify(tokensOf(text))).toContain(JSON.stringify(text.slice(-6)).slice(1, -1));
});
