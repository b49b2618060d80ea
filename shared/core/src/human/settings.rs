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
    /// Whether a run that has read untrusted text is held before it sends data out by a call that
    /// cannot be repeated (default yes, also where `enabled` is not set).
    pub guard: bool,
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

/// What somebody changes of the settings: a deployment, for one of its agents or all, or a request.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct HumanSettingsChange {
    enabled: Option<bool>,
    /// Seconds, at most a year; 0 waits for ever.
    timeout: Option<u64>,
    #[serde(alias = "onTimeout")]
    on_timeout: Option<TimeoutAction>,
    #[serde(alias = "autoConfirmTools", alias = "auto-confirm-tools")]
    auto_confirm_tools: Option<BTreeSet<String>>,
    #[serde(alias = "requireConfirmationTools", alias = "require-confirmation-tools")]
    require_confirmation_tools: Option<BTreeSet<String>>,
    #[serde(alias = "highRiskTools", alias = "high-risk-tools")]
    high_risk_tools: Option<BTreeSet<String>>,
    risk: Option<Risk>,
    #[serde(alias = "costThreshold", alias = "cost-threshold")]
    cost_threshold: Option<CostThreshold>,
    guard: Option<bool>,
    #[serde(alias = "confirmPlan", alias = "confirm-plan")]
    confirm_plan: Option<bool>,
    #[serde(alias = "confirmSteps", alias = "confirm-steps")]
    confirm_steps: Option<BTreeSet<String>>,
    #[serde(alias = "confirmResults", alias = "confirm-results")]
    confirm_results: Option<bool>,
    clarify: Option<bool>,
}

/// The longest time-out, in seconds: a year.
pub const MAX_TIMEOUT_S: u64 = 31_536_000;

/// Names in one list of tools.
const MAX_LIST_ITEMS: usize = 100;

/// Bytes of one of them.
const MAX_TOOL_BYTES: usize = 200;

impl HumanSettingsChange {
    /// What is out of range, if anything is.
    #[must_use]
    pub fn find_problem(&self) -> Option<&'static str> {
        let lists =
            [&self.auto_confirm_tools, &self.require_confirmation_tools, &self.high_risk_tools];
        if self.timeout.is_some_and(|seconds| seconds > MAX_TIMEOUT_S) {
            Some("`timeout` is 0 to 31536000 seconds")
        } else if !lists.into_iter().flatten().all(is_valid_tool_list) {
            Some("a list of tools has at most 100 names, each of at most 200 bytes")
        } else if self.confirm_steps.as_ref().is_some_and(|steps| !is_valid_step_list(steps)) {
            Some("`confirm_steps` are at most 100, each of 1 to 200 characters")
        } else {
            None
        }
    }

    /// The settings with this change, as whoever runs the deployment wants it.
    #[must_use]
    pub fn apply_to(self, to: HumanSettings) -> HumanSettings {
        HumanSettings {
            enabled: self.enabled.unwrap_or(to.enabled),
            timeout_s: self.timeout.unwrap_or(to.timeout_s),
            on_timeout: self.on_timeout.unwrap_or(to.on_timeout),
            auto_confirm: self.auto_confirm_tools.unwrap_or(to.auto_confirm),
            require: self.require_confirmation_tools.unwrap_or(to.require),
            high_risk: self.high_risk_tools.unwrap_or(to.high_risk),
            risk: self.risk.unwrap_or(to.risk),
            cost: self.cost_threshold.unwrap_or(to.cost),
            guard: self.guard.unwrap_or(to.guard),
            confirm_plan: self.confirm_plan.unwrap_or(to.confirm_plan),
            confirm_steps: self.confirm_steps.unwrap_or(to.confirm_steps),
            confirm_results: self.confirm_results.unwrap_or(to.confirm_results),
            clarify: self.clarify.unwrap_or(to.clarify),
        }
    }

    /// The settings with this change, as whoever asks a question wants it: where the deployment asks
    /// people, a request may have them asked about more, and not about less.
    #[must_use]
    pub fn tighten_settings(self, of: HumanSettings) -> HumanSettings {
        let guard = of.guard || self.guard.unwrap_or_default();
        let confirm_plan = of.confirm_plan || self.confirm_plan.unwrap_or_default();
        let confirm_results = of.confirm_results || self.confirm_results.unwrap_or_default();
        let clarify = self.clarify.unwrap_or(of.clarify);
        let with = |known: &BTreeSet<String>, more: Option<BTreeSet<String>>| {
            known.iter().cloned().chain(more.into_iter().flatten()).collect()
        };
        let confirm_steps = with(&of.confirm_steps, self.confirm_steps.clone());
        // Nobody's silence is made consent by a request.
        let on_timeout = self.on_timeout.filter(|own| *own != TimeoutAction::Confirm);
        let on_timeout = on_timeout.unwrap_or(of.on_timeout);
        let timeout_s = match on_timeout {
            TimeoutAction::Confirm => of.timeout_s,
            TimeoutAction::Skip | TimeoutAction::Stop => self.timeout.unwrap_or(of.timeout_s),
        };
        if !of.enabled {
            let own = self.apply_to(of);
            return HumanSettings {
                guard,
                confirm_plan,
                confirm_steps,
                confirm_results,
                on_timeout,
                timeout_s,
                ..own
            };
        }
        let (cost, own) = (of.cost, self.cost_threshold.unwrap_or(of.cost));
        HumanSettings {
            enabled: true,
            timeout_s,
            on_timeout,
            auto_confirm: of.auto_confirm,
            require: with(&of.require, self.require_confirmation_tools),
            high_risk: with(&of.high_risk, self.high_risk_tools),
            risk: self.risk.map_or(of.risk, |own| own.min(of.risk)),
            cost: CostThreshold {
                token: cost.token.min(own.token),
                time: cost.time.min(own.time),
                api: cost.api.min(own.api),
            },
            guard,
            confirm_plan,
            confirm_steps,
            confirm_results,
            clarify,
        }
    }
}

fn is_valid_tool_list(named: &BTreeSet<String>) -> bool {
    named.len() <= MAX_LIST_ITEMS && named.iter().all(|name| name.len() <= MAX_TOOL_BYTES)
}

fn is_valid_step_list(named: &BTreeSet<String>) -> bool {
    named.len() <= MAX_LIST_ITEMS
        && named.iter().all(|step| (1..=200).contains(&step.chars().count()))
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
