//! Outgoing HTTP connections, except AWS's.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use reqwest::redirect;

/// Maximum wait for a connection; included in the longer wait for the first byte.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Idle lifetime of a connection. Shorter than the idle limit (60 s) of providers' load balancers, because
/// they reset idle connections.
const POOL_IDLE_TIMEOUT: Duration = Duration::from_secs(50);

/// The pool of connections for all HTTP calls of a process, except AWS's. Clones share the pool, created on
/// first use.
///
/// Callers set timeouts for responses. No body is decompressed: reqwest would decompress without a limit, on
/// the thread shared by all runs. Redirects are not followed, so a key is only sent to configured hosts.
#[derive(Debug, Clone, Default)]
pub struct Http(Arc<OnceLock<Result<reqwest::Client, String>>>);

impl Http {
    /// Returns the client, created on first use.
    ///
    /// # Errors
    /// Returns the reason for a failed creation. A retry does not help.
    pub fn client(&self) -> Result<&reqwest::Client, &str> {
        self.0.get_or_init(build_client).as_ref().map_err(String::as_str)
    }
}

fn build_client() -> Result<reqwest::Client, String> {
    reqwest::Client::builder()
        .connect_timeout(CONNECT_TIMEOUT)
        .no_gzip()
        .pool_idle_timeout(POOL_IDLE_TIMEOUT)
        .redirect(redirect::Policy::none())
        .tcp_nodelay(true)
        .user_agent(concat!("djinn/", env!("CARGO_PKG_VERSION")))
        .build()
        .map_err(|error| format!("the HTTP client cannot be built: {error}"))
}
