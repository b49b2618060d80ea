//! Limits the number of streams per user, across processes.

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

/// Maximum age of an unreleased permit of a process without a deadline.
const LONGEST_MS: i64 = 60 * 60 * 1_000;

/// A user's permit for one stream. The permit is released before the response ends, because Lambda may freeze
/// the function right after the response. A lost permit is free again after the function's deadline, or when
/// a new stream of the same run needs a permit.
pub(crate) struct UserStream {
    permit: StreamPermit,
    release: Option<BoxFuture<'static, ()>>,
    ended: watch::Sender<()>,
}

impl UserStream {
    /// Takes one of the caller's permits for a stream of this run. Returns `None` without a limit on streams.
    ///
    /// # Errors
    /// Returns `too_many_user_streams` or `store_unavailable`.
    pub(crate) async fn acquire<P: AgentPorts>(
        agent: &SharedAgent<P>,
        parts: &Parts,
        run: RunId,
    ) -> Result<Option<Self>, Failure> {
        let Some(most) = agent.ports.settings().user.streams else { return Ok(None) };
        let Caller { tenant, user } = Caller::of(&parts.extensions)?;
        let user = UserKey { tenant, user };
        let word = format!("{:016x}", fastrand::u64(..));
        // The latest end of the response: the deadline of the invocation. Past deadlines are ignored:
        // `cargo lambda watch` sends such deadlines.
        let now_ms = agent.ports.clock().now_ms();
        let invocation = parts.extensions.get::<lambda_http::Context>();
        let deadline_ms = invocation.and_then(|invocation| i64::try_from(invocation.deadline).ok());
        let deadline_ms = deadline_ms.filter(|at_ms| *at_ms > now_ms);
        let until_ms = deadline_ms.unwrap_or(now_ms.saturating_add(LONGEST_MS));
        let result = agent.ports.store().acquire_stream(&user, &run, &word, most, until_ms).await;
        let permit = result
            .map_err(|error| store_failure(&error))?
            .ok_or_else(|| Failure::new(ErrorCode::TooManyUserStreams, most.to_string()))?;
        let agent = Arc::clone(agent);
        let stored_permit = permit.clone();
        let release = async move {
            if let Err(error) = agent.ports.store().release_stream(&stored_permit).await {
                tracing::warn!(%error, "the permit of a stream was not released");
            }
        };
        let release: BoxFuture<'static, ()> = Box::pin(release);
        Ok(Some(Self { permit, release: Some(release), ended: watch::Sender::new(()) }))
    }

    /// Checks periodically, until the stream ends, that the stream still has its permit. If a newer stream
    /// has taken the permit, the client receives instructions for reconnecting.
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
                    // The sender is dropped with the stream.
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

    /// Releases the permit; ready at once if already released.
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
        // The client has disconnected.
        if let (Some(release), Ok(runtime)) = (self.release.take(), Handle::try_current()) {
            drop(runtime.spawn(release));
        }
    }
}
