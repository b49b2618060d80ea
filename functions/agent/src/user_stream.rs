//! How many responses are streamed to one user, whichever processes stream them.

use std::sync::Arc;
use std::task::{Context, Poll, ready};

use axum::http::request::Parts;
use djinn_core::error_code::{ErrorCode, Failure};
use djinn_core::id::RunId;
use djinn_runtime::client::HandOverSignal;
use djinn_runtime::port::UserKey;
use djinn_runtime::port::clock::Clock;
use djinn_runtime::port::stream::{StreamPermit, Streams as _};
use djinn_runtime::serve::store_failure;
use futures::future::BoxFuture;
use tokio::runtime::Handle;
use tokio::sync::watch;

use crate::agent::{AgentPorts, SharedAgent};
use crate::identity::Caller;

/// How long a permit is kept of a process without a deadline that does not give it back.
const LONGEST_MS: i64 = 60 * 60 * 1_000;

/// A user's permit for one response. It is given back before the response ends, since a function may
/// be frozen as soon as it has; what is lost then is free again after the function's deadline, or when a
/// new stream of the same run needs it.
pub(crate) struct UserStream {
    permit: StreamPermit,
    release: Option<BoxFuture<'static, ()>>,
    ended: watch::Sender<()>,
}

impl UserStream {
    /// Takes a permit among the caller's for a stream of this run, if their number has a bound.
    ///
    /// # Errors
    /// `too_many_user_streams`, or `store_unavailable`.
    pub(crate) async fn acquire<P: AgentPorts>(
        agent: &SharedAgent<P>,
        parts: &Parts,
        run: RunId,
    ) -> Result<Option<Self>, Failure> {
        let Some(most) = agent.ports.settings().user.streams else { return Ok(None) };
        let Caller { tenant, user } = Caller::of(&parts.extensions)?;
        let (user, word) = (UserKey { tenant, user }, format!("{:016x}", fastrand::u64(..)));
        let until_ms = expiry_ms(parts, agent.ports.clock().now_ms());
        let taken = agent.ports.store().acquire_stream(&user, &run, &word, most, until_ms).await;
        let permit = taken
            .map_err(|error| store_failure(&error))?
            .ok_or_else(|| Failure::new(ErrorCode::TooManyUserStreams, most.to_string()))?;
        let (agent, released) = (Arc::clone(agent), permit.clone());
        let release = async move {
            if let Err(error) = agent.ports.store().release_stream(&released).await {
                tracing::warn!(%error, "the permit of a stream was not released");
            }
        };
        let release: BoxFuture<'static, ()> = Box::pin(release);
        Ok(Some(Self { permit, release: Some(release), ended: watch::Sender::new(()) }))
    }

    /// Looks now and then whether this stream still has its permit, as long as it lasts: if a newer one has
    /// it, its client is told how to go on.
    pub(crate) fn watch_permit<P: AgentPorts>(
        &self,
        agent: &SharedAgent<P>,
        recall: HandOverSignal,
    ) {
        let (agent, permit, mut ended) =
            (Arc::clone(agent), self.permit.clone(), self.ended.subscribe());
        drop(tokio::spawn(async move {
            let every = agent.ports.settings().stream_slot_every;
            loop {
                tokio::select! {
                    // Its sender is gone with the stream.
                    _ = ended.changed() => return,
                    () = agent.ports.clock().sleep(every) => {}
                }
                match agent.ports.store().has_stream(&permit).await {
                    Ok(true) => {}
                    Ok(false) => return recall.request_hand_over(),
                    Err(error) => tracing::debug!(%error, "the permit of a stream is not known"),
                }
            }
        }));
    }

    /// Gives the permit back; done at once when it has been.
    pub(crate) fn poll_release(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if let Some(release) = &mut self.release {
            ready!(release.as_mut().poll(cx));
            self.release = None;
        }
        Poll::Ready(())
    }
}

impl Drop for UserStream {
    fn drop(&mut self) {
        // The client went away.
        if let (Some(release), Ok(runtime)) = (self.release.take(), Handle::try_current()) {
            drop(runtime.spawn(release));
        }
    }
}

/// When a response is over at the latest, Unix milliseconds: with its invocation.
fn expiry_ms(parts: &Parts, now_ms: i64) -> i64 {
    let context = parts.extensions.get::<lambda_http::Context>();
    let deadline_ms = context.and_then(|context| i64::try_from(context.deadline).ok());
    // A deadline in the past is none: `cargo lambda watch` announces such.
    deadline_ms.filter(|at_ms| *at_ms > now_ms).unwrap_or(now_ms.saturating_add(LONGEST_MS))
}
