//! The languages of prompts and of user-visible texts.

use serde::{Deserialize, Serialize};

/// Maximum characters of a text read to detect its language.
const MAX_READ: usize = 4_000;

/// Frequent English words, rare in other languages.
const ENGLISH_WORDS: [&str; 44] = [
    "about", "and", "are", "but", "can", "compare", "could", "did", "do", "does", "draw", "each",
    "find", "for", "from", "give", "had", "has", "have", "how", "it", "make", "my", "of", "or",
    "please", "read", "show", "the", "their", "there", "these", "this", "to", "was", "what",
    "when", "where", "which", "who", "why", "with", "write", "you",
];

/// The language of prompts and of the sentences users read. The agent answers in the user's own.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Language {
    /// English prompts and sentences, the default.
    #[default]
    En,
    /// Chinese prompts and sentences, in simplified characters.
    Zh,
}

impl Language {
    /// Returns the language's folder under `prompts/`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::En => "en",
            Self::Zh => "zh",
        }
    }

    /// Returns the language of a text; `None` if unsupported or unclear.
    #[must_use]
    pub fn of_text(text: &str) -> Option<Self> {
        let mut han = 0;
        let mut words = 0;
        let mut has_english = false;
        let end = text.char_indices().nth(MAX_READ).map_or(text.len(), |(end, _)| end);
        let prefix = text.get(..end).unwrap_or(text);
        for word in prefix.split(|character: char| !character.is_ascii_alphabetic()) {
            let lower = word.to_ascii_lowercase();
            words += usize::from(!word.is_empty());
            has_english |= ENGLISH_WORDS.binary_search(&lower.as_str()).is_ok();
        }
        for character in prefix.chars() {
            match character {
                '\u{3400}'..='\u{9fff}' | '\u{20000}'..='\u{323af}' => han += 1,
                // Kana and Hangul stand beside the same characters in other languages.
                '\u{3041}'..='\u{30fa}' | '\u{ac00}'..='\u{d7a3}' => return None,
                _ => {}
            }
        }
        // A character is about a word, and technical words of a Chinese text are English.
        if han > 0 && han >= words { Some(Self::Zh) } else { has_english.then_some(Self::En) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_in_order() {
        assert!(ENGLISH_WORDS.is_sorted());
    }

    #[test]
    fn language_of_a_question_is_that_of_its_words() {
        let en = Some(Language::En);
        let zh = Some(Language::Zh);
        for (text, language) in [
            ("Which region grew fastest?", en),
            ("Compare sales.csv and costs.csv", en),
            ("What does 黄金 mean in English?", en),
            ("哪个地区增长最快？", zh),
            ("用 python 分析 sales.csv", zh),
            ("继续", zh),
            ("請比較兩個地區。", zh),
            ("東京の人口は？", None),
            ("서울의 인구는?", None),
            ("Quelle région a le plus grandi ?", None),
            ("Wie warm ist Gold?", None),
            ("Какой регион вырос?", None),
            ("sales.csv", None),
            ("2+2=?", None),
            ("", None),
        ] {
            assert_eq!(Language::of_text(text), language, "{text}");
        }
    }
}
