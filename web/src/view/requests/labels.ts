/** The names of arguments, as users read them. */

import { textIn, type Words } from "../../words";

/** Returns the known name of an argument, or its own words: `page_size` becomes `Page size`. */
export function labelOf(name: string, words: Words): string {
  const known = textIn(words.requests.fields, name);
  if (known !== undefined) return known;
  const text = name
    .replace(/[_-]+/g, " ")
    .replace(/([a-z\d])([A-Z])(?=[a-z])/g, (_, before: string, next: string) => `${before} ${next.toLowerCase()}`)
    .trim();
  return text === "" ? name : text.charAt(0).toUpperCase() + text.slice(1);
}
