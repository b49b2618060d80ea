//! Spells out invisible characters and characters that change a text's appearance.

use std::fmt::Write as _;

/// Returns the text with invisible and direction-changing characters as JSON escapes. So arguments look as
/// they are, and keep their value.
pub(super) fn spell_hidden(text: &str) -> String {
    let mut output = String::with_capacity(text.len());
    for letter in text.chars() {
        if !is_hidden(letter) {
            output.push(letter);
            continue;
        }
        for unit in letter.encode_utf16(&mut [0; 2]) {
            // Writing into a String cannot fail.
            let _ = write!(output, "\\u{unit:04x}");
        }
    }
    output
}

/// Returns true for control and format characters of Unicode, including tags and variation selectors. The
/// variation selector of many emoji is excluded.
fn is_hidden(letter: char) -> bool {
    (letter.is_control() && !matches!(letter, '\n' | '\t'))
        || matches!(
            letter,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}'
                | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0e}' | '\u{feff}'
                | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}'
        )
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn what_hides_or_turns_letters_is_spelled_and_means_the_same() {
        let value = json!({"file\u{202e}fdp.exe": "a\u{200b}b\u{7}\u{e0041}\u{feff} é 金\n\tc"});
        let shown = spell_hidden(&serde_json::to_string_pretty(&value).unwrap());
        assert!(
            shown.contains("file\\u202efdp.exe") && shown.contains("\\udb40\\udc41"),
            "{shown}"
        );
        assert!(shown.contains(" é 金\\n\\tc") && !shown.chars().any(is_hidden), "{shown}");
        assert_eq!(serde_json::from_str::<Value>(&shown).unwrap(), value);
    }
}
