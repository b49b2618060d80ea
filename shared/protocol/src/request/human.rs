//! Human responses, and the settings of human requests.

use djinn_core::human::{CostThreshold, TimeoutAction};
use djinn_core::tool::Risk;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::value::{optional_text, required_text};

/// A response to a human request.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ResponseRequest {
    /// `confirm`, `modify`, `skip`, `stop`, or a text for the model.
    #[serde(deserialize_with = "required_text")]
    pub response: String,
    /// The replacement parameters for `modify`: all parameters, not only the changed ones.
    pub parameters: Option<Map<String, Value>>,
    /// An additional comment, at most 4 096 bytes.
    #[serde(default, deserialize_with = "optional_text")]
    pub comment: Option<String>,
    /// The digest of the request as shown to the user. A response with another digest is rejected.
    #[serde(default, deserialize_with = "optional_text")]
    pub digest: Option<String>,
}

/// The settings for human requests. You can ask for more requests than the deployment requires, never for
/// fewer. Field names may also be in camelCase or with hyphens.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(extend("additionalProperties" = true)))]
#[serde(deny_unknown_fields)]
pub struct HumanSettingsRequest {
    /// True if risk, cost and the lists of tools are checked.
    pub enabled: Option<bool>,
    /// Timeout in seconds, after which `on_timeout` applies, at most a year; 0 for no timeout.
    pub timeout: Option<u64>,
    /// The default response at the timeout.
    #[serde(alias = "onTimeout")]
    pub on_timeout: Option<TimeoutWord>,
    /// Tools that need no approval, at most 100. Only applies if the deployment requires approval for no
    /// tool.
    #[serde(alias = "autoConfirmTools", alias = "auto-confirm-tools")]
    pub auto_confirm_tools: Option<Vec<String>>,
    /// Tools that always need approval, at most 100.
    #[serde(alias = "requireConfirmationTools", alias = "require-confirmation-tools")]
    pub require_confirmation_tools: Option<Vec<String>>,
    /// Tools with calls of high risk, at most 100.
    #[serde(alias = "highRiskTools", alias = "high-risk-tools")]
    pub high_risk_tools: Option<Vec<String>>,
    /// The minimum risk of calls that need approval.
    pub risk: Option<RiskWord>,
    /// The maximum estimate for a turn's calls without approval.
    #[serde(alias = "costThreshold", alias = "cost-threshold")]
    pub cost_threshold: Option<CostThresholdRequest>,
    /// True if a run that has read untrusted text needs approval before sending data out.
    pub guard: Option<bool>,
    /// True if a plan needs approval before the first step begins.
    #[serde(alias = "confirmPlan", alias = "confirm-plan")]
    pub confirm_plan: Option<bool>,
    /// Steps that need approval before the start, at most 100: `s3` or `3`, `*` for each, or words of the
    /// step.
    #[serde(alias = "confirmSteps", alias = "confirm-steps")]
    pub confirm_steps: Option<Vec<String>>,
    /// True if each step's result needs a user's review.
    #[serde(alias = "confirmResults", alias = "confirm-results")]
    pub confirm_results: Option<bool>,
    /// True if a model may ask for missing information before planning or working.
    pub clarify: Option<bool>,
}

/// The default response at the timeout.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum TimeoutWord {
    /// The requested action is skipped.
    Skip,
    /// The requested action is performed, if the deployment's settings allow this too.
    Confirm,
    /// The run is stopped.
    Stop,
}

/// The possible harm of a wrong call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum RiskWord {
    /// Reads, or writes only data that the run created.
    Low,
    /// Writes data that other users see.
    Medium,
    /// Sends data out, spends money, or cannot be undone.
    High,
}

/// Estimates above which a turn's calls need approval.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CostThresholdRequest {
    /// Maximum tokens (default 10 000).
    pub token: Option<u64>,
    /// Maximum seconds of the calls (default 60).
    pub time: Option<u64>,
    /// Maximum calls to services of others (default 10).
    pub api: Option<u32>,
}

impl From<TimeoutWord> for TimeoutAction {
    fn from(word: TimeoutWord) -> Self {
        match word {
            TimeoutWord::Skip => Self::Skip,
            TimeoutWord::Confirm => Self::Confirm,
            TimeoutWord::Stop => Self::Stop,
        }
    }
}

impl From<RiskWord> for Risk {
    fn from(word: RiskWord) -> Self {
        match word {
            RiskWord::Low => Self::Low,
            RiskWord::Medium => Self::Medium,
            RiskWord::High => Self::High,
        }
    }
}

impl From<CostThresholdRequest> for CostThreshold {
    fn from(request: CostThresholdRequest) -> Self {
        let Self { token, time, api } = Self::default();
        Self {
            token: request.token.unwrap_or(token),
            time: request.time.unwrap_or(time),
            api: request.api.unwrap_or(api),
        }
    }
}
