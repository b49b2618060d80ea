//! The size of a request in tokens.

use super::RecordedRequest;

/// Letters of a word per token.
const WORD: usize = 8;

/// Characters per token in a script without spaces.
const SIGNS: usize = 2;

/// Digits of a number per token.
const DIGITS: usize = 3;

impl RecordedRequest {
    /// Estimates the tokens of instructions, messages and tools. The estimate is lower than a real
    /// tokenizer's count, so a request fitted with a real tokenizer always fits.
    #[must_use]
    pub fn estimate_tokens(&self) -> u64 {
        let messages = self.messages().iter().map(|message| {
            let results = message.results.iter().map(|result| count_tokens(&result.text));
            let calls = message.calls.iter().map(|call| count_tokens(&call.arguments.to_string()));
            count_tokens(&message.text)
                + count_tokens(&message.reasoning)
                + results.chain(calls).sum::<u64>()
        });
        let tools = self.tools().iter().map(|tool| {
            count_tokens(&tool.name)
                + count_tokens(&tool.description)
                + count_tokens(&tool.schema.to_string())
        });
        count_tokens(self.system()) + messages.chain(tools).sum::<u64>()
    }
}

/// The kind of a character.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CharKind {
    Word,
    Sign,
    Digit,
    /// Spaces and punctuation, which count as no token.
    Other,
}

fn char_kind(c: char) -> CharKind {
    match c {
        c if c.is_ascii_digit() => CharKind::Digit,
        c if c.is_alphabetic() && u32::from(c) < 0x2e80 => CharKind::Word,
        c if c.is_alphabetic() => CharKind::Sign,
        _ => CharKind::Other,
    }
}

fn count_tokens(text: &str) -> u64 {
    let mut tokens = 0;
    let mut run = CharKind::Other;
    let mut length = 0_usize;
    for c in text.chars().chain(['\n']) {
        if char_kind(c) != run {
            let run_tokens = match run {
                CharKind::Word => length.div_ceil(WORD),
                CharKind::Sign => length.div_ceil(SIGNS),
                CharKind::Digit => length.div_ceil(DIGITS),
                CharKind::Other => 0,
            };
            tokens += run_tokens as u64;
            (run, length) = (char_kind(c), 0);
        }
        length += 1;
    }
    tokens
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_digits_and_signs_count_and_nothing_else() {
        assert_eq!(count_tokens(""), 0);
        assert_eq!(count_tokens("North grew, by 12.5 %!"), 5);
        assert_eq!(count_tokens("antidisestablishmentarianism"), 4);
        assert_eq!(count_tokens("北部增长最快。"), 3);
        assert_eq!(count_tokens("figure ".repeat(1_000).as_str()), 1_000);
    }
}
