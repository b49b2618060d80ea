//! Human responses, and the settings of human requests.

use djinn_core::human::{CostThreshold, TimeoutAction};
use djinn_core::tool::Risk;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::value::{optional_text, required_text};

/// An answer to something that was asked.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct FeedbackRequest {
    /// The name of what is answered, or of its group.
    #[serde(deserialize_with = "required_text")]
    pub feedback_id: String,
    /// `confirm`, `modify`, `skip`, `stop`, or words for the model; the parameters, of `modify`. It may be
    /// absent where there are `parameters`.
    pub feedback: Option<FeedbackWords>,
    /// What stands in the place of what was shown, of `modify`.
    pub parameters: Option<Map<String, Value>>,
    /// What is said besides, at most 4 096 bytes.
    #[serde(default, deserialize_with = "optional_text")]
    pub comment: Option<String>,
    /// The fingerprint of what was shown: another is refused.
    #[serde(default, deserialize_with = "optional_text")]
    pub digest: Option<String>,
}

/// What somebody answers: words, or what stands in the place of what was shown.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged, expecting = "must be a non-empty string, or an object of parameters")]
pub enum FeedbackWords {
    /// A word of the API, or words for the model.
    Words(String),
    /// The parameters of `modify`.
    Parameters(Map<String, Value>),
}

/// When people are asked: more often than the deployment says, never less. The names are taken in camelCase
/// and with hyphens too.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(extend("additionalProperties" = true)))]
#[serde(deny_unknown_fields)]
pub struct HumanFeedbackRequest {
    /// Whether risk, cost and the lists of tools are looked at.
    pub enabled: Option<bool>,
    /// Seconds until nobody's answer is `on_timeout`, at most a year; 0 waits for ever.
    pub timeout: Option<u64>,
    /// What is answered when nobody answers.
    #[serde(alias = "onTimeout")]
    pub on_timeout: Option<TimeoutWord>,
    /// Tools that are not asked about, at most 100. It counts where the deployment itself asks about none.
    #[serde(alias = "autoConfirmTools", alias = "auto-confirm-tools")]
    pub auto_confirm_tools: Option<Vec<String>>,
    /// Tools that are always asked about, at most 100.
    #[serde(alias = "requireConfirmationTools", alias = "require-confirmation-tools")]
    pub require_confirmation_tools: Option<Vec<String>>,
    /// Tools that count as high risk, at most 100.
    #[serde(alias = "highRiskTools", alias = "high-risk-tools")]
    pub high_risk_tools: Option<Vec<String>>,
    /// The risk from which a call is asked about.
    pub risk: Option<RiskWord>,
    /// What the calls of a turn may cost without being asked about.
    #[serde(alias = "costThreshold", alias = "cost-threshold")]
    pub cost_threshold: Option<CostThresholdRequest>,
    /// Whether a run that has read untrusted text is held before it sends data out.
    pub guard: Option<bool>,
    /// Whether a plan is shown before its first step begins.
    #[serde(alias = "confirmPlan", alias = "confirm-plan")]
    pub confirm_plan: Option<bool>,
    /// Steps that a person has to let begin, at most 100: `s3` or `3`, `*` for each, or words of the step.
    #[serde(alias = "confirmSteps", alias = "confirm-steps")]
    pub confirm_steps: Option<Vec<String>>,
    /// Whether people are asked of what came of each step.
    #[serde(alias = "confirmResults", alias = "confirm-results")]
    pub confirm_results: Option<bool>,
    /// Whether a model may ask for what is missing before it plans or works.
    pub clarify: Option<bool>,
}

/// What is answered when nobody answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum TimeoutWord {
    /// What was asked about is not done.
    Skip,
    /// It is done, where the deployment says so too.
    Confirm,
    /// The run is stopped.
    Stop,
}

/// How much harm a wrong call can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum RiskWord {
    /// It reads, or writes what the run itself made.
    Low,
    /// It writes what others see.
    Medium,
    /// It sends data out, spends money, or cannot be undone.
    High,
}

/// Estimates above which the calls of a turn are asked about.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CostThresholdRequest {
    /// Tokens; 10 000 unless it is said.
    pub token: Option<u64>,
    /// Seconds that the calls may take; 60 unless it is said.
    pub time: Option<u64>,
    /// Calls to others; 10 unless it is said.
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
