//! Serves files to browsers so that text by models or other users never executes.
//!
//! A presigned URL carries no policy, so only types that no browser executes are read from the bucket
//! directly.

use axum::http::header::{
    CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName,
    HeaderValue, REFERRER_POLICY, VARY, X_CONTENT_TYPE_OPTIONS, X_DNS_PREFETCH_CONTROL,
};
use axum::response::{IntoResponse, Response};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use djinn_core::file::media_type_of;
use djinn_core::id::FileName;
use djinn_runtime::port::file_url::Disposition;
use minijinja::HtmlEscape;

/// Bytes at the beginning of a file for detecting pages.
pub(super) const SNIFFED_BYTES: u64 = 2 * 1024;

/// Maximum size of a file shown through the function; larger files are downloaded. In base64, as for
/// drawings, the size stays below Lambda's limit of 20 MB per stream.
pub(super) const MAX_SHOWN_BYTES: u64 = 12 * 1024 * 1024;

const HTML: &str = "text/html";
const SVG: &str = "image/svg+xml";
const TEXT: &str = "text/plain";

/// Types that browsers show without executing anything, or download.
const PASSIVE_TYPES: [&str; 15] = [
    TEXT,
    "text/markdown",
    "text/csv",
    "application/json",
    "application/yaml",
    "application/pdf",
    "image/png",
    "image/jpeg",
    "image/gif",
    "image/webp",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "application/vnd.openxmlformats-officedocument.presentationml.presentation",
    "application/zip",
    "application/octet-stream",
];

/// The policy against loading, executing and submitting anything; `sandbox` also stops redirections by
/// `meta`.
const STRICT_POLICY: &str = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; font-src data:; \
    base-uri 'none'; form-action 'none'; sandbox";

/// The policy for pages accepted by [`is_rendered`]: the deck's script turns slides, and links to sources
/// open on click. The hash is the hash of `_SCRIPT` in `functions/sandbox/python/render_deck.py`.
const RENDERED_POLICY: &str = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; font-src data:; \
    base-uri 'none'; form-action 'none'; script-src 'sha256-1y0+tJy6HhnGr1PzTP3YkhKCKE1fknjuDbQKvrimwRc='; \
    sandbox allow-scripts allow-popups allow-popups-to-escape-sandbox";

/// The only `meta` elements of a rendered page.
const RENDERED_METAS: [&str; 3] = [
    "<meta http-equiv=\"content-security-policy\" content=\"",
    "<meta charset=\"utf-8\">",
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">",
];

/// HTML names that make a browser connect to a host in spite of a policy, or leave the page. Chromium 156
/// resolves the host of a blocked frame and connects.
const CONNECTING_NAMES: [&str; 4] = ["<link", "<iframe", "<frame", "http-equiv"];

/// The form for showing a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Presentation {
    /// Read from the bucket with this type.
    FromBucket(&'static str),
    /// Sent by the function with this type, because the content contradicts the type.
    Guarded(&'static str),
    /// An HTML page, served by the function.
    Page,
    /// An SVG drawing, served by the function.
    Drawing,
}

impl Presentation {
    /// Chooses the form by the file's name, stored type and first [`SNIFFED_BYTES`].
    pub(super) fn of(name: &str, stored_type: &str, start: &[u8]) -> Self {
        let types = [media_type_of(name), stored_type];
        if types.iter().any(|media_type| is_type(media_type, HTML)) {
            return Self::Page;
        }
        if types.iter().any(|media_type| is_type(media_type, SVG)) {
            return Self::Drawing;
        }
        let passive = types.map(|media_type| {
            PASSIVE_TYPES.into_iter().find(|passive| is_type(media_type, passive))
        });
        // All other types are shown as source: XML with style sheets, XHTML, MathML, page archives.
        let media_type = match passive {
            [Some(_), Some(stored)] => stored,
            _ => TEXT,
        };
        if is_markup(start) { Self::Guarded(media_type) } else { Self::FromBucket(media_type) }
    }

    /// Returns the response with the whole file. `wants_page` is true if a browser shows the file as a page,
    /// not inside a page.
    pub(super) fn respond(self, name: &FileName, content: Vec<u8>, wants_page: bool) -> Response {
        match self {
            Self::FromBucket(media_type) | Self::Guarded(media_type) => {
                respond_with(name, media_type, STRICT_POLICY, content)
            }
            Self::Page => {
                let page = String::from_utf8_lossy(&content);
                if is_rendered(&page) {
                    respond_with(name, HTML, RENDERED_POLICY, page.into_owned().into_bytes())
                } else {
                    respond_with(name, HTML, STRICT_POLICY, disconnect_page(&page).into_bytes())
                }
            }
            // As an image, a drawing loads and executes nothing; as a document, a drawing may contain HTML
            // elements.
            Self::Drawing if wants_page => respond_with(
                name,
                HTML,
                STRICT_POLICY,
                frame_drawing(name.as_str(), &content).into_bytes(),
            ),
            Self::Drawing => respond_with(name, SVG, STRICT_POLICY, content),
        }
    }
}

fn respond_with(
    name: &FileName,
    media_type: &str,
    policy: &'static str,
    content: Vec<u8>,
) -> Response {
    let is_text = media_type.starts_with("text/");
    let content_type =
        if is_text { format!("{media_type}; charset=utf-8") } else { media_type.to_owned() };
    let static_header =
        |header: HeaderName, value: &'static str| (header, HeaderValue::from_static(value));
    let headers = [
        static_header(CONTENT_SECURITY_POLICY, policy),
        static_header(X_CONTENT_TYPE_OPTIONS, "nosniff"),
        static_header(X_DNS_PREFETCH_CONTROL, "off"),
        static_header(REFERRER_POLICY, "no-referrer"),
        static_header(CACHE_CONTROL, "no-store"),
        static_header(VARY, "accept"),
    ];
    let file_headers =
        [(CONTENT_TYPE, content_type), (CONTENT_DISPOSITION, Disposition::Inline.to_header(name))];
    (file_headers, headers, content).into_response()
}

fn is_type(media_type: &str, name: &str) -> bool {
    let essence = media_type.split(';').next().unwrap_or_default();
    essence.trim().eq_ignore_ascii_case(name)
}

/// Returns true if the content begins as HTML or XML, in UTF-8 or UTF-16.
fn is_markup(start: &[u8]) -> bool {
    let is_ignored = |byte: &u8| {
        byte.is_ascii_whitespace() || matches!(byte, 0 | 0xbb | 0xbf | 0xef | 0xfe | 0xff)
    };
    let mut solid = start.iter().filter(|byte| **byte != 0).skip_while(|byte| is_ignored(byte));
    let is_tag = |byte: &u8| byte.is_ascii_alphabetic() || matches!(byte, b'!' | b'?' | b'/');
    solid.next() == Some(&b'<') && solid.next().is_some_and(is_tag)
}

/// Returns true if a page has the frame of `report_tool`'s pages, and nothing outside the policy's control.
/// Excluded are redirections, elements with connections, and scripts with attributes, because `integrity`
/// would allow loading. A page that imitates the frame gains nothing else.
fn is_rendered(page: &str) -> bool {
    let page = page.to_ascii_lowercase();
    let count = |part: &str| page.matches(part).count();
    page.starts_with("<!doctype html>\n<html ")
        && count("<meta") == RENDERED_METAS.len()
        && RENDERED_METAS.iter().all(|meta| count(meta) == 1)
        && !["<link", "<iframe", "<frame"].iter().any(|name| page.contains(name))
        && count("<script") <= 1
        && count("<script") == count("<script>")
}

/// Returns a page with all [`CONNECTING_NAMES`] disabled.
fn disconnect_page(page: &str) -> String {
    let lower = page.to_ascii_lowercase();
    let mut output = String::with_capacity(page.len());
    let mut copied_end = 0;
    for (at, _) in lower.match_indices(['<', 'h']) {
        let rest = lower.get(at..).unwrap_or_default();
        if CONNECTING_NAMES.iter().any(|name| rest.starts_with(name)) {
            let end = at + usize::from(rest.starts_with('<'));
            output.push_str(page.get(copied_end..end).unwrap_or_default());
            output.push_str("x-");
            copied_end = end;
        }
    }
    output.push_str(page.get(copied_end..).unwrap_or_default());
    output
}

/// Returns a page with a drawing as an image.
fn frame_drawing(name: &str, content: &[u8]) -> String {
    let name = HtmlEscape(name);
    let content = STANDARD.encode(content);
    format!(
        "<!DOCTYPE html>\n<html><head><meta charset=\"utf-8\"><title>{name}</title></head>\
         <body><img alt=\"{name}\" style=\"max-width:100%\" src=\"data:{SVG};base64,{content}\"></body></html>\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str =
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../sandbox/python/render_deck.py"));

    #[test]
    fn script_hash_is_that_of_the_deck_script() {
        let script =
            SOURCE.split_once("_SCRIPT = \"\"\"").unwrap().1.split_once("\"\"\"").unwrap().0;
        let digest = <sha2::Sha256 as sha2::Digest>::digest(script);
        let source = format!("script-src 'sha256-{}';", STANDARD.encode(digest));
        assert!(RENDERED_POLICY.contains(&source), "{source}");
    }

    #[test]
    fn only_passive_types_are_read_from_the_bucket() {
        use Presentation::{Drawing, FromBucket, Guarded, Page};
        let csv = "text/csv";
        for (name, stored_type, start, presentation) in [
            ("a.csv", csv, "a,b", FromBucket(csv)),
            ("a.csv", csv, "<html>", Guarded(csv)),
            ("a.csv", csv, "\u{feff} <?xml", Guarded(csv)),
            ("a.csv", csv, "<\0h\0t\0m\0l\0", Guarded(csv)),
            ("a.csv", csv, "< 5", FromBucket(csv)),
            ("a.csv", "Text/CSV; charset=gbk", "a,b", FromBucket(csv)),
            ("a.csv", "text/html", "a,b", Page),
            ("a.html", "text/plain", "", Page),
            ("a.HTM", "text/html", "", Page),
            ("page", "TEXT/HTML;charset=utf-8", "", Page),
            ("a.svg", "image/svg+xml", "<svg", Drawing),
            ("a.png", "image/svg+xml", "", Drawing),
            ("a.png", "image/png", "\u{89}PNG", FromBucket("image/png")),
            ("a.xml", "application/xml", "plain", FromBucket(TEXT)),
            ("a.xml", "application/xml", "<?xml", Guarded(TEXT)),
            ("a.xhtml", "application/xhtml+xml", "<html", Guarded(TEXT)),
            ("a.mht", "multipart/related", "MIME-Version", FromBucket(TEXT)),
            ("a.mml", "application/mathml+xml", "<math", Guarded(TEXT)),
            ("a.xsl", "text/xsl", "", FromBucket(TEXT)),
            ("a.bin", "", "", FromBucket(TEXT)),
            ("a.bin", "*/*", "<p>", Guarded(TEXT)),
            ("a.pdf", "application/pdf", "%PDF-1.7", FromBucket("application/pdf")),
            (
                "a.svgz",
                "application/octet-stream",
                "\u{1f}",
                FromBucket("application/octet-stream"),
            ),
        ] {
            let found = Presentation::of(name, stored_type, start.as_bytes());
            assert_eq!(found, presentation, "{name} {stored_type} {start:?}");
        }
    }

    #[test]
    fn elements_that_connect_are_disconnected() {
        for (page, disconnected) in [
            ("<p>plain & <b>text</b></p>", "<p>plain & <b>text</b></p>"),
            ("<link rel=preconnect>", "<x-link rel=preconnect>"),
            ("é<LINK rel=x><Link>", "é<x-LINK rel=x><x-Link>"),
            ("<iframe srcdoc='<link>'>", "<x-iframe srcdoc='<x-link>'>"),
            ("<frameset><frame src=x>", "<x-frameset><x-frame src=x>"),
            ("<meta HTTP-EQUIV=refresh>", "<meta x-HTTP-EQUIV=refresh>"),
            ("<<link", "<<x-link"),
            ("<l\u{130}nk> <lin\u{212a}", "<l\u{130}nk> <lin\u{212a}"),
        ] {
            assert_eq!(disconnect_page(page), disconnected);
        }
    }

    #[test]
    fn rendered_pages_are_recognised_and_nothing_that_could_connect_is() {
        let page = |attributes: &str, body: &str| {
            format!(
                "<!DOCTYPE html>\n<html {attributes}lang=\"en\">\n<head>\n\
                 <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'\">\n\
                 <meta charset=\"utf-8\">\n\
                 <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
                 <title>T</title>\n</head>\n<body>{body}</body>\n</html>\n"
            )
        };
        let deck =
            page("class=\"djinn-deck\" ", "<div class=\"djinn-slide\"></div><script>go()</script>");
        assert!(is_rendered(&deck) && is_rendered(&page("", "<p>&lt;link http-equiv</p>")));
        for body in [
            "<meta http-equiv=refresh content='0;url=https://evil.test'>",
            "<META NAME=x>",
            "<link rel=preconnect href=https://evil.test>",
            "<iframe src=https://evil.test>",
            "<FRAMESET>",
            "<script src=https://evil.test integrity=sha256-x></script>",
            "<script\nsrc=https://evil.test></script>",
            "<svg><script href=https://evil.test /></svg>",
            "<script>1</script><script>2</script>",
        ] {
            assert!(!is_rendered(&page("", body)), "{body}");
        }
        assert!(!is_rendered("<p>T</p>") && !is_rendered(&format!(" {deck}")));
        assert!(!is_rendered(&deck.replace("charset=\"utf-8\"", "charset=\"utf-7\"")));
    }
}
