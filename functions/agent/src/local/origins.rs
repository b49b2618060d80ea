//! Origins of pages that may use a laptop's system.

use std::net::IpAddr;

use axum::http::uri::{Authority, Scheme};
use axum::http::{HeaderValue, Uri};
use djinn_settings::table::agent::{LOCAL_ORIGINS, PUBLIC_URL};
use djinn_settings::{InvalidSetting, VarLookup};

/// The laptop's own origins on any port, and the configured origins.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LocalOrigins {
    origins: Vec<Origin>,
}

/// A scheme, a host in lowercase, and a port other than the scheme's default.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Origin {
    scheme: Scheme,
    host: String,
    port: Option<u16>,
}

impl LocalOrigins {
    /// Reads `DJINN_LOCAL_ORIGINS`, a comma-separated list of origins. The origin of `DJINN_PUBLIC_URL` is
    /// added.
    ///
    /// # Errors
    /// Returns [`InvalidSetting`] if an item is not an origin.
    pub fn from_vars(var: VarLookup<'_>) -> Result<Self, InvalidSetting> {
        let setting = LOCAL_ORIGINS.find_text(var).unwrap_or_default();
        let texts = setting.split(',').map(str::trim).filter(|text| !text.is_empty());
        let origins = texts.map(|text| Origin::parse(text).ok_or(text));
        let origins = origins.collect::<Result<Vec<_>, _>>();
        let mut origins = origins.map_err(|text| LOCAL_ORIGINS.refuse(text))?;
        origins.extend(PUBLIC_URL.find_text(var).and_then(|url| Origin::of(&url)));
        Ok(Self { origins })
    }

    /// Returns true if pages of this origin may use the system; `origin` is a value of `Origin`.
    #[must_use]
    pub fn accepts_origin(&self, origin: &HeaderValue) -> bool {
        let origin = origin.to_str().ok().and_then(Origin::parse);
        origin.is_some_and(|origin| self.is_known(&origin))
    }

    /// Returns true if the page may use the system; `url` is a value of `Referer`.
    pub(super) fn accepts_page(&self, url: &HeaderValue) -> bool {
        let origin = url.to_str().ok().and_then(Origin::of);
        origin.is_some_and(|origin| self.is_known(&origin))
    }

    /// Returns true if the system accepts this name; `host` is a value of `Host`.
    pub(super) fn accepts_host(&self, host: &HeaderValue) -> bool {
        let Ok(authority) = Authority::try_from(host.as_bytes()) else { return false };
        let host = authority.host().to_ascii_lowercase();
        is_loopback(&host) || self.origins.iter().any(|origin| origin.host == host)
    }

    fn is_known(&self, origin: &Origin) -> bool {
        is_loopback(&origin.host) || self.origins.contains(origin)
    }
}

impl Origin {
    /// Parses an origin without a path or query.
    fn parse(text: &str) -> Option<Self> {
        let rest = text.split_once("://")?.1;
        Self::of(text).filter(|_| !rest.contains(['/', '?', '#', '@', '*']))
    }

    /// Returns the origin of a URL.
    fn of(url: &str) -> Option<Self> {
        let url: Uri = url.parse().ok()?;
        let scheme = url.scheme()?.clone();
        let usual = match scheme.as_str() {
            "http" => 80,
            "https" => 443,
            _ => return None,
        };
        let host = url.host().filter(|host| !host.is_empty())?.to_ascii_lowercase();
        Some(Self { scheme, host, port: url.port_u16().filter(|port| *port != usual) })
    }
}

/// Returns true if the host is always this machine.
fn is_loopback(host: &str) -> bool {
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(
        value: &'static str,
        public_url: &'static str,
    ) -> Result<LocalOrigins, InvalidSetting> {
        LocalOrigins::from_vars(&move |name| match name {
            "DJINN_LOCAL_ORIGINS" => Some(value.to_owned()),
            "DJINN_PUBLIC_URL" => Some(public_url.to_owned()),
            _ => None,
        })
    }

    #[test]
    fn origins_are_named_in_full_and_compared_as_browsers_write_them() {
        let origins = named("https://Chat.Example.org:443, http://b.example:8080", "").unwrap();
        let allow = |origin| origins.accepts_origin(&HeaderValue::from_static(origin));
        assert!(allow("https://chat.example.org") && allow("http://b.example:8080"));
        assert!(!allow("http://b.example") && !allow("https://chat.example.org/"));
        let public = named("", "https://djinn.example.org/v2/").unwrap();
        assert!(public.accepts_origin(&HeaderValue::from_static("https://djinn.example.org")));
        assert_eq!(named("", "no URL").unwrap(), LocalOrigins::default());
        for bad in
            ["*", "https://*", "chat.example.org", "https://a.example/", "ftp://a.example", "null"]
        {
            let wanted = "origins such as https://chat.example.org, separated by commas";
            let error = format!("DJINN_LOCAL_ORIGINS must be {wanted}, got `{bad}`");
            assert_eq!(named(bad, "").unwrap_err().to_string(), error);
        }
    }
}
