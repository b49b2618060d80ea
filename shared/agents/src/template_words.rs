//! The words in the tags of a template, with their lines. minijinja itself names variables without their
//! lines, and reports an unknown filter only when the template runs.

/// A word in a tag of a template.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TemplateWord<'a> {
    pub(crate) text: &'a str,
    /// The line in the template, counted from 1.
    pub(crate) line: usize,
    pub(crate) kind: WordKind,
}

/// The kind of a word, by the text before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WordKind {
    /// A variable, or a word of the language.
    Name,
    /// A name after `|`, or after the tag `filter`.
    Filter,
    /// A test after `is`.
    Test,
    /// A name after a dot.
    Member,
}

/// Returns every word in the tags of a template that minijinja can parse.
pub(crate) fn find_words(template: &str) -> Vec<TemplateWord<'_>> {
    let mut reader = Reader { rest: template, line: 1, words: Vec::new() };
    while let Some(at) = reader.rest.find('{') {
        reader.skip(at);
        let tag = reader.rest;
        if tag.starts_with("{#") {
            reader.skip_past("#}");
        } else if tag.starts_with("{%") {
            reader.skip(2);
            let first = reader.words.len();
            reader.read_words("%}");
            if reader.words.get(first).is_some_and(|word| word.text == "raw") {
                reader.words.truncate(first);
                reader.skip_raw();
            }
        } else if tag.starts_with("{{") {
            reader.skip(2);
            reader.read_words("}}");
        } else {
            reader.skip(1);
        }
    }
    reader.words
}

struct Reader<'a> {
    rest: &'a str,
    line: usize,
    words: Vec<TemplateWord<'a>>,
}

/// The text before a word within its tag.
#[derive(Clone, Copy)]
enum Before<'a> {
    Sign(char),
    Word(TemplateWord<'a>),
}

impl<'a> Reader<'a> {
    /// Advances by this number of bytes, and returns them.
    fn skip(&mut self, bytes: usize) -> &'a str {
        let (head, tail) = self.rest.split_at_checked(bytes).unwrap_or((self.rest, ""));
        self.line += head.matches('\n').count();
        self.rest = tail;
        head
    }

    fn skip_past(&mut self, end: &str) {
        let bytes = self.rest.find(end).map_or(self.rest.len(), |at| at + end.len());
        self.skip(bytes);
    }

    /// Advances to the tag `endraw`, over any other tags.
    fn skip_raw(&mut self) {
        while let Some(at) = self.rest.find("{%") {
            self.skip(at + 2);
            let tag = self.rest.trim_start_matches(['-', '+']).trim_start();
            if tag.starts_with("endraw") {
                self.skip_past("%}");
                return;
            }
        }
        self.skip(self.rest.len());
    }

    /// Collects the words up to the end of a tag.
    fn read_words(&mut self, end: &str) {
        let first = self.words.len();
        let mut depth = 0_usize;
        let mut before = Before::Sign('{');
        while let Some(next) = self.rest.chars().next() {
            if depth == 0 && self.rest.starts_with(end) {
                self.skip(end.len());
                return;
            }
            if next.is_ascii_alphabetic() || next == '_' {
                let is_second = self.words.len() == first + 1 && end == "%}";
                let word = self.read_word(before, is_second);
                // `is not x` tests with x as `is x` does.
                let is_not = word.text == "not" && word.kind == WordKind::Test;
                before = if is_not { before } else { Before::Word(word) };
                continue;
            }
            match next {
                '"' | '\'' => self.skip_string(next),
                '0'..='9' => {
                    let is_digit = |c: char| c.is_ascii_alphanumeric() || c == '_';
                    let bytes = self.rest.find(|c| !is_digit(c)).unwrap_or(self.rest.len());
                    self.skip(bytes);
                }
                _ => {
                    self.skip(next.len_utf8());
                }
            }
            match next {
                '(' | '[' | '{' => depth += 1,
                ')' | ']' | '}' => depth = depth.saturating_sub(1),
                _ => {}
            }
            if !next.is_whitespace() {
                before = Before::Sign(next);
            }
        }
    }

    fn read_word(&mut self, before: Before<'a>, is_second: bool) -> TemplateWord<'a> {
        let is_letter = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let bytes = self.rest.find(|c| !is_letter(c)).unwrap_or(self.rest.len());
        let line = self.line;
        let text = self.skip(bytes);
        let kind = match before {
            Before::Sign('|') => WordKind::Filter,
            Before::Sign('.') => WordKind::Member,
            Before::Word(word) if word.kind == WordKind::Name => match word.text {
                "is" => WordKind::Test,
                "filter" if is_second => WordKind::Filter,
                _ => WordKind::Name,
            },
            Before::Sign(_) | Before::Word(_) => WordKind::Name,
        };
        let word = TemplateWord { text, line, kind };
        self.words.push(word);
        word
    }

    fn skip_string(&mut self, quote: char) {
        let mut is_escaped = true;
        let end = self.rest.char_indices().find(|(_, c)| {
            let ends = *c == quote && !is_escaped;
            is_escaped = if is_escaped { false } else { *c == '\\' };
            ends
        });
        self.skip(end.map_or(self.rest.len(), |(at, _)| at + 1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_found_in_tags_alone_with_their_lines() {
        let template = "if {no} { {{ a|trim }}\n{#- b #}{% if c.d is not defined %}\n{% raw %}{{ e }}\
                        {%- endraw %}{% filter framed -%}{{ {'f': \"}}\\\"g\"}|tojson }} h\n\
                        {%- endfilter %}{{ 1e5 is\nodd }}";
        let found: Vec<_> =
            find_words(template).iter().map(|word| (word.text, word.line, word.kind)).collect();
        use WordKind::{Filter, Member, Name, Test};
        let expected = [
            ("a", 1, Name),
            ("trim", 1, Filter),
            ("if", 2, Name),
            ("c", 2, Name),
            ("d", 2, Member),
            ("is", 2, Name),
            ("not", 2, Test),
            ("defined", 2, Test),
            ("filter", 3, Name),
            ("framed", 3, Filter),
            ("tojson", 3, Filter),
            ("endfilter", 4, Name),
            ("is", 4, Name),
            ("odd", 5, Test),
        ];
        assert_eq!(found, expected);
    }
}
