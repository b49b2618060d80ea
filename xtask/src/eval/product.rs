//! Files of answers, with their text if readable.

use serde::Deserialize;

use super::office_archive::OfficeArchive;

/// The file forms used by suites, by file extension.
#[derive(Deserialize, Debug, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(super) enum ProductForm {
    Csv,
    Docx,
    Html,
    Md,
    Pdf,
    Png,
    Pptx,
}

/// A file of an answer.
#[derive(Debug, PartialEq)]
pub(super) struct Product {
    /// The file as text, for finding addresses; empty for binary files.
    pub(super) raw: String,
    /// The visible text; `None` for an unreadable form.
    pub(super) text: Option<String>,
    /// Lines that may be headings.
    pub(super) headings: Vec<String>,
}

/// Maximum length of a heading in an Office document, in characters.
const HEADING: usize = 120;

impl ProductForm {
    /// Returns the file extension, without the dot.
    pub(super) fn ending(self) -> &'static str {
        match self {
            Self::Csv => "csv",
            Self::Docx => "docx",
            Self::Html => "html",
            Self::Md => "md",
            Self::Pdf => "pdf",
            Self::Png => "png",
            Self::Pptx => "pptx",
        }
    }

    /// Returns true if the text of such a file can be read.
    pub(super) fn has_text(self) -> bool {
        !matches!(self, Self::Pdf | Self::Png)
    }

    /// Reads the bytes of a file of this form; `None` for another form.
    pub(super) fn read_product(self, bytes: &[u8]) -> Option<Product> {
        match self {
            Self::Csv | Self::Md => {
                let raw = std::str::from_utf8(bytes).ok()?.to_owned();
                let is_heading = |line: &&str| line.starts_with('#');
                let headings = raw.lines().filter(is_heading).map(str::to_owned).collect();
                Some(Product { text: Some(raw.clone()), raw, headings })
            }
            Self::Html => {
                let raw = std::str::from_utf8(bytes).ok()?.to_owned();
                let (text, headings) = read_markup(&raw);
                (raw.contains('<')).then_some(Product { raw, text: Some(text), headings })
            }
            Self::Docx => read_office(bytes, "word/document"),
            Self::Pptx => read_office(bytes, "ppt/slides/slide"),
            Self::Pdf => bytes.starts_with(b"%PDF-").then(Product::without_text),
            Self::Png => bytes.starts_with(b"\x89PNG\r\n").then(Product::without_text),
        }
    }
}

impl Product {
    fn without_text() -> Self {
        Self { raw: String::new(), text: None, headings: Vec::new() }
    }
}

/// Reads an Office document's parts with this prefix and the extension `.xml`.
fn read_office(bytes: &[u8], beginning: &str) -> Option<Product> {
    let archive = OfficeArchive::read(bytes)?;
    let parts = archive.find_parts(|name| name.starts_with(beginning) && name.ends_with(".xml"));
    let texts: Vec<String> = parts.iter().map(|part| read_markup(part).0).collect();
    if texts.is_empty() {
        return None;
    }
    let text = texts.join("\n");
    let is_short = |line: &&str| line.chars().count() <= HEADING && !line.is_empty();
    let headings = text.lines().map(str::trim).filter(is_short).map(str::to_owned).collect();
    Some(Product { raw: String::new(), text: Some(text), headings })
}

/// Character references. The ampersand is last: `&amp;lt;` stands for `&lt;`.
const ENTITIES: [(&str, &str); 6] = [
    ("&lt;", "<"),
    ("&gt;", ">"),
    ("&quot;", "\""),
    ("&#39;", "'"),
    ("&nbsp;", "\u{a0}"),
    ("&amp;", "&"),
];

/// Returns the text of HTML or Office XML, one block per line, and the headings of HTML.
fn read_markup(markup: &str) -> (String, Vec<String>) {
    let mut text = String::new();
    let mut headings = Vec::new();
    let mut heading = None::<usize>;
    let mut hidden = None;
    for piece in markup.split('<') {
        let Some((tag, words)) = piece.split_once('>') else { continue };
        let name = tag.split_whitespace().next().unwrap_or_default().trim_end_matches('/');
        let (closes, name) = name.strip_prefix('/').map_or((false, name), |name| (true, name));
        match hidden {
            Some(hiding) if closes && hiding == name => hidden = None,
            Some(_) => continue,
            None if ["script", "style", "head"].contains(&name) && !closes => {
                hidden = Some(name);
                continue;
            }
            None => {}
        }
        let is_heading = matches!(name, "h1" | "h2" | "h3" | "h4" | "h5" | "h6");
        match name {
            "b" | "strong" | "em" | "i" | "a" | "span" | "sup" | "sub" | "code" => {}
            "td" | "th" if closes => text.push(' '),
            "td" | "th" => {}
            name if name.contains(':') && !["w:p", "a:p", "w:br", "a:br"].contains(&name) => {}
            _ => text.push('\n'),
        }
        if let (true, Some(start)) = (is_heading && closes, heading) {
            headings.push(text.get(start..).unwrap_or_default().trim().to_owned());
        }
        if is_heading {
            heading = (!closes).then_some(text.len());
        }
        let decode = |text: String, (name, sign): &(&str, &str)| text.replace(name, sign);
        text.push_str(&ENTITIES.iter().fold(words.to_owned(), decode));
    }
    (text, headings)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_read_without_tags_and_with_their_headings() {
        let page = "<!doctype html><html><head><title>T</title></head><body><style>h1 {}</style>\
            <h1>Key <b>figures</b></h1><p>3&nbsp;576&nbsp;500 &amp; <strong>55.9</strong>%</p>\
            <table><tr><td>East</td><td>1</td></tr></table><h2 class=\"x\">Regions</h2></body></html>";
        let product = ProductForm::Html.read_product(page.as_bytes()).unwrap();
        assert_eq!(product.headings, ["Key figures", "Regions"]);
        let text = product.text.unwrap();
        assert!(text.contains("3\u{a0}576\u{a0}500 & 55.9%") && text.contains("East 1"), "{text}");
        assert!(!text.contains("h1") && !text.contains('T'), "{text}");
        assert_eq!(product.raw, page);
    }

    #[test]
    fn headings_of_markdown_are_its_own() {
        let product = ProductForm::Md.read_product(b"# Summary\ntext\n\n## Figures\n").unwrap();
        assert_eq!(product.headings, ["# Summary", "## Figures"]);
        assert_eq!(ProductForm::Md.read_product(b"\xff\xfe"), None);
    }

    #[test]
    fn a_file_of_another_form_is_none() {
        for (form, bytes, is_one) in [
            (ProductForm::Pdf, &b"%PDF-1.7\n"[..], true),
            (ProductForm::Pdf, b"<html>", false),
            (ProductForm::Png, b"\x89PNG\r\n\x1a\n", true),
            (ProductForm::Png, b"", false),
            (ProductForm::Html, b"no page", false),
            (ProductForm::Docx, b"PK\x03\x04", false),
            (ProductForm::Csv, b"a,b\n1,2\n", true),
        ] {
            assert_eq!(form.read_product(bytes).is_some(), is_one, "{form:?}");
        }
    }

    #[test]
    fn runs_of_office_are_joined_and_paragraphs_parted() {
        let part = "<w:document><w:p><w:r><w:t>Where we </w:t></w:r><w:r><w:t>stand</w:t></w:r></w:p>\
            <w:p><w:r><w:t xml:space=\"preserve\">North fell.</w:t></w:r></w:p></w:document>";
        let (text, _) = read_markup(part);
        let lines: Vec<&str> = text.lines().filter(|line| !line.is_empty()).collect();
        assert_eq!(lines, ["Where we stand", "North fell."]);
    }
}
