//! Detects a page's charset: from the byte order mark, the server or the author, or else from the bytes.

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252};

/// Bytes at the beginning of a page searched for a charset declaration.
const HEAD_BYTES: usize = 4 * 1024;
/// Bytes sampled for a guess.
const GUESS_BYTES: usize = 64 * 1024;
/// A declared charset is accepted with at most 1 broken character in this many.
const FAULTS: usize = 50;
/// Maximum bytes of a character in any charset.
const CHARACTER_BYTES: usize = 4;

/// The decoded text of a page.
pub(crate) struct DecodedText {
    pub text: String,
    /// True if some bytes were invalid in every candidate charset.
    pub is_broken: bool,
}

/// Decodes bytes in the detected charset.
pub(crate) fn decode_text(content_type: Option<&str>, bytes: &[u8], is_cut: bool) -> DecodedText {
    if let Some((encoding, length)) = Encoding::for_bom(bytes) {
        let (text, is_broken) = decode_with(encoding, bytes.get(length..).unwrap_or(&[]), is_cut);
        return DecodedText { text, is_broken };
    }
    let by_server = content_type.and_then(|content_type| {
        let parameters = content_type.split(';').skip(1).filter_map(|pair| pair.split_once('='));
        let is_charset = |(name, _): &(&str, &str)| name.trim().eq_ignore_ascii_case("charset");
        let (_, label) = parameters.into_iter().find(is_charset)?;
        Encoding::for_label(label.trim().trim_matches(['"', '\'']).as_bytes())
    });
    // Text in another charset is almost never valid UTF-8, so the declaration is ignored.
    let is_utf8 = !bytes.is_ascii() && std::str::from_utf8(trim_end(bytes, is_cut)).is_ok();
    let first = match by_server {
        Some(encoding) if encoding == UTF_16BE || encoding == UTF_16LE => Some(encoding),
        _ if is_utf8 => Some(UTF_8),
        other => other,
    };
    let author = bytes.get(..HEAD_BYTES).unwrap_or(bytes);
    let mut best: Option<(String, usize)> = None;
    for encoding in [first, find_meta_charset(author), guess_utf16(author)].into_iter().flatten() {
        let (text, is_broken) = decode_with(encoding, bytes, is_cut);
        if !is_broken {
            return DecodedText { text, is_broken };
        }
        let faults = text.matches('\u{fffd}').count();
        if best.as_ref().is_none_or(|(_, fewest)| faults < *fewest) {
            best = Some((text, faults));
        }
    }
    match best {
        Some((text, faults)) if faults * FAULTS <= text.chars().count() => {
            DecodedText { text, is_broken: true }
        }
        Some(_) | None => {
            let (text, is_broken) = decode_with(guess_encoding(bytes), bytes, is_cut);
            DecodedText { text, is_broken }
        }
    }
}

fn decode_with(encoding: &'static Encoding, bytes: &[u8], is_cut: bool) -> (String, bool) {
    // A cut text may end inside a character.
    let bytes = if encoding == UTF_8 { trim_end(bytes, is_cut) } else { bytes };
    let (text, is_broken) = encoding.decode_without_bom_handling(bytes);
    let mut text = text.into_owned();
    if is_cut && text.ends_with('\u{fffd}') {
        text.pop();
        return (text.clone(), is_broken && text.contains('\u{fffd}'));
    }
    (text, is_broken)
}

/// Removes an incomplete UTF-8 character from the end of cut bytes.
fn trim_end(bytes: &[u8], is_cut: bool) -> &[u8] {
    let last = (1..=CHARACTER_BYTES.min(bytes.len())).filter(|_| is_cut).find(|back| {
        let byte = bytes.get(bytes.len() - back).copied().unwrap_or_default();
        byte & 0b1100_0000 != 0b1000_0000
    });
    let Some(back) = last else { return bytes };
    let (before, end) = bytes.split_at(bytes.len() - back);
    if std::str::from_utf8(end).is_ok() { bytes } else { before }
}

/// Returns the charset declared at the beginning of HTML or XML. A readable declaration excludes UTF-16.
fn find_meta_charset(head: &[u8]) -> Option<&'static Encoding> {
    let head = head.to_ascii_lowercase();
    let head = String::from_utf8_lossy(&head);
    let xml_encoding = head.trim_start().strip_prefix("<?xml").and_then(|rest| {
        let (declaration, _) = rest.split_once("?>")?;
        find_value(declaration, "encoding")
    });
    let meta = || {
        let tags = head.match_indices("<meta").filter_map(|(at, _)| head.get(at..));
        tags.filter_map(|tag| find_value(tag.split('>').next()?, "charset")).next()
    };
    let encoding = xml_encoding.or_else(meta)?;
    let is_wide = encoding == UTF_16BE || encoding == UTF_16LE;
    Some(if is_wide { UTF_8 } else { encoding })
}

/// Returns the encoding after `name` and `=`, quoted or unquoted.
fn find_value(text: &str, name: &str) -> Option<&'static Encoding> {
    let (_, rest) = text.split_once(name)?;
    let value = rest.trim_start().strip_prefix('=')?.trim_start().trim_start_matches(['"', '\'']);
    let end = value.find(|c: char| c.is_whitespace() || "\"';>/".contains(c));
    Encoding::for_label(value.get(..end.unwrap_or(value.len()))?.as_bytes())
}

/// Detects UTF-16 without a byte order mark in mostly western text: every other byte is null.
fn guess_utf16(head: &[u8]) -> Option<&'static Encoding> {
    let pairs = head.len() / 2;
    let nulls = |at: usize| head.iter().skip(at).step_by(2).filter(|byte| **byte == 0).count();
    match (nulls(0), nulls(1)) {
        (_, odd) if pairs >= 4 && odd * 4 > pairs * 3 => Some(UTF_16LE),
        (even, _) if pairs >= 4 && even * 4 > pairs * 3 => Some(UTF_16BE),
        _ => None,
    }
}

fn guess_encoding(bytes: &[u8]) -> &'static Encoding {
    if bytes.is_ascii() {
        return WINDOWS_1252;
    }
    // ASCII markup says nothing about the charset, and a sample far into the text takes long.
    let first = bytes.iter().position(|byte| !byte.is_ascii()).unwrap_or_default();
    let start = first.saturating_sub(1024);
    let sample = bytes.get(start..(start + GUESS_BYTES).min(bytes.len())).unwrap_or(bytes);
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
    detector.feed(sample, false);
    detector.guess(None, Utf8Detection::Allow)
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHINESE: &str = "热泵把低温环境中的热量传递到室内,比电暖器省电三倍。冬天也能用。";
    const JAPANESE: &str =
        "ヒートポンプは外の空気から熱を集めて部屋を暖めます。電気ストーブより省エネです。";
    const WESTERN: &str =
        "Wärmepumpen heizen Häuser, auch bei −20 °C – « très efficace » – für 4 €.";

    fn encode(label: &str, text: &str) -> Vec<u8> {
        match label {
            "utf-16le" => text.encode_utf16().flat_map(u16::to_le_bytes).collect(),
            "utf-16be" => text.encode_utf16().flat_map(u16::to_be_bytes).collect(),
            label => {
                let encoding = Encoding::for_label(label.as_bytes()).unwrap();
                encoding.encode(text).0.into_owned()
            }
        }
    }

    #[test]
    fn a_page_is_read_in_the_charset_that_it_has() {
        for (label, text) in [
            ("utf-8", CHINESE),
            ("utf-8", WESTERN),
            ("gbk", CHINESE),
            ("gb18030", CHINESE),
            ("big5", "熱泵把低溫環境中的熱量傳遞到室內"),
            ("shift_jis", JAPANESE),
            ("euc-jp", JAPANESE),
            ("windows-1252", WESTERN),
            (
                "windows-1251",
                "Тепловой насос переносит тепло с улицы в дом и тратит втрое меньше энергии. Он работает \
                 и зимой, когда на улице мороз.",
            ),
        ] {
            let text = text.replace('−', "-");
            let bytes = encode(label, &text);
            let server = format!("text/html; charset=\"{label}\"");
            let decoded = decode_text(Some(&server), &bytes, false);
            assert_eq!((&decoded.text, decoded.is_broken), (&text, false), "{label}");
            for meta in [
                format!("<!doctype html><META  charset={label}><p>"),
                format!("<meta http-equiv=content-type content='text/html; charset={label}'><p>"),
                format!("<?xml version='1.0' encoding='{label}'?><p>"),
            ] {
                let page = format!("{meta}{text}");
                let decoded = decode_text(Some("text/html"), &encode(label, &page), false);
                assert_eq!((decoded.text, decoded.is_broken), (page, false), "{label}");
            }
            let decoded = decode_text(None, &encode(label, &text.repeat(3)), false);
            assert_eq!(decoded.text, text.repeat(3), "{label} is guessed");
        }
    }

    #[test]
    fn utf_16_is_known_by_its_mark_its_server_or_its_nulls() {
        let western = "<p>A heat pump warms a house.</p>";
        for label in ["utf-16le", "utf-16be"] {
            for (text, server) in [
                (format!("\u{feff}{CHINESE}"), None),
                (CHINESE.to_owned(), Some(format!("text/html;charset={label}"))),
                (western.to_owned(), None),
            ] {
                let decoded = decode_text(server.as_deref(), &encode(label, &text), false);
                let expected = text.trim_start_matches('\u{feff}');
                assert_eq!((decoded.text.as_str(), decoded.is_broken), (expected, false));
            }
        }
        let named = b"<meta charset='utf-16'>plain";
        assert_eq!(decode_text(None, named, false).text, "<meta charset='utf-16'>plain");
    }

    #[test]
    fn a_server_that_names_another_charset_is_not_believed() {
        for (server, label, text) in [
            ("text/html; charset=iso-8859-1", "utf-8", CHINESE),
            ("text/html; charset=utf-8", "gbk", CHINESE),
            ("text/html; charset=utf-8", "shift_jis", JAPANESE),
            ("text/html; charset=none", "utf-8", CHINESE),
        ] {
            let decoded = decode_text(Some(server), &encode(label, text), false);
            assert_eq!((decoded.text.as_str(), decoded.is_broken), (text, false), "{server}");
        }
    }

    #[test]
    fn a_cut_end_is_no_fault_and_others_are() {
        let bytes = CHINESE.as_bytes();
        for end in 30..40 {
            let decoded = decode_text(Some("text/html; charset=utf-8"), &bytes[..end], true);
            assert!(!decoded.is_broken && CHINESE.starts_with(&decoded.text), "{}", decoded.text);
            assert_eq!(decoded.text.len(), end / 3 * 3, "{end}");
        }
        let mut broken = CHINESE.repeat(20).into_bytes();
        broken[31] = 0xff;
        let decoded = decode_text(Some("text/html; charset=utf-8"), &broken, false);
        assert!(decoded.is_broken, "{}", decoded.text);
        assert!(decoded.text.contains("省电三倍"), "{}", decoded.text);
        assert_eq!(decode_text(None, b"", false).text, "");
    }
}
