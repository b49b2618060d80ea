//! Requests about runs.

use serde::Deserialize;
use serde_json::{Map, Value};

use super::attachment::AttachmentRequest;
use super::human::HumanSettingsRequest;
use super::value::{WholeNumber, optional_text, required_text};

/// A question, with the options for the answer.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct RunRequest {
    /// The question, at most 64 KB. `continue` continues a run that was cut off. With `arguments`, the
    /// question can be absent.
    pub question: Option<String>,
    /// The question's session: 1 to 128 letters, digits, `-`, `_`, `.` and `:`, or the handle of a share.
    /// Default: a new session.
    #[serde(default, deserialize_with = "optional_text")]
    pub session_id: Option<String>,
    /// The attached files, at most 100, including at most 20 images. Small files can be sent in the body;
    /// upload large files first.
    pub attachments: Option<Vec<AttachmentRequest>>,
    /// Your id for the request. A repeat with the same id, question and files returns the same run.
    #[serde(default, deserialize_with = "optional_text")]
    pub request_id: Option<String>,
    /// The name of the mode, from `GET /modes`: `react` (default), `plan_solve`, or a mode of the deployment.
    #[serde(default, deserialize_with = "optional_text")]
    pub mode: Option<String>,
    /// The arguments of the mode, at most 64 KB, as its `parameters` in `GET /modes` describe them.
    pub arguments: Option<Map<String, Value>>,
    /// The form of the answer, for an answer as a file.
    #[serde(default, deserialize_with = "optional_text")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<djinn_core::settings::OutputStyle>"))]
    pub output_style: Option<String>,
    /// Instructions for this question, in addition to the deployment's.
    #[serde(default, deserialize_with = "optional_text")]
    pub base_prompt: Option<String>,
    /// The review of the answer before the answer is final: `false` for none, `true` for the mode's reviewer
    /// or `reviewer` (default: as the mode's file says).
    pub review: Option<ReviewRequest>,
    /// The settings for human requests. Clients offer the fields `enabled`, `clarify`, `confirm_plan`,
    /// `confirm_steps` and `confirm_results`.
    pub human_requests: Option<HumanSettingsRequest>,
}

/// The review of an answer.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged, expecting = "must be true, false, or an object with `agent` and `rounds`")]
pub enum ReviewRequest {
    /// True for a review, false for none.
    Flag(bool),
    /// The reviewer and the rounds.
    Policy(ReviewerRequest),
}

/// The reviewer of an answer, and the maximum revisions.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ReviewerRequest {
    /// The name of the agent that judges the answer (default: the mode's reviewer, or `reviewer`).
    #[serde(default, deserialize_with = "optional_text")]
    pub agent: Option<String>,
    /// Maximum revisions of the answer, 0 to 3 (default: as in the mode's file, or 1). With 0 there is no
    /// review.
    pub rounds: Option<WholeNumber>,
}

/// A message to a run at work.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct MessageRequest {
    /// The text of the message, 1 to 16 384 bytes.
    #[serde(deserialize_with = "required_text")]
    pub text: String,
    /// Your id for the message: 1 to 128 letters, digits and `_:.-`. A repeat with the same id is not sent
    /// twice.
    #[serde(default, deserialize_with = "optional_text")]
    pub message_id: Option<String>,
}

/// The new plan. A plan from a response can be sent unchanged.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct PlanRequest {
    /// The version of the plan that you changed.
    pub version: WholeNumber,
    /// The plan's title (default: unchanged).
    #[serde(default, deserialize_with = "optional_text")]
    pub title: Option<String>,
    /// The plan's steps in order. The text of started steps cannot change.
    pub steps: Vec<StepRequest>,
}

/// A step of the new plan.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct StepRequest {
    /// The step's id. For a new step: absent, or a name for use in `depends_on`.
    pub id: Option<String>,
    /// The stage of the plan; part of the step's description for its agent.
    pub stage: Option<String>,
    /// The work of the step, 1 to 2 048 bytes.
    pub details: String,
    /// The ids of the steps in this list that must be completed first.
    pub depends_on: Option<Vec<String>>,
    /// The agent for the step, at most 64 bytes; empty for any agent (default: unchanged).
    pub agent: Option<String>,
    /// Read-only: changed by the run, ignored in requests.
    pub status: Option<String>,
    /// Read-only: changed by the run, ignored in requests.
    pub note: Option<String>,
}
