//! URLs of a session's files and human requests, for one client.

use std::sync::Arc;
use std::time::Duration;

use axum::http::request::Parts;
use djinn_core::id::SessionName;
use djinn_protocol::link::SessionLinks as Urls;
use djinn_runtime::port::clock::Clock;
use djinn_runtime::port::{RunKey, SessionKey};
use djinn_runtime::world::Ports;

use crate::agent::Agent;
use crate::identity::Caller;
use crate::link::{ConnectTime, LinkSigner, SignedLinks};
use crate::origin::request_origin;

/// A run that the client may respond to: the asker receives links for responses.
pub(crate) struct RespondableRun<'a> {
    pub(crate) run: &'a RunKey,
    /// True if this request starts the run.
    pub(crate) is_new: bool,
}

/// Returns the URLs of a session's files and of a run's human requests, for the client of this request. The
/// client's name of the session is `name`.
pub(crate) async fn session_links<P: Ports>(
    agent: &Agent<P>,
    parts: &Parts,
    session: &SessionKey,
    name: SessionName,
    asking: Option<RespondableRun<'_>>,
) -> Urls {
    let urls = unsigned_links(agent, parts, name);
    let (Some(links), Ok(caller)) = (SignedLinks::of(parts), Caller::of(&parts.extensions)) else {
        return urls;
    };
    let is_new = asking.as_ref().is_some_and(|asking| asking.is_new);
    let now = ConnectTime { ms: agent.ports.clock().now_ms(), is_new };
    let signer = sign_links(agent, parts, links, now).await;
    let urls = urls.with_file_links(signer.file_links(session), now.ms);
    match asking {
        Some(RespondableRun { run, .. }) => {
            urls.with_response_links(signer.response_links(run, caller.user))
        }
        None => urls,
    }
}

/// Like [`session_links`] without signatures: the URLs work for callers with access to the session.
pub(crate) fn unsigned_links<P: Ports>(agent: &Agent<P>, parts: &Parts, name: SessionName) -> Urls {
    Urls::new(request_origin(parts, &agent.settings), name)
}

/// Returns a signer of links for the client of a request, with the current validity of links for responses.
pub(crate) async fn sign_links<P: Ports>(
    agent: &Agent<P>,
    parts: &Parts,
    links: Arc<SignedLinks>,
    now: ConnectTime,
) -> LinkSigner {
    let ttl = agent.settings.links.as_ref().map_or(Duration::ZERO, |links| links.ttl);
    links.link_signer(request_origin(parts, &agent.settings), ttl, now).await
}
