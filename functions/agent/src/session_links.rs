//! The URLs of a session's files, and of what its run asks, for one client.

use axum::http::request::Parts;
use djinn_core::id::SessionName;
use djinn_protocol::link::SessionLinks as Urls;
use djinn_runtime::port::clock::Clock;
use djinn_runtime::port::{RunKey, SessionKey};
use djinn_runtime::world::Ports;

use crate::agent::Agent;
use crate::identity::Caller;
use crate::link::{ConnectTime, SignedLinks};
use crate::origin::request_origin;

/// What a client answers that follows a run: who asked it is given links to do so.
pub(crate) struct AnswerableRun<'a> {
    pub(crate) run: &'a RunKey,
    /// Whether the run begins with this request.
    pub(crate) is_new: bool,
}

/// The URLs of the files of a session, and of what a run asks, for a client that asked with this request
/// and calls the session so.
pub(crate) async fn session_links<P: Ports>(
    agent: &Agent<P>,
    parts: &Parts,
    session: &SessionKey,
    name: SessionName,
    asking: Option<AnswerableRun<'_>>,
) -> Urls {
    let urls = unsigned_links(agent, parts, name);
    let (Some(links), Ok(caller)) = (SignedLinks::of(parts), Caller::of(&parts.extensions)) else {
        return urls;
    };
    let is_new = asking.as_ref().is_some_and(|asking| asking.is_new);
    let now = ConnectTime { ms: agent.ports.clock().now_ms(), is_new };
    let signer = links.link_signer(request_origin(parts, &agent.settings), now).await;
    let urls = urls.with_file_links(signer.file_links(session), now.ms);
    match asking {
        Some(AnswerableRun { run, .. }) => {
            urls.with_response_links(signer.answer_links(run, caller.user))
        }
        None => urls,
    }
}

/// The same without any signature: they are good for whoever may see the session.
pub(crate) fn unsigned_links<P: Ports>(agent: &Agent<P>, parts: &Parts, name: SessionName) -> Urls {
    Urls::new(request_origin(parts, &agent.settings), name)
}
