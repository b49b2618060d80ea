//! Settings for human requests and their timeouts.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::HumanResponse;
use crate::estimate::Estimate;
use crate::id::StepId;
use crate::plan::Step;
use crate::tool::Risk;

/// Settings for human requests. The names are from `human-feedback` in the JoyAgent design.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct HumanSettings {
    /// True if risk, cost and the lists below cause requests (default false).
    pub enabled: bool,
    /// Timeout of a request in seconds, 1-31 536 000, default 300; 0 disables the timeout.
    pub timeout_s: u64,
    /// The response at the timeout, default `skip`.
    pub on_timeout: TimeoutAction,
    /// Tools that never need approval, except for calls that the guard holds.
    pub auto_confirm: BTreeSet<String>,
    /// Tools that always need approval.
    pub require: BTreeSet<String>,
    /// Tools that count as high risk, regardless of their declaration.
    pub high_risk: BTreeSet<String>,
    /// The lowest risk that needs approval, default `medium`.
    pub risk: Risk,
    /// The cost of a turn's calls above which they need approval.
    pub cost: CostThreshold,
    /// True if a tainted run's calls that send data out are held (default true, also without `enabled`). A
    /// request is not held if its whole URL appeared in the run's input.
    pub guard: bool,
    /// Tools that the guard lets pass, because an administrator trusts their recipients (default none).
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub trusted: BTreeSet<String>,
    /// True if a user accepts, changes or rejects each plan before its first step (default false).
    pub confirm_plan: bool,
    /// Steps that need approval before they begin: `s3` or `3`, `*` for each step, or words of the step in
    /// any case (default none).
    pub confirm_steps: BTreeSet<String>,
    /// True if a user reviews the result of each step (default false).
    pub confirm_results: bool,
    /// True if a model may ask its user for missing information before it plans or works (default false).
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
    /// Returns true if calls of this tool need no approval, except for calls that the guard holds.
    #[must_use]
    pub fn is_auto_confirmed(&self, tool: &str) -> bool {
        self.auto_confirm.contains(tool)
    }

    /// Returns true if this step needs approval before it begins.
    #[must_use]
    pub fn needs_step_approval(&self, step: &Step) -> bool {
        let words = step.label().to_lowercase();
        self.confirm_steps.iter().any(|name| {
            let number = name.strip_prefix('s').unwrap_or(name).parse();
            match number {
                _ if name == "*" => true,
                Ok(number) => step.id == StepId(number),
                Err(_) => words.contains(&name.to_lowercase()),
            }
        })
    }

    /// Returns the expiry of a request sent at `at_ms`, Unix milliseconds. `None` if requests never expire.
    #[must_use]
    pub fn expires_at_ms(&self, at_ms: i64) -> Option<i64> {
        let ms = i64::try_from(self.timeout_s.saturating_mul(1_000)).unwrap_or(i64::MAX);
        (ms > 0).then(|| at_ms.saturating_add(ms))
    }
}

/// The default response at the timeout of a request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
    /// Returns the response that takes effect at the timeout.
    #[must_use]
    pub fn to_response(self) -> HumanResponse {
        match self {
            Self::Skip => HumanResponse::Skip,
            Self::Confirm => HumanResponse::Confirm,
            Self::Stop => HumanResponse::Stop,
        }
    }
}

/// Estimates above which a turn's calls need approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CostThreshold {
    /// Tokens of all calls together, default 10 000.
    pub token: u64,
    /// Seconds of all calls together, default 60.
    pub time: u64,
    /// Calls to external services, default 10.
    pub api: u32,
}

impl Default for CostThreshold {
    fn default() -> Self {
        Self { token: 10_000, time: 60, api: 10 }
    }
}

impl CostThreshold {
    /// Returns true if at least one estimate is above its limit.
    #[must_use]
    pub fn is_exceeded_by(&self, estimate: &Estimate) -> bool {
        estimate.tokens > self.token
            || estimate.ms > self.time.saturating_mul(1_000)
            || estimate.calls > self.api
    }
}
