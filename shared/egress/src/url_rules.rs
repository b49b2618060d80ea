//! Which URLs may be opened. The host decides as it was parsed, never its text.

use std::net::IpAddr;

use url::{Host, Url};

use crate::address::find_range;
use crate::error::{AddressProblem, EgressError};
use crate::settings::EgressSettings;

/// The most bytes of a URL.
pub const MAX_URL_BYTES: usize = 2048;

/// The most characters of a URL in an error.
const SHOWN_CHARACTERS: usize = 200;

/// Names that no public server of names answers for. They would be refused by their addresses, but
/// for that somebody would be asked.
const LOCAL_SUFFIXES: [&str; 4] = ["home.arpa", "internal", "local", "localhost"];

impl EgressSettings {
    /// Reads a URL and says whether it may be opened, as far as that can be seen without asking for
    /// the addresses of its name.
    ///
    /// # Errors
    /// [`EgressError::Address`] for what is no URL or may not be opened.
    pub fn check_url(&self, text: &str) -> Result<Url, EgressError> {
        self.parse_url(None, text).map_err(|why| refuse_url(text, why))
    }

    /// The same of where a redirect leads, which may be relative.
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
        let parsed = Url::options().base_url(base).parse(text);
        let url = parsed.map_err(|_| AddressProblem::NotAUrl)?;
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

/// Checks a host by its form: addresses whole, and names whether they are of a local network.
fn check_host(host: &Host<&str>) -> Result<(), AddressProblem> {
    let address = match host {
        Host::Domain(name) if is_local_name(name) => return Err(AddressProblem::LocalName),
        Host::Domain(_) => return Ok(()),
        Host::Ipv4(address) => IpAddr::V4(*address),
        Host::Ipv6(address) => IpAddr::V6(*address),
    };
    find_range(address).map_or(Ok(()), |range| Err(AddressProblem::Literal(range)))
}

/// Whether a name is one of local networks. One without a dot is: whoever resolves it puts the name
/// of the local network behind it.
fn is_local_name(name: &str) -> bool {
    let name = name.trim_end_matches('.');
    let is_below = |suffix: &&str| {
        name.strip_suffix(*suffix).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    };
    !name.contains('.') || LOCAL_SUFFIXES.iter().any(is_below)
}

pub(crate) fn refuse_url(url: &str, why: AddressProblem) -> EgressError {
    EgressError::Address { url: shorten_url(url), why }
}

/// A URL as errors show it: on one line, and not at any length.
pub(crate) fn shorten_url(url: &str) -> String {
    let mut shown: Vec<char> = url.chars().filter(|c| !c.is_control()).collect();
    if shown.len() > SHOWN_CHARACTERS {
        shown.truncate(SHOWN_CHARACTERS);
        shown.push('…');
    }
    shown.into_iter().collect()
}
