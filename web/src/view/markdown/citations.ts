/** The sources of an answer: `- [3] [title](address)` below the last heading. */

export interface Citation {
  readonly n: number;
  readonly title: string;
  readonly url: string;
}

const LINE = /^- \[(\d{1,4})\] \[(.*)\]\((\S+)\)\s*$/;

export function parseCitations(text: string): ReadonlyMap<number, Citation> {
  const found = new Map<number, Citation>();
  const heading = text.lastIndexOf("\n## ");
  if (heading < 0) return found;
  for (const line of text.slice(heading).split("\n")) {
    const match = LINE.exec(line);
    if (!match) continue;
    const n = Number(match[1]);
    found.set(n, { n, title: (match[2] ?? "").replace(/\\([[\]\\*_`])/g, "$1"), url: match[3] ?? "" });
  }
  return found;
}

/** A piece of text, or a citation in it. */
export type TextPiece = string | readonly number[];

const MARK = /\[(\d{1,4}(?:\s*[,，、;；]\s*\d{1,4})*)\]/g;

/** Splits a text at its citations; numbers without a source stay text. */
export function splitCitations(text: string, has: (n: number) => boolean): readonly TextPiece[] {
  const pieces: TextPiece[] = [];
  let begin = 0;
  for (const match of text.matchAll(MARK)) {
    const numbers = (match[1] ?? "").split(/[,，、;；]/).map(Number);
    if (!numbers.every(has)) continue;
    if (match.index > begin) pieces.push(text.slice(begin, match.index));
    pieces.push(numbers);
    begin = match.index + match[0].length;
  }
  if (begin < text.length) pieces.push(text.slice(begin));
  return pieces;
}
