//! Repairs truncated JSON responses.

/// Returns the JSON text up to the last closing bracket, with all open brackets closed; `None` without a
/// closing bracket.
pub(crate) fn close_json(text: &[u8]) -> Option<Vec<u8>> {
    let end = scan_brackets(text).last_close?;
    let whole = text.get(..end)?;
    let mut open = scan_brackets(whole).open;
    open.reverse();
    Some([whole, &open].concat())
}

/// The result of scanning a text's brackets.
#[derive(Default)]
struct Brackets {
    /// The closing brackets for all open brackets.
    open: Vec<u8>,
    /// The end of the last closing bracket.
    last_close: Option<usize>,
}

fn scan_brackets(text: &[u8]) -> Brackets {
    let mut brackets = Brackets::default();
    let mut is_string = false;
    let mut is_escaped = false;
    for (at, byte) in text.iter().enumerate() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = is_string,
            b'"' => is_string = !is_string,
            _ if is_string => {}
            b'{' => brackets.open.push(b'}'),
            b'[' => brackets.open.push(b']'),
            b'}' | b']' => {
                brackets.open.pop();
                brackets.last_close = Some(at + 1);
            }
            _ => {}
        }
    }
    brackets
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn what_came_whole_stays_wherever_the_end_is_missing() {
        let whole = r#"{"a": [{"t": "]}\"\\"}, {"t": "热", "u": [1]}], "b": {"c": null}}"#;
        let mut longest = 0;
        for end in 0..=whole.len() {
            let Some(closed) = close_json(&whole.as_bytes()[..end]) else {
                assert_eq!(longest, 0, "{end}");
                continue;
            };
            let value: Value = serde_json::from_slice(&closed)
                .unwrap_or_else(|error| panic!("{}: {error}", String::from_utf8_lossy(&closed)));
            let items = value["a"].as_array().unwrap().len();
            assert!(items >= longest, "{end}");
            longest = items;
        }
        assert_eq!(longest, 2);
        assert_eq!(close_json(whole.as_bytes()).as_deref(), Some(whole.as_bytes()));
        for none in ["", "   ", "{\"a\": \"}]", "[1, 2", "no json"] {
            assert_eq!(close_json(none.as_bytes()), None, "{none}");
        }
    }
}
