/** Reads Markdown into blocks. A growing text is read again only from its unfinished block on. */

import { Lexer, Marked, type MarkedToken, type TokensList } from "marked";
import { isHostileParagraph, splitHostile } from "./guard";

export interface MathToken {
  readonly type: "math";
  readonly raw: string;
  readonly tex: string;
  readonly isBlock: boolean;
}

export interface PlainToken {
  readonly type: "plain";
  readonly raw: string;
}

export type MarkdownToken = MarkedToken | MathToken | PlainToken;

/** One block of a text: the unit of rendering and of rows. */
export interface Block {
  /** The place of the block in the text, in UTF-16 units: a stable key. */
  readonly at: number;
  readonly raw: string;
  /** True for a line that is not read as Markdown. */
  readonly isPlain: boolean;
  /** False while the block may still grow. */
  readonly isDone: boolean;
  /** The depth of a heading as written, 1 to 6; 0 for other blocks. */
  readonly depth: number;
  /** The level of a heading below the page's own headings, without gaps: 3 to 6. */
  readonly level: number;
}

type Links = TokensList["links"];

const BLOCK_MATH = /^ {0,3}(?:\$\$([\s\S]+?)\$\$|\\\[([\s\S]+?)\\\])[ \t]*(?:\n|$)/;
const INLINE_MATH =
  /^(?:\$\$([^$\n](?:[^$]|\$(?!\$))*?)\$\$|\\\(((?:[^\n]|\n(?!\n))+?)\\\)|\\\[((?:[^\n]|\n(?!\n))+?)\\\])/;

const marked = new Marked({
  gfm: true,
  extensions: [
    {
      name: "math",
      level: "block",
      start: (source: string) => source.match(/^ {0,3}(?:\$\$|\\\[)/m)?.index,
      tokenizer(source: string) {
        const match = BLOCK_MATH.exec(source);
        if (!match) return undefined;
        return { type: "math", raw: match[0], tex: (match[1] ?? match[2] ?? "").trim(), isBlock: true };
      },
    },
    {
      name: "math",
      level: "inline",
      start: (source: string) => source.match(/\$\$|\\[([]/)?.index,
      tokenizer(source: string) {
        const match = INLINE_MATH.exec(source);
        if (!match) return undefined;
        const tex = match[1] ?? match[2] ?? match[3] ?? "";
        return { type: "math", raw: match[0], tex: tex.trim(), isBlock: false };
      },
    },
  ],
});

function newLexer(links: Links): Lexer {
  const lexer = new Lexer(marked.defaults);
  lexer.tokens.links = links;
  return lexer;
}

/** A link at the end of a text that grows, whose address is not complete. */
const OPEN_LINK = /!?\[([^[\]\n]*)\]\([^()\s]*$/;
const FENCE = /^\s*(?:```|~~~)/;

/** Reads the inside of one block. Of an unfinished link, only the text is shown. */
export function lexBlock(block: Block, links: Links): readonly MarkdownToken[] {
  if (block.isPlain) return [{ type: "plain", raw: block.raw }];
  const lexer = newLexer({ ...links });
  const raw = block.isDone || FENCE.test(block.raw) ? block.raw : block.raw.replace(OPEN_LINK, "$1");
  lexer.blockTokens(raw, lexer.tokens);
  for (const piece of lexer.inlineQueue) {
    if (!isHostileParagraph(piece.src)) lexer.inlineTokens(piece.src, piece.tokens);
    else piece.tokens.push({ type: "text", raw: piece.src, text: piece.src, escaped: false });
  }
  lexer.inlineQueue = [];
  return lexer.tokens as unknown as readonly MarkdownToken[];
}

/** Keeps the blocks of one text that grows. */
export class MarkdownReader {
  readonly links: Links = {};
  private text = "";
  private blocks: readonly Block[] = [];
  private isWhole = false;

  /** Returns the blocks of the text. `isWhole` says that the text no longer grows. */
  read(text: string, isWhole: boolean): readonly Block[] {
    if (text === this.text && isWhole === this.isWhole) return this.blocks;
    const grows = text.startsWith(this.text);
    const kept = grows ? this.blocks.filter((block) => block.isDone) : [];
    const last = kept.at(-1);
    const begin = last ? last.at + last.raw.length : 0;
    this.blocks = [
      ...kept,
      ...this.split(
        text.slice(begin),
        begin,
        isWhole,
        kept.flatMap((block) => block.depth || []),
      ),
    ];
    this.text = text;
    this.isWhole = isWhole;
    return this.blocks;
  }

  private split(text: string, begin: number, isWhole: boolean, depths: readonly number[]): Block[] {
    const found: Array<{ at: number; raw: string; isPlain: boolean; isBlank: boolean; depth: number }> = [];
    let at = begin;
    for (const part of splitHostile(text)) {
      if (part.isPlain) {
        found.push({ at, raw: part.text, isPlain: true, isBlank: false, depth: 0 });
        at += part.text.length;
        continue;
      }
      const lexer = newLexer(this.links);
      let rest = part.text.length;
      // The lexer normalizes line ends and tabs, so a part that differs in length is one block.
      for (const token of lexer.blockTokens(part.text, [])) {
        const depth = token.type === "heading" ? Number(token.depth) : 0;
        found.push({
          at,
          raw: token.raw,
          isPlain: false,
          isBlank: token.type === "space" || token.type === "def",
          depth,
        });
        at += token.raw.length;
        rest -= token.raw.length;
      }
      at += rest;
    }
    const lastAt = found.findLastIndex((block) => !block.isBlank);
    // The headings above the current place, outermost first.
    const above: number[] = [];
    for (const depth of depths) enterHeading(above, depth);
    return found.map(({ isBlank: _, ...block }, index) => ({
      ...block,
      isDone: isWhole || index < lastAt,
      level: block.depth > 0 ? enterHeading(above, block.depth) : 0,
    }));
  }
}

function enterHeading(above: number[], depth: number): number {
  while ((above.at(-1) ?? 0) >= depth) above.pop();
  above.push(depth);
  return Math.min(6, above.length + 2);
}
