//! HTML elements in Markdown: harmless elements, and images within the others.

use super::address::{KnownAddresses, is_file_name, is_url};

/// Elements with content other than markup, or with an effect of their own, such as loading.
const HARMFUL_NAMES: [&str; 16] = [
    "base",
    "embed",
    "frame",
    "frameset",
    "iframe",
    "link",
    "meta",
    "noscript",
    "object",
    "plaintext",
    "script",
    "style",
    "template",
    "textarea",
    "title",
    "xmp",
];

/// The opening tag of an element.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Tag<'a> {
    pub(super) name: &'a str,
    /// Names and values; a value is empty where there is none.
    attributes: Vec<(&'a str, &'a str)>,
    /// Bytes from `<` to `>`.
    pub(super) len: usize,
}

/// The reason for rejecting a text that starts with `<` and a letter as a tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TagError {
    /// The tag has no end yet.
    Unfinished,
    /// The paragraph, or an attribute's value, ends within the tag.
    Broken,
    /// The name is not a valid name of a Markdown tag.
    Name,
    /// An attribute is not valid in a Markdown tag, except at the start of a block.
    Attribute,
}

impl<'a> Tag<'a> {
    /// Reads the tag at the beginning of a text.
    pub(super) fn read(text: &'a str) -> Result<Self, TagError> {
        let mut reader = Reader { rest: text.get(1..).unwrap_or_default() };
        let name = reader.take_while(|next| next.is_ascii_alphanumeric() || next == '-');
        match reader.peek() {
            None => return Err(TagError::Unfinished),
            Some('>' | '/') => {}
            Some(next) if next.is_ascii_whitespace() => {}
            Some(_) => return Err(TagError::Name),
        }
        let mut attributes = Vec::new();
        loop {
            reader.skip_blanks(|next| next.is_ascii_whitespace() || next == '/')?;
            match reader.peek() {
                None => return Err(TagError::Unfinished),
                Some('>') => break,
                Some(_) => attributes.push(reader.read_attribute()?),
            }
        }
        let len = text.len() - reader.rest.len() + 1;
        Ok(Self { name, attributes, len })
    }

    fn attribute(&self, name: &str) -> Option<&'a str> {
        let attribute = self.attributes.iter().find(|(key, _)| key.eq_ignore_ascii_case(name));
        attribute.map(|(_, value)| *value)
    }
}

/// The rest of a text to read.
struct Reader<'a> {
    rest: &'a str,
}

impl<'a> Reader<'a> {
    fn peek(&self) -> Option<char> {
        self.rest.chars().next()
    }

    fn take_while(&mut self, is_taken: impl Fn(char) -> bool) -> &'a str {
        let end = self.rest.find(|next| !is_taken(next)).unwrap_or(self.rest.len());
        let (prefix, rest) = self.rest.split_at_checked(end).unwrap_or((self.rest, ""));
        self.rest = rest;
        prefix
    }

    fn skip_blanks(&mut self, is_blank: impl Fn(char) -> bool) -> Result<(), TagError> {
        let blanks = self.take_while(is_blank);
        if has_blank_line(blanks) { Err(TagError::Broken) } else { Ok(()) }
    }

    fn read_attribute(&mut self) -> Result<(&'a str, &'a str), TagError> {
        let name = self.take_while(|next| !next.is_ascii_whitespace() && !"/>=\"'<".contains(next));
        let is_letter = |next: char| next.is_ascii_alphanumeric() || "_.:-".contains(next);
        if !name.starts_with(|first: char| first.is_ascii_alphabetic() || "_:".contains(first))
            || !name.chars().all(is_letter)
        {
            return Err(if self.rest.is_empty() && !name.is_empty() {
                TagError::Unfinished
            } else {
                TagError::Attribute
            });
        }
        self.skip_blanks(|next| next.is_ascii_whitespace())?;
        match self.peek() {
            None => return Err(TagError::Unfinished),
            Some('=') => {}
            Some(_) => return Ok((name, "")),
        }
        self.rest = self.rest.get(1..).unwrap_or_default();
        self.skip_blanks(|next| next.is_ascii_whitespace())?;
        let value = match self.peek() {
            None => return Err(TagError::Unfinished),
            Some(quote @ ('"' | '\'')) => {
                self.rest = self.rest.get(1..).unwrap_or_default();
                let value = self.take_value(|next| next == quote)?;
                if self.rest.is_empty() {
                    return Err(TagError::Unfinished);
                }
                self.rest = self.rest.get(1..).unwrap_or_default();
                value
            }
            Some(_) => self.take_value(|next| next.is_ascii_whitespace() || next == '>')?,
        };
        Ok((name, value))
    }

    /// Reads the value of an attribute; a value never contains the start of another tag.
    fn take_value(&mut self, is_end: impl Fn(char) -> bool) -> Result<&'a str, TagError> {
        let value = self.take_while(|next| next != '<' && !is_end(next));
        let is_broken = self.peek() == Some('<') || has_blank_line(value);
        if is_broken { Err(TagError::Broken) } else { Ok(value) }
    }
}

/// Returns true if the text contains a blank line, the end of a paragraph.
fn has_blank_line(text: &str) -> bool {
    let mut lines = text.split('\n').skip(1).peekable();
    while let Some(line) = lines.next() {
        if lines.peek().is_some() && line.trim().is_empty() {
            return true;
        }
    }
    false
}

/// Returns true if the element makes a browser load no unknown address, even if rendered unchanged.
pub(super) fn is_harmless(tag: &Tag<'_>, addresses: &mut KnownAddresses<'_>) -> bool {
    let name = tag.name.to_ascii_lowercase();
    !HARMFUL_NAMES.contains(&name.as_str())
        && tag.attributes.iter().all(|(attribute, value)| {
            let attribute = attribute.to_ascii_lowercase();
            // A link leads to a page, opened only on a click.
            let is_link = name == "a"
                && attribute == "href"
                && (is_url(value) || is_file_name(value))
                && value.chars().all(|c| c.is_ascii_graphic() && !"\"'`<>\\".contains(c));
            // Not an address of another host, under any reading.
            let is_plain = value.chars().all(|next| {
                next.is_alphanumeric()
                    || " \t\n-_.%#,;!?+~*'".contains(next)
                    || (attribute == "style" && next == ':')
            });
            let is_loaded = ["src", "poster"].contains(&attribute.as_str());
            !attribute.starts_with("on")
                && (is_link || is_plain || (is_loaded && addresses.is_harmless(value)))
        })
}

/// Returns the rest of a link in place of an image, after the first bracket: `a chart](https://…)`.
pub(super) fn find_image_link(tag: &Tag<'_>) -> Option<String> {
    let is_image = ["img", "image"].iter().any(|name| tag.name.eq_ignore_ascii_case(name));
    let address = tag.attribute("src").filter(|_| is_image)?;
    let is_plain = |next: char| next.is_ascii_graphic() && !"\"'`<>\\()[]|".contains(next);
    if !is_url(address) || !address.chars().all(is_plain) {
        return None;
    }
    let is_word = |next: &char| next.is_alphanumeric() || " .,-".contains(*next);
    let alt: String = tag.attribute("alt").unwrap_or_default().chars().filter(is_word).collect();
    let alt = alt.trim();
    Some(format!("{}]({address})", if alt.is_empty() { "image" } else { alt }))
}
