/** Characters that a reader cannot see, spelled out. */

// Controls without tab and line feed, soft hyphen, zero-width and directional marks, tags, and unusual spaces.
const HIDDEN =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb]|[\u{e0000}-\u{e0fff}]/u;

export interface SpelledPiece {
  readonly text: string;
  readonly isHidden: boolean;
}

export const hasHidden = (text: string): boolean => HIDDEN.test(text);

/** Splits a text into visible pieces and names such as `U+202E`. */
export function spellHidden(text: string): readonly SpelledPiece[] {
  const pieces: SpelledPiece[] = [];
  const every = new RegExp(HIDDEN, "gu");
  let begin = 0;
  for (const match of text.matchAll(every)) {
    if (match.index > begin) pieces.push({ text: text.slice(begin, match.index), isHidden: false });
    const code = match[0].codePointAt(0) ?? 0;
    pieces.push({ text: `U+${code.toString(16).toUpperCase().padStart(4, "0")}`, isHidden: true });
    begin = match.index + match[0].length;
  }
  if (begin < text.length) pieces.push({ text: text.slice(begin), isHidden: false });
  return pieces;
}

/** The visible characters that are shown on either side of a hidden one. */
const AROUND = 20;

/**
 * Returns the hidden characters of a text of any length, each with the characters around it, and the number of those
 * beyond the first `most`. A gap between two places is `…`.
 */
export function excerptHidden(text: string, most: number): { readonly pieces: readonly SpelledPiece[]; readonly rest: number } {
  const places = [...text.matchAll(new RegExp(HIDDEN, "gu"))].map((match) => [match.index, match.index + match[0].length] as const);
  const excerpts: [number, number][] = [];
  for (const [begin, end] of places.slice(0, most)) {
    const last = excerpts.at(-1);
    if (last && begin - AROUND <= last[1]) last[1] = end + AROUND;
    else excerpts.push([Math.max(0, begin - AROUND), end + AROUND]);
  }
  // What is beyond the last place is not shown, so that nothing is shown without its name.
  const limit = places[most]?.[0] ?? text.length;
  const gap: SpelledPiece = { text: "…", isHidden: false };
  const pieces = excerpts.flatMap(([begin, end]) => [
    ...(begin > 0 ? [gap] : []),
    ...spellHidden(text.slice(begin, Math.min(end, limit))),
  ]);
  const isWhole = (excerpts.at(-1)?.[1] ?? 0) >= text.length && limit === text.length;
  return { pieces: isWhole ? pieces : [...pieces, gap], rest: Math.max(0, places.length - most) };
}
