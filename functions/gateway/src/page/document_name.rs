//! File names for downloaded documents.

use djinn_core::id::FileName;
use percent_encoding::percent_decode_str;
use url::Url;

/// Maximum length of a name without its extension, in bytes.
const MAX_NAME: usize = 80;

/// Returns a document's name from the server, or else from the URL, with the extension of its type.
pub(crate) fn name_document(disposition: Option<&str>, url: &Url, ending: &str) -> String {
    let by_server = disposition.and_then(parse_disposition);
    let by_url = || {
        let last = url.path_segments()?.rfind(|segment| !segment.is_empty())?;
        Some(percent_decode_str(last).decode_utf8_lossy().into_owned())
    };
    let name = by_server.or_else(by_url).unwrap_or_default();
    let name = name.rsplit(['/', '\\']).next().unwrap_or_default();
    let stem = match name.rsplit_once('.') {
        Some((stem, end)) if end.eq_ignore_ascii_case(ending) => stem,
        Some(_) | None => name,
    };
    let is_plain = |c: char| c.is_alphanumeric() || "-_. ()".contains(c);
    let stem: String = stem.chars().map(|c| if is_plain(c) { c } else { '_' }).collect();
    let stem = stem.trim_matches(['.', ' ', '_']);
    let stem = stem.get(..stem.floor_char_boundary(MAX_NAME)).unwrap_or_default();
    let name = format!("{}.{ending}", if stem.is_empty() { "document" } else { stem });
    if FileName::new(&name).is_ok() { name } else { format!("document.{ending}") }
}

/// Returns the file name of a `Content-Disposition`; `filename*` takes precedence.
fn parse_disposition(value: &str) -> Option<String> {
    let find = |parameter: &str| {
        let pairs = value.split(';').filter_map(|pair| pair.split_once('='));
        let mut matches = pairs.filter(|(name, _)| name.trim().eq_ignore_ascii_case(parameter));
        matches.next().map(|(_, value)| value.trim().trim_matches('"').to_owned())
    };
    let long_name = find("filename*").and_then(|value| {
        let (_, encoded) = value.split_once("''")?;
        Some(percent_decode_str(encoded).decode_utf8().ok()?.into_owned())
    });
    long_name.or_else(|| find("filename")).filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_is_called_what_its_server_or_its_url_says() {
        for (disposition, url, name) in [
            (None, "/reports/2024.pdf", "2024.pdf"),
            (None, "/reports/2024.PDF?x=1", "2024.pdf"),
            (None, "/download", "download.pdf"),
            (None, "/%E7%83%AD%E6%B3%B5.pdf", "热泵.pdf"),
            (None, "/a/", "a.pdf"),
            (None, "/", "document.pdf"),
            (None, "/..%2f..%2fetc", "etc.pdf"),
            (Some("attachment; filename=\"a b.pdf\""), "/x", "a b.pdf"),
            (Some("attachment; filename=a.pdf; filename*=UTF-8''%E7%83%AD.pdf"), "/x", "热.pdf"),
            (Some("attachment; filename=\"../../a\u{7}<b>.pdf\""), "/x", "a__b.pdf"),
            (Some("inline"), "/x.pdf", "x.pdf"),
            (Some("attachment; filename=\"\""), "/x.pdf", "x.pdf"),
        ] {
            let url = Url::parse(&format!("https://example.com{url}")).unwrap();
            assert_eq!(name_document(disposition, &url, "pdf"), name, "{disposition:?} {url}");
        }
        let long = Url::parse(&format!("https://example.com/{}", "热".repeat(100))).unwrap();
        assert!(name_document(None, &long, "docx").len() < 100);
    }
}
