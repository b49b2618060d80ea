/** Lines that would take the lexer too long are shown as plain text. */

/** The longest line that is read as Markdown, in UTF-16 units. */
const LONGEST_LINE = 20_000;
/** The most cells of one table row. */
const MOST_CELLS = 300;
/** The most levels of quotes and lists at the beginning of one line. */
const MOST_LEVELS = 30;
/** The deepest indentation, in characters. */
const DEEPEST_INDENT = 60;
/** The most characters with a meaning in one line, or in one paragraph. */
const MOST_MARKS = 1_200;

const MARKS = new Set("*_`[]!<~$");

function countMarks(text: string, most: number): number {
  let count = 0;
  for (const character of text) {
    if (MARKS.has(character)) {
      count += 1;
      if (count > most) return count;
    }
  }
  return count;
}

function isDeep(line: string): boolean {
  let levels = 0;
  let indent = 0;
  for (let at = 0; at < line.length; at += 1) {
    const character = line[at];
    if (character === " ") indent += 1;
    else if (character === "\t") indent += 4;
    else if (character === ">") levels += 1;
    else if ((character === "-" || character === "*" || character === "+") && line[at + 1] === " ") levels += 1;
    else break;
    if (levels > MOST_LEVELS || indent > DEEPEST_INDENT + levels * 4) return true;
  }
  return false;
}

function countPipes(line: string): number {
  let count = 0;
  for (let at = line.indexOf("|"); at >= 0 && count <= MOST_CELLS; at = line.indexOf("|", at + 1)) count += 1;
  return count;
}

/** Returns true for a line that the lexer must not see. */
export function isHostileLine(line: string): boolean {
  if (line.length > LONGEST_LINE) return true;
  if (line.length > MOST_MARKS && countMarks(line, MOST_MARKS) > MOST_MARKS) return true;
  if (line.length > MOST_CELLS && countPipes(line) > MOST_CELLS) return true;
  return isDeep(line);
}

/** Returns true for a paragraph that the inline lexer must not see. */
export function isHostileParagraph(text: string): boolean {
  return text.length > LONGEST_LINE || (text.length > MOST_MARKS && countMarks(text, MOST_MARKS) > MOST_MARKS);
}

/** A part of a text: Markdown, or hostile lines. */
export interface Part {
  readonly text: string;
  readonly isPlain: boolean;
}

const FENCE = /^ {0,3}(?:(`{3,})[^`]*|(~{3,}).*)$/;

interface Line {
  readonly text: string;
  /** The place of the next line. */
  readonly next: number;
}

function lineAt(text: string, at: number): Line {
  const end = text.indexOf("\n", at);
  const line = text.slice(at, end < 0 ? text.length : end);
  return { text: line.replace(/\r$/, ""), next: end < 0 ? text.length : end + 1 };
}

/** Returns the lines of a fence, which `first` opens, with the line that ends them, as the lexer reads them. */
function fenceOf(text: string, first: Line): { next: number; hasHostileLine: boolean } | null {
  const [, ticks, tildes] = FENCE.exec(first.text) ?? [];
  const mark = ticks ?? tildes;
  if (!mark) return null;
  const end = new RegExp(`^ {0,3}${mark}${mark[0]}* *$`);
  let hasHostileLine = false;
  for (let at = first.next; at < text.length; ) {
    const line = lineAt(text, at);
    at = line.next;
    if (end.test(line.text)) return { next: at, hasHostileLine };
    hasHostileLine ||= isHostileLine(line.text);
  }
  return { next: text.length, hasHostileLine };
}

/** Splits a text at its hostile lines; a fence with such lines is a part of its own. The parts joined are the text. */
export function splitHostile(text: string): Part[] {
  const parts: Part[] = [];
  let begin = 0;
  let at = 0;
  while (at < text.length) {
    const line = lineAt(text, at);
    const isPlain = isHostileLine(line.text);
    const fence = isPlain ? null : fenceOf(text, line);
    const next = fence?.next ?? line.next;
    if (isPlain || fence?.hasHostileLine) {
      if (at > begin) parts.push({ text: text.slice(begin, at), isPlain: false });
      const before = isPlain && at === begin && parts.at(-1)?.isPlain ? parts.pop() : undefined;
      parts.push({ text: (before?.text ?? "") + text.slice(at, next), isPlain });
      begin = next;
    }
    at = next;
  }
  if (begin < text.length) parts.push({ text: text.slice(begin), isPlain: false });
  return parts;
}
