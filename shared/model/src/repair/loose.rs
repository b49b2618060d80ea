//! JSON in the loose form of models: single quotes, trailing commas, bare keys, Python's words and raw line
//! breaks. Incomplete JSON stays incomplete: open brackets are never closed.

use serde_json::{Map, Number, Value};

/// Maximum nesting depth of values.
const MAX_DEPTH: usize = 100;

/// The reason for rejecting a text as loose JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LooseError {
    /// The text ends too early.
    Incomplete,
    /// The text is not JSON.
    Invalid,
}

/// Reads the value at the start of a text, and returns the rest of the text.
pub(crate) fn parse_value(text: &str) -> Result<(Value, &str), LooseError> {
    let mut reader = LooseReader { rest: text };
    let value = reader.read_value(0)?;
    Ok((value, reader.rest))
}

struct LooseReader<'a> {
    rest: &'a str,
}

impl<'a> LooseReader<'a> {
    fn read_value(&mut self, depth: usize) -> Result<Value, LooseError> {
        if depth > MAX_DEPTH {
            return Err(LooseError::Invalid);
        }
        match self.peek_char()? {
            '{' => self.read_object(depth),
            '[' => self.read_array(depth),
            quote @ ('"' | '\'') => self.read_string(quote).map(Value::String),
            _ => self.read_literal(),
        }
    }

    fn read_object(&mut self, depth: usize) -> Result<Value, LooseError> {
        let mut members = Map::new();
        self.skip_char('{');
        loop {
            let key = match self.peek_char()? {
                '}' => {
                    self.skip_char('}');
                    return Ok(Value::Object(members));
                }
                ',' if !members.is_empty() => {
                    self.skip_char(',');
                    continue;
                }
                quote @ ('"' | '\'') => self.read_string(quote)?,
                _ => self.read_bare_word()?.to_owned(),
            };
            if self.peek_char()? != ':' {
                return Err(LooseError::Invalid);
            }
            self.skip_char(':');
            let value = self.read_value(depth + 1)?;
            members.insert(key, value);
            if !matches!(self.peek_char()?, ',' | '}') {
                return Err(LooseError::Invalid);
            }
        }
    }

    fn read_array(&mut self, depth: usize) -> Result<Value, LooseError> {
        let mut items = Vec::new();
        self.skip_char('[');
        loop {
            match self.peek_char()? {
                ']' => {
                    self.skip_char(']');
                    return Ok(Value::Array(items));
                }
                ',' if !items.is_empty() => self.skip_char(','),
                _ => {
                    items.push(self.read_value(depth + 1)?);
                    if !matches!(self.peek_char()?, ',' | ']') {
                        return Err(LooseError::Invalid);
                    }
                }
            }
        }
    }

    fn read_string(&mut self, quote: char) -> Result<String, LooseError> {
        self.skip_char(quote);
        let mut text = String::new();
        let mut characters = self.rest.char_indices();
        while let Some((index, character)) = characters.next() {
            match character {
                c if c == quote => {
                    self.rest = self.rest.get(index + quote.len_utf8()..).unwrap_or_default();
                    return Ok(text);
                }
                '\\' => {
                    let (_, escaped) = characters.next().ok_or(LooseError::Incomplete)?;
                    match escaped {
                        'n' => text.push('\n'),
                        't' => text.push('\t'),
                        'r' => text.push('\r'),
                        'b' => text.push('\u{8}'),
                        'f' => text.push('\u{c}'),
                        '"' | '\'' | '\\' | '/' => text.push(escaped),
                        '\n' => {}
                        'u' => text.push(read_unicode(&mut characters)?),
                        other => text.extend(['\\', other]),
                    }
                }
                c => text.push(c),
            }
        }
        Err(LooseError::Incomplete)
    }

    /// Reads a number, or a JSON or Python literal.
    fn read_literal(&mut self) -> Result<Value, LooseError> {
        let word = self.read_bare_word()?;
        let value = match word {
            "true" | "True" => Value::Bool(true),
            "false" | "False" => Value::Bool(false),
            "null" | "None" | "undefined" | "NaN" => Value::Null,
            number => {
                let number = number.strip_prefix('+').unwrap_or(number);
                Value::Number(number.parse::<Number>().map_err(|_| LooseError::Invalid)?)
            }
        };
        // A number at the very end may have more digits to come.
        if self.rest.is_empty() && value.is_number() {
            return Err(LooseError::Incomplete);
        }
        Ok(value)
    }

    fn read_bare_word(&mut self) -> Result<&'a str, LooseError> {
        let end = self
            .rest
            .find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '-' | '+' | '.' | '$')))
            .unwrap_or(self.rest.len());
        match (end, end == self.rest.len()) {
            (0, _) => Err(LooseError::Invalid),
            (_, at_end) => {
                let (word, rest) = self.rest.split_at(end);
                self.rest = rest;
                let is_whole = word.parse::<f64>().is_ok()
                    || matches!(
                        word,
                        "true" | "True" | "false" | "False" | "null" | "None" | "undefined"
                    );
                if at_end && !is_whole {
                    return Err(LooseError::Incomplete);
                }
                Ok(word)
            }
        }
    }

    /// Returns the next character after white space.
    fn peek_char(&mut self) -> Result<char, LooseError> {
        self.rest = self.rest.trim_start();
        self.rest.chars().next().ok_or(LooseError::Incomplete)
    }

    fn skip_char(&mut self, character: char) {
        self.rest = self.rest.strip_prefix(character).unwrap_or(self.rest);
    }
}

/// Reads the character of a `\u` escape. Both halves of a pair are read; an unpaired half is replaced.
fn read_unicode(characters: &mut std::str::CharIndices<'_>) -> Result<char, LooseError> {
    let mut first = 0;
    for _ in 0..4 {
        let (_, digit) = characters.next().ok_or(LooseError::Incomplete)?;
        first = first * 16 + digit.to_digit(16).ok_or(LooseError::Invalid)?;
    }
    if !(0xd800..0xdc00).contains(&first) {
        return Ok(char::from_u32(first).unwrap_or(char::REPLACEMENT_CHARACTER));
    }
    let rest = characters.as_str();
    let second = rest
        .strip_prefix("\\u")
        .and_then(|rest| rest.get(..4))
        .and_then(|digits| u32::from_str_radix(digits, 16).ok())
        .filter(|second| (0xdc00..0xe000).contains(second));
    let Some(second) = second else {
        return Ok(char::REPLACEMENT_CHARACTER);
    };
    characters.nth(5);
    let code = 0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00);
    Ok(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn what_models_write_is_read() {
        for (text, expected) in [
            (r#"{"a":1}"#, json!({"a": 1})),
            ("{'a': 'it\\'s', \"b\": True,}", json!({"a": "it's", "b": true})),
            ("{a_b: None, c: [1,2,],}", json!({"a_b": null, "c": [1, 2]})),
            ("{\"a\":\"x\ny\"}", json!({"a": "x\ny"})),
            (r#"{"a":"\ud83d\ude00 \ud83d \d"}"#, json!({"a": "😀 \u{fffd} \\d"})),
            ("[-1.5e3, +2, NaN]", json!([-1500.0, 2, null])),
        ] {
            assert_eq!(parse_value(text).map(|(value, _)| value), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_is_left_open_stays_open() {
        for text in [
            "{",
            "{\"a\"",
            "{\"a\":",
            "{\"a\":1",
            "{\"a\":tr",
            "[1",
            "[1,",
            "\"x",
            "\"x\\",
            "{\"a\":\"\\u12",
            "",
        ] {
            assert_eq!(parse_value(text), Err(LooseError::Incomplete), "{text}");
        }
        for text in ["}", "{1 2}", "{\"a\" \"b\"}", "{,}", "hello world", "[1 2]"] {
            assert_eq!(parse_value(text), Err(LooseError::Invalid), "{text}");
        }
        assert_eq!(parse_value(&"[".repeat(10_000)), Err(LooseError::Invalid));
    }

    proptest! {
        #[test]
        fn strict_json_is_read_as_it_is_and_no_part_of_an_object_is_an_object(
            keys in proptest::collection::vec("\\PC{0,6}", 0..4),
            text in "\\PC{0,12}",
            number in any::<i64>(),
        ) {
            let object: Map<String, Value> = keys
                .into_iter()
                .map(|key| (key, json!([text, number, null, {"x": true}])))
                .collect();
            let given = Value::Object(object);
            let json = given.to_string();
            prop_assert_eq!(parse_value(&json).map(|(value, _)| value), Ok(given));
            for end in (0..json.len()).filter(|end| json.is_char_boundary(*end)) {
                prop_assert!(parse_value(&json[..end]).is_err());
            }
        }
    }
}
