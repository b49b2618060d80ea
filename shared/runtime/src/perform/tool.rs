//! A tool call: checked, run with a timeout, and its result shortened for the model.

mod hand_over;
mod progress_feed;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use djinn_core::agent::to_hand_over;
use djinn_core::conversation::{Conversation, ConversationItem};
use djinn_core::effect::ToolInvocation;
use djinn_core::file::media_type_of;
use djinn_core::id::{CallId, FileName};
use djinn_core::input::{Input, InterruptTarget};
use djinn_core::run::Run;
use djinn_core::settings::ModelChoice;
use djinn_core::tool::{
    EffectClass, FullOutput, ToolArguments, ToolFailure, ToolOutput, ToolResult, ToolState,
};
use djinn_protocol::preview::Live;
use progress_feed::ProgressFeed;
use serde_json::Map;
use tokio::sync::mpsc;
use tracing::Instrument as _;

use crate::awake_time::AwakeTime;
use crate::port::clock::{Clock, elapsed_ms};
use crate::port::file::{Files, NewFile};
use crate::port::model::{Model as _, RequestImage};
use crate::port::tool::{Tool, ToolAudience, ToolContext, ToolError};
use crate::port::tool_progress::{ReportReader, ToolProgress};
use crate::port::{RunKey, SessionKey};
use crate::prompt;
use crate::texts::HasTexts as _;
use crate::world::Ports;

/// The maximum number of images kept from one result.
const MAX_RESULT_IMAGES: usize = 20;

/// A tool call to perform.
pub struct ToolExecution<P: Ports> {
    /// The store and the tools for the call.
    pub ports: P,
    /// The key of the run or child that owes the call.
    pub key: RunKey,
    /// The tool's view of the run: files, limits and language. The tool's state joins with each attempt.
    pub context: ToolContext,
    /// The newest states in the run, by tool name.
    states: BTreeMap<String, ToolState>,
    /// The audience whose tools include the called tool.
    pub audience: ToolAudience,
    /// The tool call as an effect.
    pub invocation: ToolInvocation,
    /// The timeout of the call; near the end of an invocation shorter than declared.
    pub timeout: Duration,
    /// The channel for the tool's progress.
    live_sender: mpsc::UnboundedSender<Live>,
    reports: ReportReader,
}

/// The reason for a call without a result.
enum ToolExecutionError {
    /// The failure as reported to the run.
    Final(ToolError),
    /// The process was suspended, the possible cause of the failure, and the call can be repeated.
    ProcessStalled,
}

impl<P: Ports> ToolExecution<P> {
    /// Creates the execution of a tool call of `run`.
    #[must_use]
    pub fn of(
        ports: P,
        key: RunKey,
        run: &Run,
        invocation: ToolInvocation,
        timeout: Duration,
        live_sender: mpsc::UnboundedSender<Live>,
    ) -> Self {
        let spec = run.spec();
        let (progress, reports) = ToolProgress::with_reader();
        let limits = ports.model().limits(spec.working_role(), ModelChoice::Primary).ok();
        let context = ToolContext {
            run: key.run.clone(),
            path: key.path.clone(),
            session: SessionKey::of(spec),
            user: spec.user.clone(),
            files: run.files().all().iter().map(|file| file.name.clone()).collect(),
            call: invocation.call.id.clone(),
            attempt: invocation.attempt,
            interrupts: invocation.interrupts,
            language: spec.settings.language,
            time_zone: spec.settings.time_zone,
            max_observe: spec.max_result_chars(),
            max_input_tokens: limits.map_or(0, |limits| limits.max_input_tokens),
            state: None,
            mask_pii: spec.settings.mask_pii,
            progress,
        };
        let audience = ToolAudience::of(spec);
        let states = find_states(run.conversation());
        Self { ports, key, context, states, audience, invocation, timeout, live_sender, reports }
    }

    /// Makes the call. Returns any failure as a result for the model. After a suspension of the process a
    /// repeatable call stays owed, and the journal counts the suspensions.
    pub async fn perform(self) -> Vec<Input> {
        let call = self.invocation.call.id.clone();
        let span = tracing::info_span!(
            "execute_tool",
            gen_ai.operation.name = "execute_tool",
            gen_ai.tool.name = %self.invocation.call.tool,
            gen_ai.tool.call.id = %call,
            attempt = self.invocation.attempt,
        );
        async {
            if self.invocation.policy.hands_over {
                return vec![self.hand_over().await];
            }
            let clock = self.ports.clock();
            let started_ms = clock.now_ms();
            let mut came = match self.run_and_show_progress().await {
                Ok(observation) => Ok(observation),
                Err(ToolExecutionError::Final(failure)) => Err(failure),
                Err(ToolExecutionError::ProcessStalled) => {
                    let attempt = self.invocation.attempt;
                    return vec![Input::ToolStalled { call, attempt }];
                }
            };
            self.make_readable(&mut came).await;
            let outcome = match came {
                Ok(observation) => ToolResult::Done(self.shorten_output(observation).await),
                Err(ToolError::Failed { reason, detail }) => ToolResult::Failed { reason, detail },
                Err(ToolError::Interrupted(interrupt)) => {
                    tracing::warn!(code = interrupt.code, "tool interrupted");
                    return vec![Input::Interrupted {
                        target: InterruptTarget::Call(call),
                        interrupt,
                    }];
                }
            };
            let took_ms = elapsed_ms(started_ms, clock.now_ms());
            match &outcome {
                ToolResult::Done(_) => tracing::info!(took_ms, "tool returned"),
                ToolResult::Failed { reason, .. } => {
                    tracing::warn!(took_ms, reason = reason.as_str(), "tool failed");
                }
                ToolResult::PlanRefused { .. } => {}
            }
            vec![Input::ToolReturned { call, result: outcome, took_ms }]
        }
        .instrument(span)
        .await
    }

    async fn run_and_show_progress(&self) -> Result<ToolOutput, ToolExecutionError> {
        let clock = self.ports.clock();
        let deny = &self.ports.content().deny;
        let feed = ProgressFeed::new(clock, &self.context, &self.reports, &self.live_sender, deny);
        // Boxed, because its observer would reserve space for it twice.
        feed.show_while(Box::pin(self.run_attempt())).await
    }

    /// Makes one attempt. A suspension may be the only cause of a failure, since the remote side kept
    /// running.
    async fn run_attempt(&self) -> Result<ToolOutput, ToolExecutionError> {
        let mut time = AwakeTime::new(self.ports.clock());
        let error = match self.run_with_timeout(&mut time).await {
            Ok(output) => return Ok(output),
            Err(error) => error,
        };
        let ToolError::Failed { reason, .. } = &error else {
            return Err(ToolExecutionError::Final(error));
        };
        if !time.was_suspended() {
            return Err(ToolExecutionError::Final(error));
        }
        tracing::warn!(reason = reason.as_str(), "tool failed while its process stood still");
        if self.invocation.class == EffectClass::Once {
            let reason = ToolFailure::Uncertain;
            let detail = String::new();
            return Err(ToolExecutionError::Final(ToolError::Failed { reason, detail }));
        }
        Err(ToolExecutionError::ProcessStalled)
    }

    async fn run_with_timeout(
        &self,
        time: &mut AwakeTime<'_, P::Clock>,
    ) -> Result<ToolOutput, ToolError> {
        let tool = self.find_tool().await?;
        let none = Map::new();
        let arguments = match &self.invocation.call.arguments {
            ToolArguments::Parsed(arguments) => arguments,
            ToolArguments::Malformed { .. } => &none,
        };
        tool.check_arguments(arguments).map_err(|detail| {
            let reason = ToolFailure::BadArguments;
            ToolError::Failed { reason, detail }
        })?;
        let owner = tool.state_owner().unwrap_or_else(|| self.invocation.call.tool.clone());
        let context =
            ToolContext { state: self.states.get(&owner).cloned(), ..self.context.clone() };
        let result = time.run_within(self.timeout, tool.run(&context, arguments)).await;
        result.unwrap_or_else(|| {
            Err(ToolError::Failed {
                reason: ToolFailure::TimedOut,
                detail: self.timeout.as_secs_f64().ceil().to_string(),
            })
        })
    }

    /// Returns the offered tool, if unchanged since the offer.
    async fn find_tool(&self) -> Result<Arc<dyn Tool>, ToolError> {
        let failure = |reason, detail| Err(ToolError::Failed { reason, detail });
        let toolbox = self.ports.tools();
        let clock = self.ports.clock();
        let tools = Box::pin(toolbox.list_tools(clock, &self.audience)).await;
        let language = self.context.language;
        match tools.find_tool(&self.invocation.call.tool) {
            Some(tool) => {
                let ToolInvocation { schema_hash, class, policy, .. } = &self.invocation;
                let spec = tool.spec(language);
                let spec = if policy.hands_over { to_hand_over(spec) } else { spec };
                let now = spec.to_offered();
                if now.is_callable_as(schema_hash, *class, policy) {
                    Ok(tool)
                } else {
                    failure(ToolFailure::Changed, String::new())
                }
            }
            // The tool was removed from the deployment after the offer.
            None if tools.is_complete() => failure(ToolFailure::UnknownTool, String::new()),
            None => {
                let detail = self.ports.prompts().render(language, prompt::TOOL_UNAVAILABLE, ());
                failure(ToolFailure::Error, detail)
            }
        }
    }

    /// Makes the output readable for this run: cuts texts to their limit, removes control characters and
    /// masks personal data.
    async fn make_readable(&self, came: &mut Result<ToolOutput, ToolError>) {
        for text in came.texts() {
            let readable = self.context.mask_text(text.to_readable()).await;
            text.replace_with(readable);
        }
    }

    /// Shortens a result for the model and the journal. Keeps displayable images, up to the maximum. Stores a
    /// text above the limit in an internal file.
    async fn shorten_output(&self, mut observation: ToolOutput) -> ToolOutput {
        observation.images.retain(RequestImage::can_show);
        observation.images.truncate(MAX_RESULT_IMAGES);
        let max = self.context.max_observe as usize;
        let characters = observation.text.chars().count();
        if characters > max {
            observation.full_output = self.store_full_output(&observation.text, characters).await;
            observation.text = observation.text.chars().take(max).collect();
        }
        observation
    }

    async fn store_full_output(&self, text: &str, characters: usize) -> Option<FullOutput> {
        let file = FileName::new(result_file_name(&self.key, &self.invocation.call.id)).ok()?;
        let new = NewFile {
            media_type: media_type_of(file.as_str()).to_owned(),
            name: file,
            description: format!("{} {}", self.invocation.call.tool, self.invocation.call.id),
            internal: true,
            uploaded: false,
            writer: self.context.user.clone(),
        };
        let bytes = text.as_bytes();
        match self.ports.store().write_file(&self.context.session, &new, bytes).await {
            Ok(entry) => Some(FullOutput { file: entry.name, characters: characters as u64 }),
            Err(error) => {
                tracing::warn!(%error, "the whole result could not be kept");
                None
            }
        }
    }
}

/// Returns the newest state of each tool, by tool name: from its own calls in complete turns, or from calls of a
/// tool that replaces the state.
fn find_states(conversation: &Conversation) -> BTreeMap<String, ToolState> {
    let calls = conversation.items.iter().flat_map(|item| match item {
        ConversationItem::Turn(turn) => turn.calls.as_slice(),
        ConversationItem::Nudge(_)
        | ConversationItem::UserMessage(_)
        | ConversationItem::Review(_)
        | ConversationItem::PlanEdited(_)
        | ConversationItem::Round { .. } => &[],
    });
    let states = calls.filter_map(|(call, result)| match result {
        ToolResult::Done(output) => {
            let state = output.state.as_deref()?.clone();
            Some((state.owner.clone().unwrap_or_else(|| call.tool.clone()), state))
        }
        ToolResult::Failed { .. } | ToolResult::PlanRefused { .. } => None,
    });
    states.collect()
}

/// Returns the name of a result's internal file: unique in the session, equal for every attempt.
fn result_file_name(key: &RunKey, call: &CallId) -> String {
    let run: String = key.run.as_str().chars().skip(4).take(8).collect();
    format!("result-{run}-{}.txt", call.clone().below(&key.path))
}
