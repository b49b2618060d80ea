//! JSON as models write it: with single quotes, trailing commas, bare keys, Python's words and raw
//! line breaks. What is incomplete stays incomplete: nothing is ever closed that was left open.

use serde_json::{Map, Number, Value};

/// How deep values may lie in one another.
const MAX_DEPTH: usize = 100;

/// Why a text is no JSON, however loosely it is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flaw {
    /// It ends too early.
    Incomplete,
    /// It is something else.
    Bad,
}

/// Reads the value that a text starts with, and returns what follows it.
pub(crate) fn value(text: &str) -> Result<(Value, &str), Flaw> {
    let mut reader = Reader { rest: text };
    let value = reader.value(0)?;
    Ok((value, reader.rest))
}

struct Reader<'a> {
    rest: &'a str,
}

impl<'a> Reader<'a> {
    fn value(&mut self, depth: usize) -> Result<Value, Flaw> {
        if depth > MAX_DEPTH {
            return Err(Flaw::Bad);
        }
        match self.peek()? {
            '{' => self.object(depth),
            '[' => self.array(depth),
            quote @ ('"' | '\'') => self.string(quote).map(Value::String),
            _ => self.word(),
        }
    }

    fn object(&mut self, depth: usize) -> Result<Value, Flaw> {
        let mut members = Map::new();
        self.skip('{');
        loop {
            let key = match self.peek()? {
                '}' => {
                    self.skip('}');
                    return Ok(Value::Object(members));
                }
                ',' if !members.is_empty() => {
                    self.skip(',');
                    continue;
                }
                quote @ ('"' | '\'') => self.string(quote)?,
                _ => self.bare()?.to_owned(),
            };
            if self.peek()? != ':' {
                return Err(Flaw::Bad);
            }
            self.skip(':');
            let value = self.value(depth + 1)?;
            members.insert(key, value);
            if !matches!(self.peek()?, ',' | '}') {
                return Err(Flaw::Bad);
            }
        }
    }

    fn array(&mut self, depth: usize) -> Result<Value, Flaw> {
        let mut items = Vec::new();
        self.skip('[');
        loop {
            match self.peek()? {
                ']' => {
                    self.skip(']');
                    return Ok(Value::Array(items));
                }
                ',' if !items.is_empty() => self.skip(','),
                _ => {
                    items.push(self.value(depth + 1)?);
                    if !matches!(self.peek()?, ',' | ']') {
                        return Err(Flaw::Bad);
                    }
                }
            }
        }
    }

    fn string(&mut self, quote: char) -> Result<String, Flaw> {
        self.skip(quote);
        let mut text = String::new();
        let mut characters = self.rest.char_indices();
        while let Some((index, character)) = characters.next() {
            match character {
                c if c == quote => {
                    self.rest = self.rest.get(index + quote.len_utf8()..).unwrap_or_default();
                    return Ok(text);
                }
                '\\' => {
                    let (_, escaped) = characters.next().ok_or(Flaw::Incomplete)?;
                    match escaped {
                        'n' => text.push('\n'),
                        't' => text.push('\t'),
                        'r' => text.push('\r'),
                        'b' => text.push('\u{8}'),
                        'f' => text.push('\u{c}'),
                        '"' | '\'' | '\\' | '/' => text.push(escaped),
                        '\n' => {}
                        'u' => text.push(unicode(&mut characters)?),
                        other => text.extend(['\\', other]),
                    }
                }
                c => text.push(c),
            }
        }
        Err(Flaw::Incomplete)
    }

    /// A number, or one of the words that JSON and Python have.
    fn word(&mut self) -> Result<Value, Flaw> {
        let word = self.bare()?;
        let value = match word {
            "true" | "True" => Value::Bool(true),
            "false" | "False" => Value::Bool(false),
            "null" | "None" | "undefined" | "NaN" => Value::Null,
            number => {
                let number = number.strip_prefix('+').unwrap_or(number);
                Value::Number(number.parse::<Number>().map_err(|_| Flaw::Bad)?)
            }
        };
        // A number at the very end may have more digits to come.
        if self.rest.is_empty() && value.is_number() {
            return Err(Flaw::Incomplete);
        }
        Ok(value)
    }

    fn bare(&mut self) -> Result<&'a str, Flaw> {
        let end = self
            .rest
            .find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '-' | '+' | '.' | '$')))
            .unwrap_or(self.rest.len());
        match (end, end == self.rest.len()) {
            (0, _) => Err(Flaw::Bad),
            (_, at_end) => {
                let (word, rest) = self.rest.split_at(end);
                self.rest = rest;
                let is_whole = word.parse::<f64>().is_ok()
                    || matches!(
                        word,
                        "true" | "True" | "false" | "False" | "null" | "None" | "undefined"
                    );
                if at_end && !is_whole {
                    return Err(Flaw::Incomplete);
                }
                Ok(word)
            }
        }
    }

    /// The next character that is no white space.
    fn peek(&mut self) -> Result<char, Flaw> {
        self.rest = self.rest.trim_start();
        self.rest.chars().next().ok_or(Flaw::Incomplete)
    }

    fn skip(&mut self, character: char) {
        self.rest = self.rest.strip_prefix(character).unwrap_or(self.rest);
    }
}

/// The character of a `\u` escape; both halves of a pair are taken, half a pair is replaced.
fn unicode(characters: &mut std::str::CharIndices<'_>) -> Result<char, Flaw> {
    let first = hex4(characters)?;
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

fn hex4(characters: &mut std::str::CharIndices<'_>) -> Result<u32, Flaw> {
    let mut code = 0;
    for _ in 0..4 {
        let (_, digit) = characters.next().ok_or(Flaw::Incomplete)?;
        code = code * 16 + digit.to_digit(16).ok_or(Flaw::Bad)?;
    }
    Ok(code)
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
            assert_eq!(value(text).map(|(value, _)| value), Ok(expected), "{text}");
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
            assert_eq!(value(text), Err(Flaw::Incomplete), "{text}");
        }
        for text in ["}", "{1 2}", "{\"a\" \"b\"}", "{,}", "hello world", "[1 2]"] {
            assert_eq!(value(text), Err(Flaw::Bad), "{text}");
        }
        assert_eq!(value(&"[".repeat(10_000)), Err(Flaw::Bad));
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
            prop_assert_eq!(value(&json).map(|(value, _)| value), Ok(given));
            for end in (0..json.len()).filter(|end| json.is_char_boundary(*end)) {
                prop_assert!(value(&json[..end]).is_err());
            }
        }
    }
}
