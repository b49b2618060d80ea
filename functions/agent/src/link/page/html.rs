//! HTML of which only our own letters are written as they are.

use std::fmt::Write as _;

/// A piece of a document.
#[derive(Default)]
pub(super) struct Html(String);

impl Html {
    /// Markup, which is never made of anything that came in.
    pub(super) fn raw(&mut self, markup: &'static str) -> &mut Self {
        self.0.push_str(markup);
        self
    }

    /// A text, also within the quotes of an attribute; what is hidden in it is spelled.
    pub(super) fn text(&mut self, text: &str) -> &mut Self {
        self.push_escaped(&spell_hidden(text))
    }

    /// A text as it is.
    fn push_escaped(&mut self, text: &str) -> &mut Self {
        for letter in text.chars() {
            match letter {
                '&' => self.0.push_str("&amp;"),
                '<' => self.0.push_str("&lt;"),
                '>' => self.0.push_str("&gt;"),
                '"' => self.0.push_str("&quot;"),
                '\'' => self.0.push_str("&#39;"),
                other => self.0.push(other),
            }
        }
        self
    }

    /// An element that holds a text.
    pub(super) fn element(&mut self, name: &'static str, text: &str) -> &mut Self {
        self.raw("<").raw(name).raw(">").text(text).raw("</").raw(name).raw(">\n")
    }

    /// One line of a list of what is known.
    pub(super) fn term(&mut self, name: &str, text: &str) -> &mut Self {
        self.element("dt", name).element("dd", text)
    }

    /// The same with a link for each text that leads somewhere, next to one another.
    pub(super) fn linked_term(&mut self, name: &str, texts: &[(&str, Option<&str>)]) -> &mut Self {
        self.element("dt", name).raw("<dd>");
        for (nth, (text, url)) in texts.iter().enumerate() {
            self.raw(if nth == 0 { "" } else { ", " });
            match url {
                Some(url) => {
                    self.raw("<a target=\"_blank\" rel=\"noopener noreferrer\" href=\"").text(url);
                    self.raw("\">").text(text).raw("</a>")
                }
                None => self.text(text),
            };
        }
        self.raw("</dd>\n")
    }

    /// A button that answers.
    pub(super) fn button(&mut self, answer: &'static str, label: &str) -> &mut Self {
        self.raw("<button name=\"answer\" value=\"").raw(answer).raw("\">").text(label);
        self.raw("</button>\n")
    }

    /// A place to write in, and what it holds at first, which comes back as it is. The end of the first
    /// line belongs to the tag.
    pub(super) fn text_area(
        &mut self,
        name: &'static str,
        label: &str,
        text: &str,
        is_code: bool,
    ) -> &mut Self {
        self.raw("<label>").text(label).raw("<textarea name=\"").raw(name);
        self.raw(if is_code {
            "\" rows=\"12\" spellcheck=\"false\">\n"
        } else {
            "\" rows=\"4\">\n"
        });
        self.push_escaped(text).raw("</textarea></label>\n")
    }

    pub(super) fn append(&mut self, more: &Self) -> &mut Self {
        self.0.push_str(&more.0);
        self
    }

    pub(super) fn into_text(self) -> String {
        self.0
    }
}

/// A text in which characters that nobody sees, or that turn others around, are spelled as JSON does. So
/// arguments are what they look like, and still the same arguments.
pub(super) fn spell_hidden(text: &str) -> String {
    let mut spelled = String::with_capacity(text.len());
    for letter in text.chars() {
        if !is_hidden(letter) {
            spelled.push(letter);
            continue;
        }
        for unit in letter.encode_utf16(&mut [0; 2]) {
            // Writing into a String cannot fail.
            let _ = write!(spelled, "\\u{unit:04x}");
        }
    }
    spelled
}

/// Control and format characters of Unicode, tags and variation selectors included, but for the one that
/// many emoji have.
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
    fn a_text_is_never_markup() {
        let mut html = Html::default();
        html.text("</textarea><script>alert('1')</script> \"a\" & b");
        assert_eq!(
            html.into_text(),
            "&lt;/textarea&gt;&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt; &quot;a&quot; &amp; b"
        );
    }

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
