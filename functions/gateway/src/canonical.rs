//! Canonical URLs, for recognizing two URLs of the same page.

use url::Url;

/// Query parameters for tracking, dropped from canonical URLs; so are all parameters beginning with `utm_`.
const TRACKERS: [&str; 20] = [
    "_ga",
    "_gl",
    "dclid",
    "fbclid",
    "gad_source",
    "gbraid",
    "gclid",
    "gclsrc",
    "igshid",
    "mc_cid",
    "mc_eid",
    "mkt_tok",
    "msclkid",
    "ref_src",
    "scid",
    "spm",
    "srsltid",
    "twclid",
    "wbraid",
    "yclid",
];

/// Returns the canonical form of an http or https URL, equal for all URLs of a page; `None` for other URLs.
pub(crate) fn canonicalize_url(url: &Url) -> Option<String> {
    let host = url.host_str().filter(|_| matches!(url.scheme(), "http" | "https"))?;
    let host = host.trim_end_matches('.');
    let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
    let path = url.path().trim_end_matches('/');
    let is_kept = |pair: &&str| {
        let name = pair.split('=').next().unwrap_or_default().to_ascii_lowercase();
        !pair.is_empty() && !name.starts_with("utm_") && !TRACKERS.contains(&&*name)
    };
    let query: Vec<_> = url.query().unwrap_or_default().split('&').filter(is_kept).collect();
    let mark = if query.is_empty() { "" } else { "?" };
    Some(format!("{host}{port}{path}{mark}{}", query.join("&")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn canonicalize(url: &str) -> Option<String> {
        canonicalize_url(&Url::parse(url).unwrap())
    }

    #[test]
    fn ways_to_write_one_page_are_one() {
        for url in [
            "https://example.com/a/b?x=1&y=2",
            "https://EXAMPLE.com/a/b?x=1&y=2",
            "http://example.com:80/a/b?x=1&y=2",
            "https://example.com:443/a/b/?x=1&y=2",
            "https://example.com./a/b?x=1&y=2#part",
            "https://example.com/a/b?utm_source=x&x=1&y=2&UTM_medium=z",
            "https://example.com/a/b?fbclid=IwAR0&x=1&y=2&gclid=1&srsltid=q",
            "https://example.com/a/./b?x=1&&y=2#:~:text=heat",
            "https://example.com/c/../a/b?x=1&y=2",
        ] {
            assert_eq!(canonicalize(url).as_deref(), Some("example.com/a/b?x=1&y=2"), "{url}");
        }
        assert_eq!(
            canonicalize("https://example.com"),
            canonicalize("http://example.com/?utm_id=1")
        );
    }

    #[test]
    fn other_pages_are_others() {
        let urls = [
            "https://example.com/a",
            "https://example.com/A",
            "https://www.example.com/a",
            "https://example.com:8443/a",
            "https://example.com/a?x=1",
            "https://example.com/a?x=2",
            "https://example.com/a?y=1",
            "https://example.com/a?utm",
            "https://example.com/a/b",
        ];
        let found: std::collections::BTreeSet<_> =
            urls.iter().map(|url| canonicalize(url).unwrap()).collect();
        assert_eq!(found.len(), urls.len(), "{found:?}");
        assert_eq!(canonicalize("ftp://example.com/a"), None);
        assert_eq!(canonicalize("data:text/html,x"), None);
    }
}
