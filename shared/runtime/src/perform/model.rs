//! A model call: rendered, fitted, tried, retried.

mod expanded;
mod fallback;
mod pieces;

use std::sync::Arc;

use djinn_core::budget::{Price, Usage};
use djinn_core::code::{ErrorCode, Failure};
use djinn_core::effect::ModelCall;
use djinn_core::feedback::Interrupt;
use djinn_core::input::{Input, Interrupted, ModelReplied, Reply, Window};
use djinn_core::preview::Live;
use djinn_core::run::Run;
use djinn_core::settings::Role;
use expanded::expanded;
use pieces::Pieces;
use tokio::sync::mpsc;

use crate::account::{Account, Most, NotReserved};
use crate::deadline::Deadline;
use crate::estimates::estimate;
use crate::port::checker::{Check, Direction};
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
    /// What pays for it.
    pub account: Arc<Account>,
    /// Where pieces of the reply go as they arrive.
    pub previews: mpsc::UnboundedSender<Live>,
}

impl<P: Ports> Call<P> {
    /// Makes the call and says what came of it. No input at all means that no further attempt fits
    /// into this invocation: the call stays owed.
    ///
    /// Attempts that sent no text are repeated here and leave no trace; one that did ends this
    /// effect with `AttemptFailed`, and the next attempt is a new performance of it.
    pub async fn perform(self) -> Vec<Input> {
        if let Some(changed) = self.skip_primary() {
            return vec![changed];
        }
        let limits = match self.ports.model().limits(self.call.role, self.call.choice()) {
            Ok(limits) => limits,
            Err(error) => return vec![self.give_up(error.failure())],
        };
        if self.call.retries > 0 && !self.wait(self.call.retries, None, limits).await {
            return Vec::new();
        }
        let mut failed = self.call.retries;
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
            let (sent_text, error) = match self.attempt(&rendered, limits.price).await {
                Ok(reply) => {
                    self.note_success();
                    let usage = reply.usage;
                    return match self.let_out(reply).await {
                        Ok(reply) => vec![self.replied(reply, rendered, limit).await],
                        Err(failure) => self.held_back(&failure, usage),
                    };
                }
                Err(failed_attempt) => failed_attempt,
            };
            let call = &rendered.request.call;
            let model = self.model();
            tracing::warn!(%call, model, kind = ?error.kind, attempt = failed + 1, "model call failed");
            failed += 1;
            if sent_text {
                return self.broke_off(&error, failed);
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
                return vec![self.ended_by(&error)];
            }
            if !self.wait(failed, error.retry_after, limits).await {
                return Vec::new();
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

    /// One attempt. An error comes with whether the attempt had sent text. What it cost is decided
    /// here, and stands in the record from then on.
    async fn attempt(
        &self,
        rendered: &Rendered,
        price: Option<Price>,
    ) -> Result<Reply, (bool, ModelError)> {
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
        match self.ports.model().call(&rendered.request, &mut on_delta).await {
            Ok(mut reply) => {
                reply.usage = reply.usage.at(price);
                self.account.cost(&self.call, &reply.usage);
                pieces.finish(&reply, clock.now_ms()).into_iter().for_each(send);
                Ok(expanded(reply, urls))
            }
            Err(mut error) => {
                error.usage = error.usage.at(price);
                self.account.cost(&self.call, &error.usage);
                Err((pieces.sent_any(), error))
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

    /// Waits before the next attempt. False if that attempt would not fit before the deadline.
    async fn wait(
        &self,
        failed: u32,
        asked: Option<std::time::Duration>,
        limits: ModelLimits,
    ) -> bool {
        let clock = self.ports.clock();
        let retries = &self.ports.settings().model_retries;
        let delay = retries.delay_after(failed, asked, clock.jitter()).unwrap_or_default();
        let needed = delay.saturating_add(limits.call_timeout).as_millis();
        if !self.deadline.fits(u64::try_from(needed).unwrap_or(u64::MAX), clock.now_ms()) {
            return false;
        }
        clock.sleep(delay).await;
        true
    }

    /// Lets a reply out, if it may be seen. One that may be the answer, since it asks for no tool, is
    /// checked as that.
    async fn let_out(&self, mut reply: Reply) -> Result<Reply, Failure> {
        let content = self.ports.content();
        let may_answer = match self.call.role {
            Role::Compactor => return Ok(reply),
            Role::Executor | Role::Employees => false,
            Role::React | Role::Planner | Role::Summary => {
                reply.calls.is_empty() && !reply.text.trim().is_empty()
            }
        };
        content.allow_reply(&reply)?;
        if may_answer && content.checks.is_some() {
            let asked = self.run.asked();
            let session = asked.session_name();
            let check = Check {
                direction: Direction::Out,
                text: &reply.text,
                tenant: &asked.tenant,
                user: &asked.user,
                session: &session,
                run: &self.key.run,
            };
            if let Some(text) = content.pass(check).await? {
                reply.text = text;
            }
        }
        Ok(reply)
    }

    /// What was shown of the reply is void, and it is never recorded; what it cost is.
    fn held_back(&self, failure: &Failure, usage: Usage) -> Vec<Input> {
        let ModelCall { message, attempt, .. } = &self.call;
        let (message, attempt, failure) = (message.clone(), *attempt, failure.clone());
        tracing::warn!(%message, code = failure.code.as_str(), "reply held back");
        let void = Input::AttemptFailed { message, attempt, failure: failure.clone(), usage };
        vec![void, self.failed(failure)]
    }

    fn broke_off(&self, error: &ModelError, failed: u32) -> Vec<Input> {
        let mut inputs = vec![Input::AttemptFailed {
            message: self.call.message.clone(),
            attempt: self.call.attempt,
            failure: error.failure(),
            usage: error.usage,
        }];
        let attempts = self.ports.settings().model_retries.attempts;
        if !error.kind.is_retryable() || failed >= attempts {
            inputs.push(self.ended_by(error));
        }
        inputs
    }

    async fn replied(&self, reply: Reply, rendered: Rendered, limit: u64) -> Input {
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
        Input::ModelReplied(Box::new(ModelReplied { message, reply, offered, dropped, window }))
    }

    fn failed(&self, failure: Failure) -> Input {
        Input::ModelFailed { message: self.call.message.clone(), failure }
    }
}
