//! Detects the kind of a page. The bytes take precedence over the server's `Content-Type`.

/// The way to process a page's bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PageKind {
    /// HTML: the main text is extracted.
    Html,
    /// Plain text, returned unchanged.
    Text,
    /// A document for the sandbox, with its media type and file extension.
    Document(&'static str, &'static str),
    /// Nothing readable, with the reason.
    Binary(&'static str),
}

/// The kind of a page; `is_other` is true if the server declared another kind.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct SniffedKind {
    pub kind: PageKind,
    pub is_other: bool,
}

/// Bytes at the beginning that are checked for signatures.
const SNIFFED: usize = 1024;
/// The signature of a PDF.
const PDF_MARK: &[u8] = b"%PDF-";
/// Bytes at either end of an archive searched for the part names of an office file.
const ARCHIVE_BYTES: usize = 64 * 1024;

/// The characteristic part of each office format, with the media type and file extension.
const OFFICE: [(&[u8], &str, &str); 3] = [
    (
        b"word/document.xml",
        "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
        "docx",
    ),
    (
        b"xl/workbook.xml",
        "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
        "xlsx",
    ),
    (
        b"ppt/presentation.xml",
        "application/vnd.openxmlformats-officedocument.presentationml.presentation",
        "pptx",
    ),
];

/// File signatures, with a description for the error message.
const MAGIC: [(&[u8], &str); 24] = [
    (b"\x89PNG\r\n", "an image"),
    (b"\xff\xd8\xff", "an image"),
    (b"GIF8", "an image"),
    (b"BM", "an image"),
    (b"II*\0", "an image"),
    (b"MM\0*", "an image"),
    (b"\0\0\x01\0", "an image"),
    (b"\x1f\x8b", "a compressed file"),
    (b"BZh", "a compressed file"),
    (b"\xfd7zXZ", "a compressed file"),
    (b"(\xb5/\xfd", "a compressed file"),
    (b"7z\xbc\xaf", "an archive"),
    (b"Rar!", "an archive"),
    (b"ID3", "a sound"),
    (b"OggS", "a sound or a film"),
    (b"fLaC", "a sound"),
    (b"\x1aE\xdf\xa3", "a film"),
    (b"wOFF", "a font"),
    (b"wOF2", "a font"),
    (b"\x7fELF", "a program"),
    (b"MZ\x90", "a program"),
    (b"\0asm", "a program"),
    (b"SQLite format 3", "a database"),
    (b"{\\rtf", "a document that cannot be read"),
];

/// Tags at the beginning of HTML, checked regardless of the declared type.
const HTML: [&str; 12] = [
    "<!doctype html",
    "<html",
    "<head",
    "<body",
    "<title",
    "<meta",
    "<script",
    "<div",
    "<table",
    "<p>",
    "<h1",
    "<main",
];

/// Media types of plain text, besides `text/*`.
const TEXT: [&str; 10] = [
    "application/json",
    "application/xml",
    "application/javascript",
    "application/x-javascript",
    "application/ecmascript",
    "application/yaml",
    "application/x-yaml",
    "application/toml",
    "application/x-ndjson",
    "application/sql",
];

/// Detects a page's kind from its bytes and the server's `Content-Type`.
pub(crate) fn sniff_kind(content_type: Option<&str>, bytes: &[u8]) -> SniffedKind {
    let media_type = content_type.and_then(|value| value.split(';').next()).unwrap_or_default();
    let media_type = media_type.trim().to_ascii_lowercase();
    let is_html_type = matches!(&*media_type, "text/html" | "application/xhtml+xml");
    let is_text_type = media_type.starts_with("text/")
        || media_type.ends_with("+json")
        || media_type.ends_with("+xml")
        || TEXT.contains(&&*media_type);
    let kind = sniff_bytes(bytes, is_html_type || is_text_type, is_html_type);
    let is_other = match kind {
        PageKind::Html => !is_html_type && !is_unsaid(&media_type),
        PageKind::Text => !is_text_type && !is_unsaid(&media_type),
        PageKind::Document(..) | PageKind::Binary(_) => is_text_type,
    };
    SniffedKind { kind, is_other }
}

fn is_unsaid(media_type: &str) -> bool {
    matches!(media_type, "" | "application/octet-stream" | "binary/octet-stream")
}

fn sniff_bytes(bytes: &[u8], is_text: bool, is_html: bool) -> PageKind {
    let start = bytes.get(..SNIFFED).unwrap_or(bytes);
    // Readers accept a PDF with other bytes before the signature. Text and markup count only if the signature
    // comes first.
    let content = start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(start).trim_ascii_start();
    let has_tag = content.starts_with(b"<");
    let has_mark = start.windows(PDF_MARK.len()).any(|window| window == PDF_MARK);
    if content.starts_with(PDF_MARK) || (has_mark && !has_tag && !is_text) {
        return PageKind::Document("application/pdf", "pdf");
    }
    if start.starts_with(b"PK\x03\x04") || start.starts_with(b"PK\x05\x06") {
        return office_kind(bytes);
    }
    if start.starts_with(&[0xd0, 0xcf, 0x11, 0xe0, 0xa1, 0xb1, 0x1a, 0xe1]) {
        return PageKind::Binary("an old or encrypted office file");
    }
    if start.get(4..8) == Some(b"ftyp") {
        return PageKind::Binary("a film or an image");
    }
    if start.starts_with(b"RIFF") && start.len() > 12 {
        let is_image = start.get(8..12) == Some(b"WEBP");
        return PageKind::Binary(if is_image { "an image" } else { "a sound or a film" });
    }
    // A text may begin with the letters of an ASCII signature.
    let is_sure = |magic: &[u8]| !magic.is_ascii() || has_nulls(start) || magic.starts_with(b"{");
    let signature = MAGIC.iter().find(|(magic, _)| start.starts_with(magic) && is_sure(magic));
    if let Some((_, what)) = signature {
        return PageKind::Binary(what);
    }
    if has_nulls(start) && !is_wide(start) {
        return PageKind::Binary("no text");
    }
    if starts_with_html(start) {
        return PageKind::Html;
    }
    // White space and the escape of terminals occur in texts.
    let has_controls = start.iter().any(|byte| matches!(byte, 0..=8 | 14..=26 | 28..=31));
    match (is_html, is_text) {
        (true, _) if start.contains(&b'<') || is_wide(start) => PageKind::Html,
        (_, true) => PageKind::Text,
        _ if has_controls => PageKind::Binary("no text"),
        _ => PageKind::Text,
    }
}

fn has_nulls(start: &[u8]) -> bool {
    start.contains(&0)
}

/// Returns true if the bytes may be UTF-16: by a byte order mark, or by nulls at only even or only odd
/// positions.
fn is_wide(start: &[u8]) -> bool {
    let has_mark = start.starts_with(&[0xff, 0xfe]) || start.starts_with(&[0xfe, 0xff]);
    let nulls = |at: usize| start.iter().skip(at).step_by(2).filter(|byte| **byte == 0).count();
    let even = nulls(0);
    let odd = nulls(1);
    has_mark || (even.min(odd) == 0 && even.max(odd) * 4 > start.len())
}

fn starts_with_html(start: &[u8]) -> bool {
    let text: String = String::from_utf8_lossy(start)
        .chars()
        .filter(|c| !matches!(c, '\0' | '\u{feff}' | '\u{fffd}'))
        .collect();
    let mut text = text.trim_start();
    if let Some((_, rest)) = text.strip_prefix("<?xml").and_then(|rest| rest.split_once("?>")) {
        text = rest.trim_start();
    }
    while let Some((_, rest)) = text.strip_prefix("<!--").and_then(|rest| rest.split_once("-->")) {
        text = rest.trim_start();
    }
    HTML.iter().any(|tag| {
        let has_tag = text.get(..tag.len()).is_some_and(|prefix| prefix.eq_ignore_ascii_case(tag));
        let after = text.get(tag.len()..).and_then(|rest| rest.chars().next());
        has_tag && (tag.ends_with('>') || after.is_none_or(|c| !c.is_ascii_alphanumeric()))
    })
}

/// Detects the office format of an archive by the part names, which are at either end.
fn office_kind(bytes: &[u8]) -> PageKind {
    let start = bytes.get(..ARCHIVE_BYTES).unwrap_or(bytes);
    let end = bytes.get(bytes.len().saturating_sub(ARCHIVE_BYTES)..).unwrap_or(bytes);
    let has_part = |part: &[u8]| {
        let is_in = |bytes: &[u8]| bytes.windows(part.len()).any(|window| window == part);
        is_in(start) || is_in(end)
    };
    let office = OFFICE.iter().find(|(part, ..)| has_part(part));
    match office {
        Some((_, media_type, ending)) => PageKind::Document(media_type, ending),
        None => PageKind::Binary("an archive"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PDF: PageKind = PageKind::Document("application/pdf", "pdf");

    fn sniff(content_type: &str, bytes: &[u8]) -> (PageKind, bool) {
        let found = sniff_kind(Some(content_type).filter(|value| !value.is_empty()), bytes);
        (found.kind, found.is_other)
    }

    #[test]
    fn bytes_are_believed_before_the_server() {
        let utf16: Vec<u8> = "<html><p>A".encode_utf16().flat_map(u16::to_le_bytes).collect();
        for (content_type, bytes, kind, is_other) in [
            ("text/html", "<p>a".as_bytes(), PageKind::Html, false),
            ("text/html; charset=x", b"no markup", PageKind::Text, false),
            ("text/html", b"\n<!-- c -->\n<!DOCTYPE html><p>a", PageKind::Html, false),
            ("text/html;charset=utf-16", &utf16, PageKind::Html, false),
            ("", b"<?xml version='1.0'?>\n<html>", PageKind::Html, false),
            ("application/xhtml+xml", b"<x/>", PageKind::Html, false),
            ("text/plain", b"<!doctype HTML>", PageKind::Html, true),
            ("application/json", b"  <html lang=en>", PageKind::Html, true),
            ("image/png", b"<html>", PageKind::Html, true),
            ("application/json", b"{}", PageKind::Text, false),
            ("application/ld+json", b"{}", PageKind::Text, false),
            ("application/rss+xml", b"<rss>", PageKind::Text, false),
            ("text/csv", b"a,b\n1,2", PageKind::Text, false),
            ("text/x-rust", b"fn main() {}", PageKind::Text, false),
            ("application/octet-stream", b"plain", PageKind::Text, false),
            ("image/png", b"BMW is a car maker", PageKind::Text, true),
            ("application/x-thing", b"plain \xe4", PageKind::Text, true),
            ("application/pdf", b"%PDF-1.7", PDF, false),
            ("text/html", b"\n%PDF-1.7", PDF, true),
            ("text/plain", b"\xef\xbb\xbf\n%PDF-1.7", PDF, true),
            ("", b"junk %PDF-1.7", PDF, false),
            ("application/pdf", b"junk %PDF-1.7", PDF, false),
            ("text/html", b"<p>%PDF-1.7", PageKind::Html, false),
            ("text/plain", b"A PDF begins with %PDF-1.7", PageKind::Text, false),
            ("application/json", b"{\"magic\": \"%PDF-\"}", PageKind::Text, false),
            ("image/png", b"\x89PNG\r\n\x1a\n", PageKind::Binary("an image"), false),
            ("text/html", b"\x89PNG\r\n\x1a\n", PageKind::Binary("an image"), true),
            ("", b"RIFF\0\0\0\0WEBPVP8 ", PageKind::Binary("an image"), false),
            ("", b"\0\0\0 ftypisom", PageKind::Binary("a film or an image"), false),
            ("", b"\x1f\x8b\x08abc", PageKind::Binary("a compressed file"), false),
            ("", b"PK\x03\x04 mimetype", PageKind::Binary("an archive"), false),
            ("text/plain", b"a\0b\0\0c", PageKind::Binary("no text"), true),
            ("", b"a\x01b\x02", PageKind::Binary("no text"), false),
            ("", b"", PageKind::Text, false),
        ] {
            let shown = String::from_utf8_lossy(bytes);
            assert_eq!(sniff(content_type, bytes), (kind, is_other), "{content_type} {shown}");
        }
    }

    #[test]
    fn office_files_are_known_by_their_parts() {
        for (part, _, ending) in OFFICE {
            for gap in [0, 200_000] {
                let archive = [b"PK\x03\x04", vec![1; gap].as_slice(), part].concat();
                let (kind, _) = sniff("application/zip", &archive);
                assert!(
                    matches!(kind, PageKind::Document(_, found) if found == ending),
                    "{kind:?}"
                );
            }
        }
        let old = [0xd0, 0xcf, 0x11, 0xe0, 0xa1, 0xb1, 0x1a, 0xe1];
        let kind = PageKind::Binary("an old or encrypted office file");
        assert_eq!(sniff("application/msword", &old), (kind, false));
    }
}
