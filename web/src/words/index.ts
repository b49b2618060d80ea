/** The sentences of the page in the reader's language. */

import { createContext, useContext } from "react";
import sentencesEn from "../wire/generated/sentences.en";
import type { ErrorCode } from "../wire/contract";
import { en } from "./en";

export type Words = typeof en;
export type PageLanguage = "en" | "zh";

/** The sentences of error codes, from `messages/{en,zh}.toml`. */
export type ErrorSentences = Readonly<Record<ErrorCode, string>>;

interface Texts {
  readonly words: Words;
  readonly errors: ErrorSentences;
}

const ENGLISH: Texts = { words: en, errors: sentencesEn };
const texts = new Map<PageLanguage, Texts>([["en", ENGLISH]]);

export const isLoaded = (language: PageLanguage): boolean => texts.has(language);

/** Loads the texts of a language. Without them, the page stays English. */
export async function loadWords(language: PageLanguage): Promise<void> {
  if (texts.has(language)) return;
  const loaded: Texts = await import("./chinese").then(
    ({ words, errors }) => ({ words, errors }),
    () => ENGLISH,
  );
  texts.set(language, loaded);
}

export const wordsIn = (language: PageLanguage): Words => (texts.get(language) ?? ENGLISH).words;
export const errorsIn = (language: PageLanguage): ErrorSentences => (texts.get(language) ?? ENGLISH).errors;

/** Returns the text of a name that comes from outside, which may be the name of an inherited field too. */
export const textIn = (texts: Readonly<Record<string, string>>, name: string): string | undefined =>
  Object.hasOwn(texts, name) ? texts[name] : undefined;

/** Returns Chinese for readers whose browser prefers Chinese, otherwise the default. */
export function preferredLanguage(fallback: PageLanguage): PageLanguage {
  const first = navigator.languages.find((language) => /^(zh|en)\b/i.test(language));
  if (!first) return fallback;
  return first.toLowerCase().startsWith("zh") ? "zh" : "en";
}

export const LanguageContext = createContext<PageLanguage>("en");

export const useLanguage = (): PageLanguage => useContext(LanguageContext);
export const useWords = (): Words => wordsIn(useLanguage());
