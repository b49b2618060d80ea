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

/** Returns the address of a found page as a list of sources writes it. */
export const citedAddress = (url: string): string =>
  url.replace(/[()<>`\\ ]/g, (mark) => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`);
