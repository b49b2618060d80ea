//! Restricts a laptop's system to the laptop's own pages.
//!
//! Any client that can connect acts as the user, and so does every page in the user's browser. Only the
//! browser's headers (`Host`, `Origin`, `Sec-Fetch-Site`) distinguish pages, and no page can change these
//! headers. Clients other than browsers can send any headers.

mod origins;

use axum::http::header::{HOST, HeaderName, HeaderValue, ORIGIN, REFERER};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method};
use djinn_core::error_code::{ErrorCode, Failure};

pub use origins::LocalOrigins;

const SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
const MODE: HeaderName = HeaderName::from_static("sec-fetch-mode");
const DESTINATION: HeaderName = HeaderName::from_static("sec-fetch-dest");

/// Maximum length of a host or origin in an error, in characters.
const MAX_EXCERPT: usize = 100;

/// Rejects a request from another site's page, or with another host name.
pub(crate) fn check_origin(parts: &Parts, origins: &LocalOrigins) -> Result<(), Failure> {
    let headers = &parts.headers;
    // DNS rebinding: a foreign name for this machine would make foreign pages look local.
    if let Some(host) = headers.get_all(HOST).iter().find(|host| !origins.accepts_host(host)) {
        return Err(Failure::new(ErrorCode::HostRefused, header_excerpt(host)));
    }
    if ["same-origin", "none"].iter().any(|site| has_header(headers, &SITE, site)) {
        return Ok(());
    }
    let stranger = headers.get_all(ORIGIN).iter().find(|origin| !origins.accepts_origin(origin));
    if let Some(origin) = stranger {
        return Err(Failure::new(ErrorCode::OriginRefused, header_excerpt(origin)));
    }
    // A user followed a link in a tab.
    let is_link_followed = || {
        [Method::GET, Method::HEAD].contains(&parts.method)
            && has_header(headers, &MODE, "navigate")
            && has_header(headers, &DESTINATION, "document")
    };
    // A frame in an accepted page sends no origin.
    let is_own_page = |page| origins.accepts_page(page);
    let is_ours = || headers.contains_key(ORIGIN) || headers.get(REFERER).is_some_and(is_own_page);
    if has_header(headers, &SITE, "cross-site") && !is_link_followed() && !is_ours() {
        return Err(Failure::new(ErrorCode::OriginRefused, "another site"));
    }
    Ok(())
}

fn has_header(headers: &HeaderMap, name: &HeaderName, word: &str) -> bool {
    headers.get(name).is_some_and(|value| value == word)
}

fn header_excerpt(value: &HeaderValue) -> String {
    String::from_utf8_lossy(value.as_bytes()).chars().take(MAX_EXCERPT).collect()
}

#[cfg(test)]
mod tests {
    use axum::http::Request;

    use super::*;

    /// Returns the error for a request with these headers; the default host is `127.0.0.1:9000`.
    fn checked(method: &str, headers: &[(&str, &str)]) -> Result<(), String> {
        let origins = |name: &str| {
            (name == "DJINN_LOCAL_ORIGINS").then(|| "https://chat.example.org".to_owned())
        };
        let origins = LocalOrigins::from_vars(&origins).unwrap();
        let mut request = Request::builder().method(method).uri("/runs");
        if !headers.iter().any(|(name, _)| *name == "host") {
            request = request.header("host", "127.0.0.1:9000");
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let parts = request.body(()).unwrap().into_parts().0;
        check_origin(&parts, &origins)
            .map_err(|failure| format!("{} {}", failure.code.as_str(), failure.detail))
    }

    fn refused(code: &str, detail: &str) -> Result<(), String> {
        Err(format!("{code} {detail}"))
    }

    #[test]
    fn it_answers_under_names_that_lead_to_this_machine_and_named_ones() {
        for good in ["localhost", "localhost:9000", "127.0.0.1", "[::1]:9000", "LOCALHOST:1"] {
            assert_eq!(checked("GET", &[("host", good)]), Ok(()), "{good}");
        }
        assert_eq!(checked("GET", &[("host", "chat.example.org:8443")]), Ok(()));
        for bad in ["evil.example", "localhost.evil.example:9000", "127.0.0.1.evil.example", ""] {
            assert_eq!(checked("GET", &[("host", bad)]), refused("host_refused", bad));
        }
        let two = [("host", "localhost"), ("host", "evil.example")];
        assert_eq!(checked("GET", &two), refused("host_refused", "evil.example"));
    }

    #[test]
    fn it_answers_pages_of_this_machine_and_named_ones() {
        for good in [
            "http://localhost:3000",
            "https://localhost",
            "http://127.0.0.1:3000",
            "http://[::1]:3000",
            "https://chat.example.org",
        ] {
            let headers = [("origin", good), ("sec-fetch-site", "cross-site")];
            assert_eq!(checked("POST", &headers), Ok(()), "{good}");
        }
        for bad in [
            "https://evil.example",
            "http://chat.example.org",
            "https://chat.example.org:444",
            "https://chat.example.org.evil.example",
            "http://localhost.evil.example",
            "null",
        ] {
            for site in [&[][..], &[("sec-fetch-site", "cross-site")]] {
                let headers = [&[("origin", bad)], site].concat();
                assert_eq!(checked("POST", &headers), refused("origin_refused", bad));
                assert_eq!(checked("GET", &headers), refused("origin_refused", bad));
            }
        }
    }

    #[test]
    fn of_requests_that_name_no_origin_only_a_link_that_is_followed_crosses_sites() {
        let link = [
            ("sec-fetch-site", "cross-site"),
            ("sec-fetch-mode", "navigate"),
            ("sec-fetch-dest", "document"),
        ];
        assert_eq!(checked("GET", &link), Ok(()));
        let crossed = refused("origin_refused", "another site");
        assert_eq!(checked("POST", &link), crossed);
        for (mode, destination) in
            [("navigate", "iframe"), ("no-cors", "script"), ("no-cors", "image")]
        {
            let headers = [
                ("sec-fetch-site", "cross-site"),
                ("sec-fetch-mode", mode),
                ("sec-fetch-dest", destination),
            ];
            assert_eq!(checked("GET", &headers), crossed, "{mode} {destination}");
            let by_ours = [&headers[..], &[("referer", "http://localhost:3000/")]].concat();
            assert_eq!(checked("GET", &by_ours), Ok(()), "a file in a frame of our page");
            let by_others =
                [&headers[..], &[("referer", "https://evil.example/localhost")]].concat();
            assert_eq!(checked("GET", &by_others), crossed);
        }
    }

    #[test]
    fn it_answers_its_own_pages_and_whoever_uses_no_browser() {
        assert_eq!(checked("POST", &[]), Ok(()));
        // The form of a page that says nothing of where it was: its browser does.
        let form = [("origin", "null"), ("sec-fetch-site", "same-origin")];
        assert_eq!(checked("POST", &form), Ok(()));
        assert_eq!(checked("GET", &[("sec-fetch-site", "none")]), Ok(()));
    }
}
