//! The `Content-Disposition` header tells a browser to show or save a file, and its name.

use djinn_core::id::FileName;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use super::Disposition;

/// Every character except the `attr-char` of RFC 5987.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'!')
    .remove(b'#')
    .remove(b'$')
    .remove(b'&')
    .remove(b'+')
    .remove(b'-')
    .remove(b'.')
    .remove(b'^')
    .remove(b'_')
    .remove(b'`')
    .remove(b'|')
    .remove(b'~');

impl Disposition {
    /// Returns the header's value for a file of this name: the whole name for readers of RFC 6266, ASCII for
    /// the others.
    #[must_use]
    pub fn to_header(self, name: &FileName) -> String {
        let kind = match self {
            Self::Inline => "inline",
            Self::Attachment => "attachment",
        };
        // Also `%`: some browsers decode `%` in the plain form.
        let plain = |c: char| match c {
            '"' | '\\' | '%' => '_',
            c if c.is_ascii() => c,
            _ => '_',
        };
        let ascii: String = name.as_str().chars().map(plain).collect();
        let whole = utf8_percent_encode(name.as_str(), ESCAPED);
        format!("{kind}; filename=\"{ascii}\"; filename*=UTF-8''{whole}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_given_in_ascii_and_whole() {
        let header = |name| Disposition::Attachment.to_header(&FileName::new(name).unwrap());
        assert_eq!(
            header("金价 a.md"),
            "attachment; filename=\"__ a.md\"; filename*=UTF-8''%E9%87%91%E4%BB%B7%20a.md"
        );
        assert_eq!(
            header("100% \"x\";.csv"),
            "attachment; filename=\"100_ _x_;.csv\"; filename*=UTF-8''100%25%20%22x%22%3B.csv"
        );
        let inline = Disposition::Inline.to_header(&FileName::new("a.md").unwrap());
        assert_eq!(inline, "inline; filename=\"a.md\"; filename*=UTF-8''a.md");
    }
}
