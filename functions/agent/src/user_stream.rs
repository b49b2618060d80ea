//! How many responses are streamed to one user, whichever processes stream them.

use std::sync::Arc;
use std::task::{Context, Poll, ready};

use axum::http::request::Parts;
use djinn_aws::{AwsStore, StreamPlace};
use djinn_core::code::{ErrorCode, Failure};
use djinn_core::id::RunId;
use djinn_runtime::client::Recall;
use djinn_runtime::port::Ports;
use djinn_runtime::port::catalog::UserKey;
use djinn_runtime::port::clock::Clock;
use djinn_runtime::serve::unavailable;
use futures::future::BoxFuture;
use tokio::runtime::Handle;
use tokio::sync::watch;

use crate::Shared;
use crate::identity::Caller;

/// How long a place is kept of a process without a deadline that does not give it back.
const LONGEST_MS: i64 = 60 * 60 * 1_000;

/// A user's place for one response. It is given back before the response ends, since a function may
/// be frozen as soon as it has; what is lost then is free again after the function's deadline, or when a
/// new stream of the same run needs it.
pub(crate) struct UserStream {
    place: StreamPlace,
    give_back: Option<BoxFuture<'static, ()>>,
    ended: watch::Sender<()>,
}

impl UserStream {
    /// Takes a place among the caller's for a stream of this run, if their number has a bound.
    ///
    /// # Errors
    /// `too_many_user_streams`, or `store_unavailable`.
    pub(crate) async fn take<P: Ports<Store = AwsStore>>(
        agent: &Shared<P>,
        parts: &Parts,
        run: RunId,
    ) -> Result<Option<Self>, Failure> {
        let Some(most) = agent.ports.settings().user.streams else { return Ok(None) };
        let Caller { tenant, user } = Caller::of(&parts.extensions)?;
        let (user, word) = (UserKey { tenant, user }, format!("{:016x}", fastrand::u64(..)));
        let until_ms = until_ms(parts, agent.ports.clock().now_ms());
        let taken = agent.ports.store().take_stream(&user, &run, &word, most, until_ms).await;
        let place = taken
            .map_err(|error| unavailable(&error))?
            .ok_or_else(|| Failure::new(ErrorCode::TooManyUserStreams, most.to_string()))?;
        let (agent, given_back) = (Arc::clone(agent), place.clone());
        let give_back = async move {
            if let Err(error) = agent.ports.store().give_stream_back(&given_back).await {
                tracing::warn!(%error, "the place of a stream was not given back");
            }
        };
        let give_back: BoxFuture<'static, ()> = Box::pin(give_back);
        Ok(Some(Self { place, give_back: Some(give_back), ended: watch::Sender::new(()) }))
    }

    /// Looks now and then whether this stream still has its place, as long as it lasts: if a newer one has
    /// it, its client is told how to go on.
    pub(crate) fn keep<P: Ports<Store = AwsStore>>(&self, agent: &Shared<P>, recall: Recall) {
        let (agent, place, mut ended) =
            (Arc::clone(agent), self.place.clone(), self.ended.subscribe());
        drop(tokio::spawn(async move {
            let every = agent.ports.settings().place_every;
            loop {
                tokio::select! {
                    // Its sender is gone with the stream.
                    _ = ended.changed() => return,
                    () = agent.ports.clock().sleep(every) => {}
                }
                match agent.ports.store().has_stream(&place).await {
                    Ok(true) => {}
                    Ok(false) => return recall.tell(),
                    Err(error) => tracing::debug!(%error, "the place of a stream is not known"),
                }
            }
        }));
    }

    /// Gives the place back; done at once when it has been.
    pub(crate) fn poll_give_back(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if let Some(give_back) = &mut self.give_back {
            ready!(give_back.as_mut().poll(cx));
            self.give_back = None;
        }
        Poll::Ready(())
    }
}

impl Drop for UserStream {
    fn drop(&mut self) {
        // The client went away.
        if let (Some(give_back), Ok(runtime)) = (self.give_back.take(), Handle::try_current()) {
            drop(runtime.spawn(give_back));
        }
    }
}

/// When a response is over at the latest, Unix milliseconds: with its invocation.
fn until_ms(parts: &Parts, now_ms: i64) -> i64 {
    let context = parts.extensions.get::<lambda_http::Context>();
    let deadline_ms = context.and_then(|context| i64::try_from(context.deadline).ok());
    // A deadline in the past is none: `cargo lambda watch` announces such.
    deadline_ms.filter(|at_ms| *at_ms > now_ms).unwrap_or(now_ms.saturating_add(LONGEST_MS))
}
