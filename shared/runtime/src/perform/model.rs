//! A model call: rendered, fitted to the window, sent and retried.

mod answer_format;
mod expansion;
mod failure_streak;
mod fallback;
mod file_calls;
mod image_links;
mod images;
mod outage;
mod reply_previews;
mod screening;
mod silent_attempts;
mod window;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use answer_format::find_answer_problem;
use djinn_core::budget::{Price, Usage};
use djinn_core::effect::ModelCall;
use djinn_core::error_code::Failure;
use djinn_core::human::Interrupt;
use djinn_core::input::{Input, InterruptTarget, ModelReplied, Reply};
use djinn_core::run::Run;
use djinn_core::settings::Role;
use djinn_core::tool::ToolSetRef;
use djinn_protocol::preview::Live;
use failure_streak::FailureStreak;
use image_links::finish_texts;
use images::load_images;
use reply_previews::ReplyPreviews;
use silent_attempts::SilentAttempts;
use tokio::sync::mpsc;
use window::InputWindow;

use crate::account::{BudgetAccount, MaxUsage, ReserveError};
use crate::awake_time::AwakeTime;
use crate::deadline::Deadline;
use crate::estimates::estimate_tools;
use crate::port::RunKey;
use crate::port::checker::ContentOwner;
use crate::port::clock::Clock;
use crate::port::model::{Delta, Model, ModelError, ModelErrorKind, ModelLimits};
use crate::port::tool::{AvailableTools, ToolAudience};
use crate::render::{self, ContextTooLong, RenderedRequest, RequestBounds};
use crate::settings::NextAttempt;
use crate::world::Ports;

/// A model call to perform.
pub struct ModelExecution<P: Ports> {
    /// The store and the models for the call.
    pub ports: P,
    /// The key of the run or child that owes the call.
    pub key: RunKey,
    /// The state of the run when the call became due.
    pub run: Arc<Run>,
    /// The call as owed by the run.
    pub call: ModelCall,
    /// The end of the invocation; all attempts end before.
    pub deadline: Deadline,
    /// True for the first effect of the invocation: no other invocation has more time for it.
    pub is_first: bool,
    /// The account for paying the call.
    pub account: Arc<BudgetAccount>,
    /// The channel for previews of the reply.
    pub live_sender: mpsc::UnboundedSender<Live>,
}

/// An attempt that failed.
struct FailedAttempt {
    error: ModelError,
    /// True if the attempt had sent text.
    sent_text: bool,
    /// True if the process was suspended during the attempt, possibly the only cause of the failure.
    was_suspended: bool,
}

impl<P: Ports> ModelExecution<P> {
    /// Makes the call and returns the resulting inputs. Without inputs no attempt fits this invocation, and the
    /// call stays owed.
    ///
    /// Failed attempts without text are repeated here, and leave only their cost. An attempt that had sent text
    /// ends this effect with `AttemptFailed`. A silent attempt does so if the next one has no time left, must
    /// wait for long, or follows a suspension of the process. The next attempt is then a new performance
    /// of the effect.
    pub async fn perform(self) -> Vec<Input> {
        if let Some(own_input) = self.decide_without_model().await {
            return vec![own_input];
        }
        let limits = match self.ports.model().limits(self.call.role, self.call.model_choice()) {
            Ok(limits) => limits,
            Err(error) => return vec![self.give_up(error.to_failure())],
        };
        let mut failures = self.call.retries;
        if failures > 0 && !self.wait_after_earlier(limits).await {
            return Vec::new();
        }
        let mut streak = FailureStreak::of(&self.call);
        let tools = self.list_tools().await;
        let mut silent = SilentAttempts::default();
        let mut window = self.find_window(limits);
        let mut has_reservation = false;
        loop {
            let rendered_request = match self.render_within(&tools, &mut window) {
                Ok(rendered_request) => rendered_request,
                Err(failure) => return self.end_after(&silent, self.give_up(failure)),
            };
            if !has_reservation
                && let Err(refusal) = self.reserve_budget(&rendered_request, limits).await
            {
                return self.on_reserve_error(refusal);
            }
            has_reservation = true;
            let attempt = match self.wait_with_others(&mut streak, limits).await {
                Err(error) => Err(FailedAttempt { error, sent_text: false, was_suspended: false }),
                Ok(()) => self.make_attempt(&rendered_request, limits.price).await,
            };
            let failed_attempt = match attempt {
                Ok(reply) => {
                    return self
                        .accept_reply(reply, rendered_request, &tools, &window, &silent)
                        .await;
                }
                Err(failed_attempt) => failed_attempt,
            };
            let call = &rendered_request.request.call;
            let model = self.model_name();
            let FailedAttempt { error, sent_text, was_suspended } = &failed_attempt;
            tracing::warn!(%call, model, kind = ?error.kind, attempt = failures + 1, was_suspended, "model call failed");
            let too_long = error.kind == ModelErrorKind::ContextTooLong;
            // A request with a smaller window is a new request, not a retry.
            failures += u32::from(!was_suspended && !too_long);
            if *sent_text {
                return self.fail_visible_attempt(&failed_attempt, failures, &silent, &mut streak);
            }
            silent.add_attempt(&failed_attempt);
            let shrinks = too_long && !*was_suspended;
            if shrinks && self.shrink_window(&mut window, &rendered_request, error) {
                continue;
            }
            let final_inputs =
                self.wait_out(&failed_attempt, failures, &silent, &mut streak, limits).await;
            if let Some(inputs) = final_inputs {
                return inputs;
            }
        }
    }

    /// Reserves the maximum usage of the call, for all attempts together. Attempts that fail without text
    /// cost little or nothing.
    async fn reserve_budget(
        &self,
        rendered_request: &RenderedRequest,
        limits: ModelLimits,
    ) -> Result<(), ReserveError> {
        let ModelLimits { max_output_tokens: output, price, .. } = limits;
        let most = MaxUsage { input: rendered_request.token_bound(), output, price };
        self.account.reserve_budget(&self.ports, &self.call, most).await
    }

    /// Returns the inputs of a call for which the daily budget is used up. No other code decides about this
    /// case.
    fn on_reserve_error(&self, refused: ReserveError) -> Vec<Input> {
        match refused {
            ReserveError::BudgetExhausted(failure) => {
                tracing::info!(call = %self.call.message, bound = failure.detail, "budget used up");
                // The call is made after a user responds: after a top-up, or on the next day.
                let language = self.run.spec().settings.language;
                let code = failure.code.as_str();
                let message = failure.sentence(language);
                let interrupt = Interrupt { code: code.to_owned(), message, key: None };
                let target = InterruptTarget::Message(self.call.message.clone());
                vec![Input::Interrupted { target, interrupt }]
            }
            // The call stays owed until a driver reaches the store.
            ReserveError::Unavailable(error) => {
                tracing::warn!(%error, call = %self.call.message, "nothing reserved");
                Vec::new()
            }
        }
    }

    /// Estimates the usage of a call with an unknown result: the tokens of the request, and the average
    /// output of the run's calls. `None` if the call cannot be made.
    pub async fn estimate_usage(&self) -> Option<Usage> {
        let role = self.call.role;
        let choice = self.call.model_choice();
        let limits = self.ports.model().limits(role, choice).ok()?;
        let tools = self.list_tools().await;
        let request = self.render_request(&tools, limits.max_input_tokens).ok()?.request;
        let count = |text: &str| self.ports.model().count_tokens(text);
        let texts: u64 = request.to_texts().iter().map(|text| count(text)).sum();
        let input_tokens = texts + request.image_tokens();
        let spent = self.run.spending();
        let calls = u64::from(spent.model_calls.max(1));
        let output_tokens = spent.usage.output_tokens.div_ceil(calls);
        Some(Usage { input_tokens, output_tokens, ..Usage::default() }.priced_at(limits.price))
    }

    /// Makes one attempt. The cost is decided here, and recorded unchanged.
    async fn make_attempt(
        &self,
        rendered_request: &RenderedRequest,
        price: Option<Price>,
    ) -> Result<Reply, FailedAttempt> {
        let is_known = |url: &str| self.run.knows_url(url);
        let deny = &self.ports.content().deny;
        let offered = &rendered_request.offered_tools;
        let mut pieces = ReplyPreviews::for_run(&self.call, &self.run, offered, &is_known, deny);
        let clock = self.ports.clock();
        // The driver may be gone; the reply still counts.
        let send = |preview| drop(self.live_sender.send(Live::Preview(preview)));
        let mut on_delta = |delta: Delta<'_>| {
            self.account.add_written_bytes(&self.call, delta.text.len());
            pieces.push_delta(delta, clock.now_ms()).into_iter().for_each(send);
        };
        let request = load_images(&self.ports, &self.run, &rendered_request.request).await;
        self.account.begin_attempt(&self.call);
        let mut time = AwakeTime::new(clock);
        // Boxed, because its observer would reserve space for it twice.
        let attempt_call = Box::pin(self.ports.model().call(&request, &mut on_delta));
        match time.run_to_end(attempt_call).await {
            Ok(mut reply) => {
                reply.usage = reply.usage.priced_at(price);
                self.account.end_attempt(&self.call, &reply.usage);
                pieces.finish(&reply, clock.now_ms()).into_iter().for_each(send);
                Ok(finish_texts(reply, &self.run))
            }
            Err(mut error) => {
                error.usage = error.usage.priced_at(price);
                self.account.end_attempt(&self.call, &error.usage);
                let session = self.run.spec().session_name();
                let owner = ContentOwner::of(&self.key, &self.run.spec().user, &session);
                let sent_text = pieces.has_sent_text();
                let was_suspended = time.was_suspended();
                self.share_wait(&error);
                self.ports.content().screen_error(&mut error, owner).await;
                Err(FailedAttempt { error, sent_text, was_suspended })
            }
        }
    }

    /// Returns the tools of the run's audience. Summaries and compactions get none, so no source is asked.
    async fn list_tools(&self) -> AvailableTools {
        if matches!(self.call.role, Role::Summary | Role::Compactor) {
            return AvailableTools::default();
        }
        let audience = ToolAudience::of(self.run.spec());
        Box::pin(self.ports.tools().list_tools(self.ports.clock(), &audience)).await
    }

    fn render_request(
        &self,
        tools: &AvailableTools,
        limit: u64,
    ) -> Result<RenderedRequest, ContextTooLong> {
        let role = self.call.role;
        let choice = self.call.model_choice();
        let message = self.call.message.clone().below(&self.key.path);
        let name = format!("{}/{message}/{}", self.key.run, self.call.attempt);
        let tools = tools.specs_for(self.run.spec());
        let count = |text: &str| self.ports.model().count_tokens(text);
        let limits = self.ports.model().limits(role, choice);
        // Personal data in images is never masked.
        let is_masked = self.run.spec().settings.mask_pii;
        let sees_images = limits.is_ok_and(|limits| limits.sees_images) && !is_masked;
        let bounds = RequestBounds { tokens: limit, sees_images };
        render::render_request(
            self.ports.prompts(),
            &tools,
            &self.run,
            &self.call,
            name,
            bounds,
            count,
        )
    }

    /// Returns true if an effect of this duration ends before the handoff.
    fn has_time_for(&self, takes: Duration) -> bool {
        let takes_ms = u64::try_from(takes.as_millis()).unwrap_or(u64::MAX);
        self.deadline.has_time_for(takes_ms, self.ports.clock().now_ms())
    }

    fn fail_visible_attempt(
        &self,
        failed_attempt: &FailedAttempt,
        failures: u32,
        silent: &SilentAttempts,
        streak: &mut FailureStreak,
    ) -> Vec<Input> {
        let FailedAttempt { error, was_suspended, .. } = failed_attempt;
        let mut void = self.void_input(error.to_failure(), error.usage, *was_suspended, silent);
        let is_last = failures >= self.ports.settings().outages.visible_attempts;
        let ends = !error.kind.is_retryable() || is_last || self.leaves_to_fallback(failures);
        let next = self.next_attempt(streak, error, failures);
        void.failing_since_ms = streak.since_ms();
        if let NextAttempt::Delay { until_ms } = next {
            void.retry_at_ms = Some(until_ms).filter(|_| !ends && !was_suspended);
        }
        let mut inputs = vec![Input::AttemptFailed(Box::new(void))];
        if !was_suspended && (ends || next == NextAttempt::Pause) {
            inputs.push(self.fall_back_or_give_up(error));
        }
        inputs
    }

    /// Screens the reply of the model, and accepts or withholds it.
    async fn accept_reply(
        &self,
        reply: Reply,
        rendered_request: RenderedRequest,
        tools: &AvailableTools,
        window: &InputWindow,
        silent: &SilentAttempts,
    ) -> Vec<Input> {
        self.clear_outage();
        let usage = reply.usage;
        match self.screen_reply(reply, &rendered_request.offered_tools).await {
            Ok(reply) => {
                vec![self.build_reply_input(reply, rendered_request, tools, window, silent).await]
            }
            Err(failure) => self.withhold_reply(failure, usage, silent),
        }
    }

    async fn build_reply_input(
        &self,
        mut reply: Reply,
        rendered_request: RenderedRequest,
        tools: &AvailableTools,
        window: &InputWindow,
        silent: &SilentAttempts,
    ) -> Input {
        let RenderedRequest { offered_tools: offers, dropped, tokens, .. } = rendered_request;
        let mut estimates = BTreeMap::new();
        if !reply.calls.is_empty() {
            let limits = self.ports.model().limits(self.call.role, self.call.model_choice());
            let price = limits.ok().and_then(|limits| limits.price);
            // Boxed, because most replies do not need the space.
            let ports = &self.ports;
            let run = &self.run;
            let calls = &reply.calls;
            let estimating = Box::pin(estimate_tools(ports, tools, run, price, &offers, calls));
            estimates = estimating.await;
        }
        let tool_set = ToolSetRef::of(&offers, estimates);
        let message = self.call.message.clone();
        let left_out = dropped.map_or(0, |dropped| dropped.tokens_before - dropped.tokens);
        let tokens = tokens.max(reply.usage.input_tokens.saturating_add(left_out));
        let window = Some(window.to_usage(tokens, self.model_name()));
        // The recorded cost of a message covers all attempts.
        reply.usage = reply.usage.plus(silent.usage());
        let answer_problem = find_answer_problem(&self.run, &self.call, &reply);
        let model_reply = ModelReplied {
            message,
            reply,
            offered: offers,
            tool_set,
            dropped,
            window,
            answer_problem,
        };
        Input::ModelReplied(Box::new(model_reply))
    }

    fn failure_input(&self, failure: Failure) -> Input {
        Input::ModelFailed { message: self.call.message.clone(), failure }
    }
}
