//! The operator's settings and limits for outgoing requests.

use std::collections::BTreeSet;
use std::time::Duration;

use thiserror::Error;
use url::{Host, Origin, Url};

use crate::message::MAX_BODY_BYTES;

/// The ports that are always allowed.
const USUAL_PORTS: [u16; 2] = [80, 443];

/// Limits per request and per process. Defaults are the production values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EgressLimits {
    /// Timeout of a request with all redirects, including the wait for a place.
    pub total_time: Duration,
    /// Timeout of a connection, including name resolution and TLS.
    pub connect_time: Duration,
    /// Maximum number of redirects.
    pub redirects: usize,
    /// Maximum number of concurrent requests of the process.
    pub at_once: usize,
    /// Maximum number of concurrent requests to a host.
    pub per_host: usize,
    /// The most bytes of a body after decoding, whatever a request asks for.
    pub body_bytes: u64,
}

impl Default for EgressLimits {
    fn default() -> Self {
        Self {
            total_time: Duration::from_secs(15),
            connect_time: Duration::from_secs(3),
            redirects: 5,
            at_once: 16,
            per_host: 4,
            body_bytes: MAX_BODY_BYTES,
        }
    }
}

/// Allowed targets besides the usual ports of public addresses.
#[derive(Debug, Clone)]
pub struct EgressSettings {
    ports: BTreeSet<u16>,
    local_origins: Vec<Origin>,
    runtime_port: Option<u16>,
    limits: EgressLimits,
}

/// An error in the settings, as a sentence.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SettingsError {
    /// Local origins are set, but the process is not local.
    #[error("origins of this machine may be named on a laptop only")]
    NotLocal,
    /// The text is not an origin of this machine.
    #[error("`{0}` is not an origin of this machine, such as http://127.0.0.1:8080")]
    Origin(String),
    /// The address of the Runtime API is invalid.
    #[error("`{0}` is not the address of a Runtime API")]
    RuntimeApi(String),
}

impl EgressSettings {
    /// Allows `ports` besides 80 and 443, and exactly the given origins of this machine, only on a laptop
    /// (`is_local`). An origin is a scheme, a loopback address and a port.
    ///
    /// # Errors
    /// Returns [`SettingsError`] for origins of other machines, or for any origin if not local.
    pub fn new(
        ports: BTreeSet<u16>,
        local_origins: &[String],
        is_local: bool,
    ) -> Result<Self, SettingsError> {
        if !is_local && !local_origins.is_empty() {
            return Err(SettingsError::NotLocal);
        }
        let parse = |text: &String| {
            parse_local_origin(text).ok_or_else(|| SettingsError::Origin(text.clone()))
        };
        let local_origins = local_origins.iter().map(parse).collect::<Result<Vec<_>, _>>()?;
        Ok(Self { ports, local_origins, runtime_port: None, limits: EgressLimits::default() })
    }

    /// Rejects the Runtime API of Lambda, named by `AWS_LAMBDA_RUNTIME_API`, even if its origin is allowed.
    ///
    /// # Errors
    /// Returns [`SettingsError::RuntimeApi`] unless the address is a host, or a host and port.
    pub fn with_runtime_api(mut self, address: &str) -> Result<Self, SettingsError> {
        let url = Url::parse(&format!("http://{address}"));
        let port = url.ok().and_then(|url| url.port_or_known_default());
        let port = port.ok_or_else(|| SettingsError::RuntimeApi(address.to_owned()))?;
        self.runtime_port = Some(port);
        Ok(self)
    }

    /// Replaces the production limits.
    #[must_use]
    pub fn with_limits(mut self, limits: EgressLimits) -> Self {
        self.limits = limits;
        self
    }

    pub(crate) fn limits(&self) -> &EgressLimits {
        &self.limits
    }

    pub(crate) fn allows_port(&self, port: u16) -> bool {
        USUAL_PORTS.contains(&port) || self.ports.contains(&port)
    }

    pub(crate) fn is_local_origin(&self, origin: &Origin) -> bool {
        self.local_origins.contains(origin)
    }

    /// Returns true if the port of this machine is the Runtime API's: the API may listen on more addresses
    /// than the given one.
    pub(crate) fn is_runtime_api(&self, port: u16) -> bool {
        self.runtime_port == Some(port)
    }
}

fn parse_local_origin(text: &str) -> Option<Origin> {
    let url = Url::parse(text).ok()?;
    let is_loopback = match url.host()? {
        Host::Ipv4(address) => address.is_loopback(),
        Host::Ipv6(address) => address.is_loopback(),
        Host::Domain(_) => false,
    };
    let is_bare = url.path() == "/" && url.query().is_none() && url.fragment().is_none();
    let is_anonymous = url.username().is_empty() && url.password().is_none();
    let is_http = ["http", "https"].contains(&url.scheme());
    (is_loopback && is_bare && is_anonymous && is_http).then(|| url.origin())
}
