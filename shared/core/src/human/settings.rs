//! When people are asked, and what happens if they do not answer.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::HumanResponse;
use crate::estimate::Estimate;
use crate::id::StepId;
use crate::plan::Step;
use crate::tool::Risk;

/// When people are asked. The names are those of the JoyAgent design's `human-feedback`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct HumanSettings {
    /// Whether risk, cost and the lists below are looked at (default no).
    pub enabled: bool,
    /// Seconds until nobody's answer is the default, 1-31 536 000, default 300; 0 waits for ever.
    pub timeout_s: u64,
    /// What is answered then, default `skip`.
    pub on_timeout: TimeoutAction,
    /// Tools that are never asked about, but for what the guard holds back.
    pub auto_confirm: BTreeSet<String>,
    /// Tools that are always asked about.
    pub require: BTreeSet<String>,
    /// Tools that count as high risk, whatever they declare.
    pub high_risk: BTreeSet<String>,
    /// The risk from which a call is asked about, default `medium`.
    pub risk: Risk,
    /// What the calls of a turn may cost without being asked about.
    pub cost: CostThreshold,
    /// Whether a run that has read untrusted text is held before it sends data out (default yes, also where
    /// `enabled` is not set). A request for a URL is not, if that stands whole in what the run was told.
    pub guard: bool,
    /// Tools that the guard lets pass: an administrator trusts whoever gets what they send (default none).
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub trusted: BTreeSet<String>,
    /// Whether a plan is shown before its first step begins: to be accepted, changed or rejected
    /// (default no).
    pub confirm_plan: bool,
    /// Steps of a plan that a person has to let begin: `s3` or `3`, `*` for each, or words that occur in
    /// the step, whatever their case (default none).
    pub confirm_steps: BTreeSet<String>,
    /// Whether people are asked of what came of each step if that is what they wanted (default no).
    pub confirm_results: bool,
    /// Whether a model may ask for what is missing before it plans or works (default no).
    pub clarify: bool,
}

impl Default for HumanSettings {
    fn default() -> Self {
        Self {
            enabled: false,
            timeout_s: 300,
            on_timeout: TimeoutAction::Skip,
            auto_confirm: BTreeSet::new(),
            require: BTreeSet::new(),
            high_risk: BTreeSet::new(),
            risk: Risk::Medium,
            cost: CostThreshold::default(),
            guard: true,
            trusted: BTreeSet::new(),
            confirm_plan: false,
            confirm_steps: BTreeSet::new(),
            confirm_results: false,
            clarify: false,
        }
    }
}

impl HumanSettings {
    /// Whether the settings confirm calls of this tool by themselves.
    #[must_use]
    pub fn is_auto_confirmed(&self, tool: &str) -> bool {
        self.auto_confirm.contains(tool)
    }

    /// Whether a person has to let this step begin.
    #[must_use]
    pub fn needs_step_approval(&self, step: &Step) -> bool {
        let words = step.label().to_lowercase();
        self.confirm_steps.iter().any(|named| {
            let number = named.strip_prefix('s').unwrap_or(named).parse();
            match number {
                _ if named == "*" => true,
                Ok(number) => step.id == StepId(number),
                Err(_) => words.contains(&named.to_lowercase()),
            }
        })
    }

    /// When what is asked now is answered by default, Unix milliseconds.
    #[must_use]
    pub fn expires_at_ms(&self, at_ms: i64) -> Option<i64> {
        let ms = i64::try_from(self.timeout_s.saturating_mul(1_000)).unwrap_or(i64::MAX);
        (ms > 0).then(|| at_ms.saturating_add(ms))
    }
}

/// What is answered when nobody answers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TimeoutAction {
    /// The call is not made.
    #[default]
    Skip,
    /// The call is made without consent.
    Confirm,
    /// The run is stopped.
    Stop,
}

impl TimeoutAction {
    /// The answer that takes effect in the person's place.
    #[must_use]
    pub fn to_response(self) -> HumanResponse {
        match self {
            Self::Skip => HumanResponse::Skip,
            Self::Confirm => HumanResponse::Confirm,
            Self::Stop => HumanResponse::Stop,
        }
    }
}

/// Estimates above which the calls of a turn are asked about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CostThreshold {
    /// Tokens, default 10 000.
    pub token: u64,
    /// Seconds that the calls may take, default 60.
    pub time: u64,
    /// Calls to others, default 10.
    pub api: u32,
}

impl Default for CostThreshold {
    fn default() -> Self {
        Self { token: 10_000, time: 60, api: 10 }
    }
}

impl CostThreshold {
    /// Whether so much is more than may go unasked.
    #[must_use]
    pub fn is_exceeded_by(&self, estimate: &Estimate) -> bool {
        estimate.tokens > self.token
            || estimate.ms > self.time.saturating_mul(1_000)
            || estimate.calls > self.api
    }
}
