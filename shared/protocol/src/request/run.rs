//! Requests about runs.

use serde::Deserialize;

use super::attachment::AttachmentRequest;
use super::human::HumanFeedbackRequest;
use super::value::{WholeNumber, optional_text, required_text};

/// A question and how it is answered.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct RunRequest {
    /// The question, at most 64 KB. `continue` goes on with a run that was cut off.
    #[cfg_attr(feature = "schema", schemars(required))]
    pub question: Option<String>,
    /// The session it belongs to: 1 to 128 letters, digits, `-`, `_`, `.` and `:`, or the handle of a share.
    /// Without one the question is a session of its own.
    #[serde(default, deserialize_with = "optional_text")]
    pub session_id: Option<String>,
    /// The files that come with it, at most 100, and 20 images among them. What is small enough for the body can
    /// be in it; what is larger is uploaded first.
    pub attachments: Option<Vec<AttachmentRequest>>,
    /// Your name for the request. The same name with the same question and files is the same run.
    #[serde(default, deserialize_with = "optional_text")]
    pub request_id: Option<String>,
    /// Whether a plan is made; `react` unless it is said.
    #[serde(default, deserialize_with = "optional_text")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<djinn_core::settings::Mode>"))]
    pub mode: Option<String>,
    /// The form of the answer, if it is to be a file.
    #[serde(default, deserialize_with = "optional_text")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<djinn_core::settings::OutputStyle>"))]
    pub output_style: Option<String>,
    /// Instructions for this question, besides the deployment's.
    #[serde(default, deserialize_with = "optional_text")]
    pub base_prompt: Option<String>,
    /// When people are asked. `enabled`, `clarify`, `confirm_plan`, `confirm_steps` and `confirm_results` are
    /// the members that a client offers.
    pub human_feedback: Option<HumanFeedbackRequest>,
}

/// A word to a run at work.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct MessageRequest {
    /// 1 to 16 384 bytes.
    #[serde(deserialize_with = "required_text")]
    pub text: String,
    /// Names the message: one that comes again under its name is not said twice. 1 to 128 letters, digits and `_:.-`.
    #[serde(default, deserialize_with = "optional_text")]
    pub message_id: Option<String>,
}

/// A plan as it is to be. A plan that was shown can be sent as it is.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct PlanRequest {
    /// The version that was shown.
    pub version: WholeNumber,
    /// What it is for; as it was, if it is absent.
    #[serde(default, deserialize_with = "optional_text")]
    pub title: Option<String>,
    /// Its steps in their order. Those that have begun keep their words.
    pub steps: Vec<StepRequest>,
}

/// A step as it is to be.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct StepRequest {
    /// The step that it is. Of a new one, nothing, or a name that others may depend on.
    pub id: Option<String>,
    /// What it belongs to.
    pub stage: Option<String>,
    /// What is to be done, 1 to 2 048 bytes.
    pub details: String,
    /// The steps of this list that must be completed before, by their ids.
    pub depends_on: Option<Vec<String>>,
    /// The agent that is to do it, at most 64 bytes, empty for any. Without it a step keeps its own.
    pub agent: Option<String>,
    /// The run's to change: it has no effect, and a new step has none.
    pub status: Option<String>,
    /// The run's to change: it has no effect, and a new step has none.
    pub note: Option<String>,
}
