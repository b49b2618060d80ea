//! Encoded words (RFC 2047) in the file names of forms. .NET clients send encoded words where browsers send
//! UTF-8.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// Decodes the encoded words of a file name. A name without encoded words, or not in UTF-8, stays unchanged.
pub(super) fn decode_name(name: &str) -> String {
    decode_words(name).unwrap_or_else(|| name.to_owned())
}

fn decode_words(name: &str) -> Option<String> {
    // A long name consists of several words, and a character may be split between two words.
    let words = name.trim_matches('"').split_ascii_whitespace().map(decode_word);
    let bytes = words.collect::<Option<Vec<Vec<u8>>>>()?.concat();
    String::from_utf8(bytes).ok().filter(|name| !name.is_empty())
}

fn decode_word(word: &str) -> Option<Vec<u8>> {
    let (charset, encoded) = word.strip_prefix("=?")?.strip_suffix("?=")?.split_once('?')?;
    // A language may follow the charset (RFC 2231).
    let charset = charset.split('*').next().unwrap_or_default();
    if !["utf-8", "utf8", "us-ascii"].iter().any(|name| name.eq_ignore_ascii_case(charset)) {
        return None;
    }
    match encoded.split_once('?')? {
        ("B" | "b", text) => STANDARD.decode(text).ok(),
        ("Q" | "q", text) => decode_quoted(text),
        _ => None,
    }
}

fn decode_quoted(text: &str) -> Option<Vec<u8>> {
    let mut pieces = text.split('=');
    let mut bytes = pieces.next()?.replace('_', " ").into_bytes();
    for piece in pieces {
        let (digits, rest) = piece.split_at_checked(2)?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        bytes.extend(rest.replace('_', " ").bytes());
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encoded_words_are_decoded_and_other_names_stay() {
        for (name, decoded) in [
            ("=?utf-8?B?WsO8cmljaC5jc3Y=?=", "Zürich.csv"),
            ("\"=?UTF-8?B?5oql5ZGKLnBkZg==?=\"", "报告.pdf"),
            ("=?utf-8?Q?Z=C3=BCrich_2025.csv?=", "Zürich 2025.csv"),
            ("=?utf-8?B?5oql?= =?utf-8?B?5ZGKLnBkZg==?=", "报告.pdf"),
            ("=?utf-8*de?B?YS5jc3Y=?=", "a.csv"),
            ("报告.pdf", "报告.pdf"),
            ("=?what.csv", "=?what.csv"),
            ("=?gb2312?B?sai45i5wZGY=?=", "=?gb2312?B?sai45i5wZGY=?="),
            ("=?utf-8?B?!?=", "=?utf-8?B?!?="),
            ("=?utf-8?Q?=C3?=", "=?utf-8?Q?=C3?="),
            ("=?utf-8?Q?=ü?=", "=?utf-8?Q?=ü?="),
            ("", ""),
        ] {
            assert_eq!(decode_name(name), decoded, "{name}");
        }
    }
}
