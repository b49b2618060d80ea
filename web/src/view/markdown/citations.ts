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

/** Limited in length, because a search without a limit takes time that grows with the square of a run of spaces. */
const LAST_WORD = /(?:[^\s\u2e80-\uffff]{1,24}|\S)?\s{0,24}$/u;

/**
 * Returns the last word with the spaces after it, which stays on one line with a citation. Of a text without spaces,
 * one character.
 */
export const lastWord = (text: string): string => LAST_WORD.exec(text)?.[0] ?? "";

/** Returns the address of a found page as a list of sources writes it. */
export const citedAddress = (url: string): string =>
  url.replace(/[()<>`\\ ]/g, (mark) => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`);
