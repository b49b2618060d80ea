//! How large a request is, in tokens.

use super::Request;

/// Letters of a word that are a token.
const WORD: usize = 8;

/// Characters of a script without spaces that are a token.
const SIGNS: usize = 2;

/// Digits that are a token.
const DIGITS: usize = 3;

impl Request {
    /// Tokens of its instructions, messages and tools: rather fewer than a real tokenizer counts, so
    /// that whoever fits a request by a real one fits this.
    #[must_use]
    pub fn tokens(&self) -> u64 {
        let said = self.messages().iter().map(|message| {
            let results = message.results.iter().map(|result| tokens(&result.text));
            let calls = message.calls.iter().map(|call| tokens(&call.arguments.to_string()));
            tokens(&message.text) + tokens(&message.reasoning) + results.chain(calls).sum::<u64>()
        });
        let tools = self.tools().iter().map(|tool| {
            tokens(&tool.name) + tokens(&tool.description) + tokens(&tool.schema.to_string())
        });
        tokens(self.system()) + said.chain(tools).sum::<u64>()
    }
}

/// What a character is part of.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Word,
    Sign,
    Digit,
    /// Spaces and punctuation count nothing.
    Other,
}

fn kind(c: char) -> Kind {
    match c {
        c if c.is_ascii_digit() => Kind::Digit,
        c if c.is_alphabetic() && u32::from(c) < 0x2e80 => Kind::Word,
        c if c.is_alphabetic() => Kind::Sign,
        _ => Kind::Other,
    }
}

fn tokens(text: &str) -> u64 {
    let (mut tokens, mut run, mut length) = (0, Kind::Other, 0);
    for c in text.chars().chain(['\n']) {
        if kind(c) != run {
            tokens += of_run(run, length);
            (run, length) = (kind(c), 0);
        }
        length += 1;
    }
    tokens
}

fn of_run(kind: Kind, length: usize) -> u64 {
    let tokens = match kind {
        Kind::Word => length.div_ceil(WORD),
        Kind::Sign => length.div_ceil(SIGNS),
        Kind::Digit => length.div_ceil(DIGITS),
        Kind::Other => 0,
    };
    tokens as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_digits_and_signs_count_and_nothing_else() {
        assert_eq!(tokens(""), 0);
        assert_eq!(tokens("North grew, by 12.5 %!"), 5);
        assert_eq!(tokens("antidisestablishmentarianism"), 4);
        assert_eq!(tokens("北部增长最快。"), 3);
        assert_eq!(tokens("figure ".repeat(1_000).as_str()), 1_000);
    }
}
