/** The sentences of error codes, from `messages/{en,zh}.toml`: what happened, and what to do. */

import type { ErrorCode } from "../wire/contract";
import type { ErrorInfo } from "../wire/error";
import { errorsIn, type PageLanguage, wordsIn } from "./index";

/** Returns the sentence of a code; `detail` completes it. */
export function sentenceOfCode(code: ErrorCode, detail: string, language: PageLanguage): string {
  const sentence = (errorsIn(language) as Readonly<Record<string, string | undefined>>)[code] ?? `${code}: {detail}`;
  const whole = sentence.replace("{detail}", () => detail);
  // A detail may end in a period itself, or be empty.
  return whole
    .replace(/[:：]\s*([.。])/, "$1")
    .replace(/^[.。\s]+$/, code)
    .replace(/\.\.$/, ".");
}

/** Returns the sentence of an error, in the page's language. */
export function sentenceOfError(error: ErrorInfo, language: PageLanguage): string {
  const words = wordsIn(language).errors;
  if (error.code === "offline") return words.offline;
  if (error.code === "unreadable") return words.unreadable;
  if (error.code === "session_not_found" || error.code === "share_ended") return words.gone;
  if (error.code === "session_busy") return words.busy;
  return sentenceOfCode(error.code, error.detail, language);
}
