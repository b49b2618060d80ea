//! A model call: rendered, fitted, tried, retried.

mod expanded;
mod fallback;
mod pieces;
mod silent;

use std::sync::Arc;
use std::time::Duration;

use djinn_core::budget::{Price, Usage};
use djinn_core::code::{ErrorCode, Failure};
use djinn_core::effect::ModelCall;
use djinn_core::feedback::Interrupt;
use djinn_core::input::{Input, Interrupted, ModelReplied, Reply, Window};
use djinn_core::preview::Live;
use djinn_core::run::Run;
use djinn_core::settings::Role;
use djinn_core::tool::OfferedTool;
use expanded::expanded;
use pieces::Pieces;
use silent::Silent;
use tokio::sync::mpsc;

use crate::account::{Account, Most, NotReserved};
use crate::deadline::Deadline;
use crate::estimates::estimate;
use crate::own_time::OwnTime;
use crate::port::checker::Whose;
use crate::port::clock::Clock;
use crate::port::model::{Delta, Model, ModelError, ModelErrorKind, ModelLimits};
use crate::port::{Ports, RunKey};
use crate::render::{self, Rendered};

/// A model call to be made.
pub struct Call<P: Ports> {
    /// The world.
    pub ports: P,
    /// The run.
    pub key: RunKey,
    /// Its state.
    pub run: Arc<Run>,
    /// What it owes.
    pub call: ModelCall,
    /// Until when.
    pub deadline: Deadline,
    /// Whether it is the first thing that its invocation does: no other has more time for it.
    pub is_first: bool,
    /// What pays for it.
    pub account: Arc<Account>,
    /// Where pieces of the reply go as they arrive.
    pub previews: mpsc::UnboundedSender<Live>,
}

/// An attempt that came to nothing.
struct Broken {
    error: ModelError,
    /// Whether it had sent text.
    sent_text: bool,
    /// Whether its process stood still meanwhile: that may be all that it failed of.
    stood_still: bool,
}

impl<P: Ports> Call<P> {
    /// Makes the call and says what came of it. No input at all means that no attempt fits into this
    /// invocation: the call stays owed.
    ///
    /// Attempts that sent no text are repeated here, and leave no trace but what they cost. One that did
    /// ends this effect with `AttemptFailed`, and so do silent ones where the next has no time left: the
    /// next attempt is a new performance of it.
    pub async fn perform(self) -> Vec<Input> {
        if let Some(changed) = self.skip_primary() {
            return vec![changed];
        }
        let limits = match self.ports.model().limits(self.call.role, self.call.choice()) {
            Ok(limits) => limits,
            Err(error) => return vec![self.give_up(error.failure())],
        };
        let mut failed = self.call.retries;
        if failed > 0 && !self.wait(failed, None, limits, self.is_first).await {
            return Vec::new();
        }
        let mut silent = Silent::default();
        let mut limit = limits.max_input_tokens;
        let mut reserved = false;
        loop {
            let rendered = match self.render(limit) {
                Ok(rendered) => rendered,
                Err(failure) => return vec![self.give_up(failure)],
            };
            if !reserved && let Err(refused) = self.reserve(&rendered, limits).await {
                return self.not_reserved(refused);
            }
            reserved = true;
            let broken = match self.attempt(&rendered, limits.price).await {
                Ok(reply) => return self.taken(reply, rendered, limit, &silent).await,
                Err(broken) => broken,
            };
            let (call, model) = (&rendered.request.call, self.model());
            let Broken { error, sent_text, stood_still } = &broken;
            tracing::warn!(%call, model, kind = ?error.kind, attempt = failed + 1, stood_still, "model call failed");
            failed += u32::from(!stood_still);
            if *sent_text {
                return self.broke_off(&broken, failed, &silent);
            }
            silent.add(&broken);
            if *stood_still {
                if self.fits(limits.call_timeout) {
                    continue;
                }
                return self.left_after(silent);
            }
            let too_long = error.kind == ModelErrorKind::ContextTooLong;
            if too_long && limit == limits.max_input_tokens {
                limit /= 2;
                continue;
            }
            let retries = &self.ports.settings().model_retries;
            let jitter = self.ports.clock().jitter();
            let again = retries.delay_after(failed, error.retry_after, jitter).is_some();
            if !error.kind.is_retryable() || !again {
                return self.ended_after(silent, self.ended_by(error));
            }
            if !self.wait(failed, error.retry_after, limits, false).await {
                return self.left_after(silent);
            }
        }
    }

    /// Reserves the most that the call may use up, all its attempts together: those that fail before
    /// they say anything cost little or nothing.
    async fn reserve(&self, rendered: &Rendered, limits: ModelLimits) -> Result<(), NotReserved> {
        let ModelLimits { max_output_tokens: output, price, .. } = limits;
        let most = Most { input: rendered.most_tokens(), output, price };
        self.account.reserve(&self.ports, &self.call, most).await
    }

    /// The one place that decides what becomes of a call that its user's day has nothing left for.
    fn not_reserved(&self, refused: NotReserved) -> Vec<Input> {
        match refused {
            NotReserved::UsedUp(failure) => {
                tracing::info!(call = %self.call.message, bound = failure.detail, "budget used up");
                // It is made when somebody says so: after a top-up, or the next day.
                let language = self.run.asked().settings.language;
                let (code, message) = (failure.code.as_str(), failure.sentence(language));
                let interrupt = Interrupt { code: code.to_owned(), message };
                let of = Interrupted::Message(self.call.message.clone());
                vec![Input::Interrupted { of, interrupt }]
            }
            // It stays owed, to whoever reaches the store.
            NotReserved::Unavailable(error) => {
                tracing::warn!(%error, call = %self.call.message, "nothing reserved");
                Vec::new()
            }
        }
    }

    /// What the call is taken to cost where nobody knows what it did: all that its request says, and
    /// as much output as the run's calls had on average. `None` if it cannot be made at all.
    #[must_use]
    pub fn estimate(&self) -> Option<Usage> {
        let (role, choice) = (self.call.role, self.call.choice());
        let limits = self.ports.model().limits(role, choice).ok()?;
        let request = self.render(limits.max_input_tokens).ok()?.request;
        let count = |text: &str| self.ports.model().count_tokens(role, choice, text);
        let input_tokens = request.texts().iter().map(|text| count(text)).sum();
        let spent = self.run.spent();
        let calls = u64::from(spent.model_calls.max(1));
        let output_tokens = spent.usage.output_tokens.div_ceil(calls);
        Some(Usage { input_tokens, output_tokens, ..Usage::default() }.at(limits.price))
    }

    /// One attempt. What it cost is decided here, and stands in the record from then on.
    async fn attempt(&self, rendered: &Rendered, price: Option<Price>) -> Result<Reply, Broken> {
        let urls = self.run.urls();
        let (deny, deliverables) = (&self.ports.content().deny, self.run.deliverables());
        let mut pieces = Pieces::new(&self.call, urls, deny, &deliverables);
        let clock = self.ports.clock();
        // Nobody listens any more when the driver has gone; the reply still counts.
        let send = |preview| drop(self.previews.send(Live::Piece(preview)));
        let mut on_delta = |delta: Delta<'_>| {
            self.account.wrote(&self.call, delta.text.len());
            pieces.take(delta, clock.now_ms()).into_iter().for_each(send);
        };
        self.account.begins(&self.call);
        let mut time = OwnTime::new(clock);
        // In a box, since what watches it would hold room for it twice.
        let called = Box::pin(self.ports.model().call(&rendered.request, &mut on_delta));
        match time.of(called).await {
            Ok(mut reply) => {
                reply.usage = reply.usage.at(price);
                self.account.cost(&self.call, &reply.usage);
                pieces.finish(&reply, clock.now_ms()).into_iter().for_each(send);
                Ok(expanded(reply, urls))
            }
            Err(mut error) => {
                error.usage = error.usage.at(price);
                self.account.cost(&self.call, &error.usage);
                let session = self.run.asked().session_name();
                let whose = Whose::of(&self.key, &self.run.asked().user, &session);
                let (sent_text, stood_still) = (pieces.sent_any(), time.stood_still());
                self.ports.content().let_error_out(&mut error, whose).await;
                Err(Broken { error, sent_text, stood_still })
            }
        }
    }

    fn render(&self, limit: u64) -> Result<Rendered, Failure> {
        let language = self.run.asked().settings.language;
        let (role, choice) = (self.call.role, self.call.choice());
        let task = self.key.task.as_ref().map_or_else(String::new, |task| format!("{task}."));
        let name = format!("{}/{task}{}/{}", self.key.run, self.call.message, self.call.attempt);
        let tools = self.ports.tools().specs(language);
        let count = |text: &str| self.ports.model().count_tokens(role, choice, text);
        render::request(self.ports.prompts(), &tools, &self.run, &self.call, name, limit, count)
            .map_err(|error| Failure::new(ErrorCode::ContextTooLong, error.to_string()))
    }

    /// Waits before the next attempt. False if that attempt would not fit before the deadline; the first
    /// of an invocation has whatever time there is, so that none is allowed too long to ever be made.
    async fn wait(
        &self,
        failed: u32,
        asked: Option<Duration>,
        limits: ModelLimits,
        is_first: bool,
    ) -> bool {
        let clock = self.ports.clock();
        let retries = &self.ports.settings().model_retries;
        let mut delay = retries.delay_after(failed, asked, clock.jitter()).unwrap_or_default();
        if !self.fits(delay.saturating_add(limits.call_timeout)) {
            let left_ms = self.deadline.left_ms(clock.now_ms());
            let left_ms = left_ms.filter(|left| is_first && *left > 0);
            let Some(left_ms) = left_ms else { return false };
            delay = delay.min(Duration::from_millis(left_ms / 2));
        }
        clock.sleep(delay).await;
        true
    }

    /// Whether what takes so long ends before the hand-over.
    fn fits(&self, takes: Duration) -> bool {
        let takes_ms = u64::try_from(takes.as_millis()).unwrap_or(u64::MAX);
        self.deadline.fits(takes_ms, self.ports.clock().now_ms())
    }

    /// Lets a reply out, if it may be seen. What sums up older turns never is. A checker that gave no
    /// verdict while the process stood still is asked again.
    async fn let_out(&self, mut reply: Reply, offered: &[OfferedTool]) -> Result<Reply, Failure> {
        if self.call.role == Role::Compactor {
            return Ok(reply);
        }
        let session = self.run.asked().session_name();
        let whose = Whose::of(&self.key, &self.run.asked().user, &session);
        loop {
            let mut time = OwnTime::new(self.ports.clock());
            let let_out = self.ports.content().let_reply_out(&mut reply, offered, whose);
            let let_out = time.of(let_out).await;
            let unchecked = |failure: &Failure| failure.code == ErrorCode::ContentUnchecked;
            if !time.stood_still() || !let_out.as_ref().is_err_and(unchecked) {
                return let_out.map(|()| reply);
            }
        }
    }

    /// What was shown of the reply is void, and it is never recorded; what it cost is.
    fn held_back(&self, failure: Failure, usage: Usage, silent: &Silent) -> Vec<Input> {
        let message = &self.call.message;
        tracing::warn!(%message, code = failure.code.as_str(), "reply held back");
        let void = self.void(failure.clone(), usage, false, silent);
        vec![void, self.failed(failure)]
    }

    fn broke_off(&self, broken: &Broken, failed: u32, silent: &Silent) -> Vec<Input> {
        let Broken { error, stood_still, .. } = broken;
        let mut inputs = vec![self.void(error.failure(), error.usage, *stood_still, silent)];
        let attempts = self.ports.settings().model_retries.attempts;
        if !stood_still && (!error.kind.is_retryable() || failed >= attempts) {
            inputs.push(self.ended_by(error));
        }
        inputs
    }

    /// The model answers, and what it says is let out or held back.
    async fn taken(
        &self,
        reply: Reply,
        rendered: Rendered,
        limit: u64,
        silent: &Silent,
    ) -> Vec<Input> {
        self.note_success();
        let usage = reply.usage;
        match self.let_out(reply, &rendered.offered).await {
            Ok(reply) => vec![self.replied(reply, rendered, limit, silent).await],
            Err(failure) => self.held_back(failure, usage, silent),
        }
    }

    async fn replied(
        &self,
        mut reply: Reply,
        rendered: Rendered,
        limit: u64,
        silent: &Silent,
    ) -> Input {
        let Rendered { mut offered, dropped, tokens, .. } = rendered;
        if !reply.calls.is_empty() {
            let limits = self.ports.model().limits(self.call.role, self.call.choice());
            let price = limits.ok().and_then(|limits| limits.price);
            // In a box, since most replies have no need of the room.
            Box::pin(estimate(&self.ports, &self.run, price, &mut offered, &reply.calls)).await;
        }
        let message = self.call.message.clone();
        let left_out = dropped.map_or(0, |dropped| dropped.tokens_before - dropped.tokens);
        let tokens = tokens.max(reply.usage.input_tokens.saturating_add(left_out));
        let window = Some(Window { tokens, limit });
        // What a message cost is what all attempts at it did.
        reply.usage = reply.usage.plus(silent.usage());
        Input::ModelReplied(Box::new(ModelReplied { message, reply, offered, dropped, window }))
    }

    fn failed(&self, failure: Failure) -> Input {
        Input::ModelFailed { message: self.call.message.clone(), failure }
    }
}
