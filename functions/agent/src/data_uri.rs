//! `data:` URIs (RFC 2397), each with the content of a file.

use data_url::DataUrl;

/// The default media type.
const DEFAULT_TYPE: &str = "text/plain";

/// The content of a `data:` URI.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct DataUri {
    /// The media type in lowercase, without parameters; `None` if absent.
    pub(crate) media_type: Option<String>,
    pub(crate) bytes: Vec<u8>,
}

/// Returns true if a URI has the scheme `data:`.
pub(crate) fn is_data_uri(uri: &str) -> bool {
    uri.get(..5).is_some_and(|scheme| scheme.eq_ignore_ascii_case("data:"))
}

impl DataUri {
    /// Parses a URI accepted by [`is_data_uri`].
    ///
    /// # Errors
    /// Returns the problem as the end of a sentence about the URI.
    pub(crate) fn parse(uri: &str) -> Result<Self, &'static str> {
        // The standard drops these characters, or all data after them.
        if uri.contains(['#', '\t', '\n', '\r']) {
            return Err("holds a `#`, a tab or a line break: percent-encode it");
        }
        let url = DataUrl::process(uri)
            .map_err(|_| "is a `data:` URI without a comma before its data")?;
        let media_type = uri.get(5..).and_then(|rest| rest.split([';', ',']).next());
        let media_type = media_type.map(|it| it.trim().to_ascii_lowercase());
        let media_type = media_type.filter(|it| !it.is_empty());
        if !media_type.as_deref().is_none_or(is_media_type) {
            return Err("is a `data:` URI of no media type, such as `image/png`");
        }
        let decoded = url.decode_to_vec();
        let (bytes, _) = decoded.map_err(|_| "holds base64 that is broken or cut off")?;
        if bytes.is_empty() { Err("holds an empty file") } else { Ok(Self { media_type, bytes }) }
    }

    /// Returns the URI's media type, else `fallback`, else the default.
    pub(crate) fn media_type_or<'a>(&'a self, fallback: Option<&'a str>) -> &'a str {
        self.media_type.as_deref().or(fallback).unwrap_or(DEFAULT_TYPE)
    }
}

/// Returns true if a text has the form of a media type.
pub(crate) fn is_media_type(text: &str) -> bool {
    let is_word = |word: &str| {
        let is_plain = |c: u8| c.is_ascii_alphanumeric() || b"!#$&-^_.+".contains(&c);
        (1..=127).contains(&word.len()) && word.bytes().all(is_plain)
    };
    text.split_once('/').is_some_and(|(kind, name)| is_word(kind) && is_word(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_uri_holds_is_read_in_all_of_its_forms() {
        for (uri, media_type, bytes) in [
            ("data:text/csv;base64,YSxi", Some("text/csv"), "a,b"),
            ("DATA:Text/CSV;Base64,YSxi", Some("text/csv"), "a,b"),
            ("data:;base64,YSxiYw==", None, "a,bc"),
            ("data:;base64,YSxiYw", None, "a,bc"),
            ("data:;base64,YSxiYw%3D%3D", None, "a,bc"),
            ("data:;base64,YS xi", None, "a,b"),
            ("data:,a%2Cb", None, "a,b"),
            ("data:,a b%0Ac%23%", None, "a b\nc#%"),
            ("data:text/plain;charset=utf-8,%E9%87%91,x", Some("text/plain"), "金,x"),
            ("data:text/plain;charset=utf-8;base64,6YeR", Some("text/plain"), "金"),
            ("data:text/x-base64,YSxi", Some("text/x-base64"), "YSxi"),
        ] {
            let read = DataUri::parse(uri).unwrap();
            assert_eq!(read.media_type.as_deref(), media_type, "{uri}");
            assert_eq!(read.bytes, bytes.as_bytes(), "{uri}");
        }
    }

    #[test]
    fn what_is_broken_is_said() {
        for (uri, problem) in [
            ("data:text/csv;base64", "without a comma"),
            ("data:csv,a", "of no media type"),
            ("data:text/c sv,a", "of no media type"),
            ("data:text/csv;base64,YSx*", "base64"),
            ("data:text/csv;base64,YSxiY", "base64"),
            ("data:text/csv;base64,YS\nxi", "percent-encode"),
            ("data:text/csv,a\nb", "percent-encode"),
            ("data:text/plain,C#", "percent-encode"),
            ("data:text/csv,", "an empty file"),
            ("data:text/csv;base64,", "an empty file"),
        ] {
            let found = DataUri::parse(uri).unwrap_err();
            assert!(found.contains(problem), "{uri}: {found}");
        }
        for other in ["", "dat", "data", "datum:,a", "金金:,a"] {
            assert!(!is_data_uri(other), "{other}");
        }
    }
}
