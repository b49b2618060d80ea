//! The connections that go out, but for AWS's.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use reqwest::redirect;

/// Longest wait for a connection; the wait for the first byte is longer and includes it.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// How long an unused connection is kept. Short of the idle limits of the load balancers in front
/// of providers (60 s), which would reset it.
const POOL_IDLE_TIMEOUT: Duration = Duration::from_secs(50);

/// One pool of connections for all that a process calls over HTTP, but for AWS. Clones share it. It
/// is made when it is first needed.
///
/// Waits for an answer are the caller's business. No body is decompressed: reqwest does that on the thread that all
/// runs of a process share, and has no limit for it. Redirects are not followed, so that a key never
/// goes where the settings do not say.
#[derive(Debug, Clone, Default)]
pub struct Http(Arc<OnceLock<Result<reqwest::Client, String>>>);

impl Http {
    /// The client.
    ///
    /// # Errors
    /// Why there is none. Asking again does not help.
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
