//! A tool call: checked, run within its time, and its result cut to what the model can use.

use std::time::Duration;

use djinn_core::effect::ToolRun;
use djinn_core::file::media_type_of;
use djinn_core::id::{CallId, FileName};
use djinn_core::input::{Input, Interrupted};
use djinn_core::run::Run;
use djinn_core::tool::{Arguments, EffectClass, FailReason, Observation, Outcome, Whole};
use serde_json::Map;
use tracing::Instrument as _;

use crate::deadline::Deadline;
use crate::own_time::OwnTime;
use crate::port::clock::{Clock, elapsed_ms};
use crate::port::file::{Files, NewFile};
use crate::port::journal::SessionKey;
use crate::port::tool::{ToolContext, ToolFailure};
use crate::port::{Ports, RunKey};
use crate::texts::Texts as _;

/// A tool call to be made.
pub struct Call<P: Ports> {
    /// The world.
    pub ports: P,
    /// The run.
    pub key: RunKey,
    /// Where its files are, and what it may show the model.
    pub context: ToolContext,
    /// What the run owes.
    pub run: ToolRun,
    /// How long it may take; less than its declared time-out at the end of an invocation.
    pub timeout: Duration,
    /// Until when it may be made again.
    pub deadline: Deadline,
}

/// How a call came to no result.
enum Failed {
    /// With this.
    For(ToolFailure),
    /// It is to be made again, and there is no time left for that here.
    StaysOwed,
}

impl<P: Ports> Call<P> {
    /// The call that `run` owes.
    #[must_use]
    pub fn of(
        ports: P,
        key: RunKey,
        state: &Run,
        run: ToolRun,
        timeout: Duration,
        deadline: Deadline,
    ) -> Self {
        let asked = state.asked();
        let context = ToolContext {
            run: key.run.clone(),
            task: key.task.clone(),
            session: SessionKey::of(asked),
            files: state.files().all().iter().map(|file| file.name.clone()).collect(),
            call: run.call.id.clone(),
            attempt: run.attempt,
            round: run.round,
            language: asked.settings.language,
            max_observe: asked.settings.max_observe,
            mask_pii: asked.settings.mask_pii,
        };
        Self { ports, key, context, run, timeout, deadline }
    }

    /// Makes the call. Whatever happens is a result that the model sees. No input at all means that
    /// the call is to be made again and has no time for that in this invocation: it stays owed.
    pub async fn perform(self) -> Vec<Input> {
        let call = self.run.call.id.clone();
        let span = tracing::info_span!(
            "execute_tool",
            gen_ai.operation.name = "execute_tool",
            gen_ai.tool.name = %self.run.call.tool,
            gen_ai.tool.call.id = %call,
            attempt = self.run.attempt,
        );
        async {
            let clock = self.ports.clock();
            let started_ms = clock.now_ms();
            let mut came = match self.run_while_awake().await {
                Ok(observation) => Ok(observation),
                Err(Failed::For(failure)) => Err(failure),
                Err(Failed::StaysOwed) => return Vec::new(),
            };
            self.make_readable(&mut came).await;
            let outcome = match came {
                Ok(observation) => Outcome::Done(self.observed(observation).await),
                Err(ToolFailure::Failed { reason, detail }) => Outcome::Failed { reason, detail },
                Err(ToolFailure::Interrupted(interrupt)) => {
                    tracing::warn!(code = interrupt.code, "tool interrupted");
                    return vec![Input::Interrupted { of: Interrupted::Call(call), interrupt }];
                }
            };
            let took_ms = elapsed_ms(started_ms, clock.now_ms());
            match &outcome {
                Outcome::Done(_) => tracing::info!(took_ms, "tool returned"),
                Outcome::Failed { reason, .. } => {
                    tracing::warn!(took_ms, reason = reason.as_str(), "tool failed");
                }
            }
            vec![Input::ToolReturned { call, outcome, took_ms }]
        }
        .instrument(span)
        .await
    }

    /// What a call failed of while its process stood still, others may have had no part in: their side
    /// of a connection ran on. It is made again, unless nobody knows what it has done.
    async fn run_while_awake(&self) -> Result<Observation, Failed> {
        loop {
            let clock = self.ports.clock();
            let mut time = OwnTime::new(clock);
            let failure = match self.run_within(&mut time).await {
                Ok(observation) => return Ok(observation),
                Err(failure) => failure,
            };
            let ToolFailure::Failed { reason, .. } = &failure else {
                return Err(Failed::For(failure));
            };
            if !time.stood_still() {
                return Err(Failed::For(failure));
            }
            tracing::warn!(reason = reason.as_str(), "tool failed while its process stood still");
            if self.run.class == EffectClass::Once {
                let (reason, detail) = (FailReason::Uncertain, String::new());
                return Err(Failed::For(ToolFailure::Failed { reason, detail }));
            }
            let timeout_ms = u64::try_from(self.timeout.as_millis()).unwrap_or(u64::MAX);
            if !self.deadline.fits(timeout_ms, clock.now_ms()) {
                return Err(Failed::StaysOwed);
            }
        }
    }

    async fn run_within(
        &self,
        time: &mut OwnTime<'_, P::Clock>,
    ) -> Result<Observation, ToolFailure> {
        let name = &self.run.call.tool;
        let Some(tool) = self.ports.tools().find(name) else {
            // It was offered, and has been taken out of the deployment since.
            let reason = FailReason::UnknownTool;
            return Err(ToolFailure::Failed { reason, detail: String::new() });
        };
        let none = Map::new();
        let arguments = match &self.run.call.arguments {
            Arguments::Parsed(arguments) => arguments,
            Arguments::Malformed { .. } => &none,
        };
        tool.check(arguments).map_err(|detail| {
            let reason = FailReason::BadArguments;
            ToolFailure::Failed { reason, detail }
        })?;
        let result = time.within(self.timeout, tool.run(&self.context, arguments)).await;
        result.unwrap_or_else(|| {
            Err(ToolFailure::Failed {
                reason: FailReason::TimedOut,
                detail: self.timeout.as_secs_f64().ceil().to_string(),
            })
        })
    }

    /// Keeps of what a tool brought what is within its bounds and can be read, as this run may see it.
    async fn make_readable(&self, came: &mut Result<Observation, ToolFailure>) {
        for text in came.texts() {
            let readable = self.context.seen_whole(text.readable()).await;
            text.replace(readable);
        }
    }

    /// What of a result the model and the journal get; the whole goes into an internal file.
    async fn observed(&self, mut observation: Observation) -> Observation {
        let max = self.context.max_observe as usize;
        let characters = observation.text.chars().count();
        if characters > max {
            observation.whole = self.keep_whole(&observation.text, characters).await;
            observation.text = observation.text.chars().take(max).collect();
        }
        observation
    }

    async fn keep_whole(&self, text: &str, characters: usize) -> Option<Whole> {
        let file = FileName::new(result_name(&self.key, &self.run.call.id)).ok()?;
        let new = NewFile {
            name: file.clone(),
            description: format!("{} {}", self.run.call.tool, self.run.call.id),
            internal: true,
            media_type: media_type_of(file.as_str()).to_owned(),
        };
        let bytes = text.as_bytes();
        let written = self.ports.store().write_file(&self.context.session, &new, bytes).await;
        if let Err(error) = written {
            tracing::warn!(%error, "the whole result could not be kept");
            return None;
        }
        Some(Whole { file, characters: characters as u64 })
    }
}

/// The internal file of a result: unique in its session, the same for every attempt.
fn result_name(key: &RunKey, call: &CallId) -> String {
    let run: String = key.run.as_str().chars().skip(4).take(8).collect();
    match &key.task {
        None => format!("result-{run}-{call}.txt"),
        Some(task) => format!("result-{run}-{task}.{call}.txt"),
    }
}
