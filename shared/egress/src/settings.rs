//! What an operator decides about what is fetched, and the bounds.

use std::collections::BTreeSet;
use std::time::Duration;

use thiserror::Error;
use url::{Host, Origin, Url};

use crate::message::MAX_BODY_BYTES;

/// The ports that are always open to be asked.
const USUAL_PORTS: [u16; 2] = [80, 443];

/// The most that one request and one process may do. The defaults are what production has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EgressLimits {
    /// How long a request may take with all its redirects, the wait for a place included.
    pub total_time: Duration,
    /// How long a connection may take, the lookup of the name and TLS included.
    pub connect_time: Duration,
    /// How many redirects are followed.
    pub redirects: usize,
    /// How many requests of the process are under way at once.
    pub at_once: usize,
    /// How many of these are to one host.
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

/// Where requests may go besides the usual ports of public addresses.
#[derive(Debug, Clone)]
pub struct EgressSettings {
    ports: BTreeSet<u16>,
    local_origins: Vec<Origin>,
    runtime_port: Option<u16>,
    limits: EgressLimits,
}

/// Why settings are not accepted: each is a sentence.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SettingsError {
    /// A deployment names origins of its own machine.
    #[error("origins of this machine may be named on a laptop only")]
    NotLocal,
    /// A text that is no origin of this machine.
    #[error("`{0}` is not an origin of this machine, such as http://127.0.0.1:8080")]
    Origin(String),
    /// The address of the Runtime API that cannot be read.
    #[error("`{0}` is not the address of a Runtime API")]
    RuntimeApi(String),
}

impl EgressSettings {
    /// These ports besides 80 and 443, and exactly these origins of the machine itself, of which there
    /// may be none but on a laptop (`is_local`). An origin is a scheme, a loopback address and a port.
    ///
    /// # Errors
    /// [`SettingsError`] for origins that are not of this machine, or where there may be none.
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

    /// The same for a process on Lambda: its Runtime API, which `AWS_LAMBDA_RUNTIME_API` names, is
    /// refused even if its origin is named.
    ///
    /// # Errors
    /// [`SettingsError::RuntimeApi`] for what is neither host nor host and port.
    pub fn with_runtime_api(mut self, address: &str) -> Result<Self, SettingsError> {
        let url = Url::parse(&format!("http://{address}"));
        let port = url.ok().and_then(|url| url.port_or_known_default());
        let port = port.ok_or_else(|| SettingsError::RuntimeApi(address.to_owned()))?;
        self.runtime_port = Some(port);
        Ok(self)
    }

    /// The same with other bounds than production's.
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

    /// Whether an address of this machine with this port is the Runtime API's: it may listen at more
    /// addresses than the one that is named.
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
