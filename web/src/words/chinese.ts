/** Everything in Chinese, loaded for readers of Chinese. */

import sentences from "../wire/generated/sentences.zh";
import type { ErrorSentences, Words } from "./index";
import { zh } from "./zh";

export const words: Words = zh;
export const errors: ErrorSentences = sentences;
