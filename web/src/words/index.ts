/** The sentences of the page in the reader's language. */

import { createContext, useContext } from "react";
import { en } from "./en";
import { zh } from "./zh";

export type Words = typeof en;
export type PageLanguage = "en" | "zh";

const words: Readonly<Record<PageLanguage, Words>> = { en, zh };

export const wordsIn = (language: PageLanguage): Words => words[language];

/** Returns Chinese for readers whose browser prefers Chinese, otherwise the default. */
export function preferredLanguage(fallback: PageLanguage): PageLanguage {
  const first = navigator.languages.find((language) => /^(zh|en)\b/i.test(language));
  if (!first) return fallback;
  return first.toLowerCase().startsWith("zh") ? "zh" : "en";
}

export const LanguageContext = createContext<PageLanguage>("en");

export const useLanguage = (): PageLanguage => useContext(LanguageContext);
export const useWords = (): Words => wordsIn(useLanguage());
