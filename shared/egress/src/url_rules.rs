//! Rules for allowed URLs. Checks use the parsed host, never its text.

use std::net::IpAddr;

use url::{Host, Url};

use crate::address::find_range;
use crate::error::{AddressProblem, EgressError};
use crate::settings::EgressSettings;

/// The most bytes of a URL.
pub const MAX_URL_BYTES: usize = 2048;

/// The most characters of a URL in an error.
const SHOWN_CHARACTERS: usize = 200;

/// Suffixes of local names, rejected before resolution. The resolved addresses would be rejected too, but
/// only after a DNS query.
const LOCAL_SUFFIXES: [&str; 4] = ["home.arpa", "internal", "local", "localhost"];

impl EgressSettings {
    /// Parses a URL and checks everything that needs no name resolution.
    ///
    /// # Errors
    /// Returns [`EgressError::Address`] if the URL is invalid or not allowed.
    pub fn check_url(&self, text: &str) -> Result<Url, EgressError> {
        self.parse_url(None, text).map_err(|why| refuse_url(text, why))
    }

    /// Checks a redirect's target, possibly relative to `base`.
    pub(crate) fn check_location(&self, base: &Url, text: &str) -> Result<Url, EgressError> {
        self.parse_url(Some(base), text).map_err(|why| refuse_url(text, why))
    }

    fn parse_url(&self, base: Option<&Url>, text: &str) -> Result<Url, AddressProblem> {
        if text.len() > MAX_URL_BYTES {
            return Err(AddressProblem::TooLong);
        }
        let text = text.trim();
        // A parser of URLs leaves tabs and line breaks out, and then others read another URL.
        if text.contains(char::is_control) {
            return Err(AddressProblem::ControlCharacter);
        }
        let result = Url::options().base_url(base).parse(text);
        let url = result.map_err(|_| AddressProblem::NotAUrl)?;
        self.check_parts(&url)?;
        Ok(url)
    }

    fn check_parts(&self, url: &Url) -> Result<(), AddressProblem> {
        if !["http", "https"].contains(&url.scheme()) {
            return Err(AddressProblem::Scheme);
        }
        if url.as_str().len() > MAX_URL_BYTES {
            return Err(AddressProblem::TooLong);
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(AddressProblem::UserInfo);
        }
        let host = url.host().ok_or(AddressProblem::NotAUrl)?;
        let port = url.port_or_known_default().ok_or(AddressProblem::NotAUrl)?;
        let host_check = check_host(&host);
        if host_check.is_err() && self.is_runtime_api(port) {
            return Err(AddressProblem::RuntimeApi);
        }
        if self.is_local_origin(&url.origin()) {
            return Ok(());
        }
        host_check?;
        if self.allows_port(port) { Ok(()) } else { Err(AddressProblem::Port(port)) }
    }
}

/// Checks a host by form: an address in full, a name for local networks.
fn check_host(host: &Host<&str>) -> Result<(), AddressProblem> {
    let address = match host {
        Host::Domain(name) => {
            let name = name.trim_end_matches('.');
            let is_below = |suffix: &&str| {
                name.strip_suffix(*suffix)
                    .is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
            };
            // Resolvers append the local domain to a name without a dot.
            let is_local = !name.contains('.') || LOCAL_SUFFIXES.iter().any(is_below);
            return if is_local { Err(AddressProblem::LocalName) } else { Ok(()) };
        }
        Host::Ipv4(address) => IpAddr::V4(*address),
        Host::Ipv6(address) => IpAddr::V6(*address),
    };
    find_range(address).map_or(Ok(()), |range| Err(AddressProblem::Literal(range)))
}

pub(crate) fn refuse_url(url: &str, why: AddressProblem) -> EgressError {
    EgressError::Address { url: shorten_url(url), why }
}

/// Returns a URL for errors: on one line, and shortened.
pub(crate) fn shorten_url(url: &str) -> String {
    let mut characters: Vec<char> = url.chars().filter(|c| !c.is_control()).collect();
    if characters.len() > SHOWN_CHARACTERS {
        characters.truncate(SHOWN_CHARACTERS);
        characters.push('…');
    }
    characters.into_iter().collect()
}
