//! What people are asked, and what they answer: approvals of calls, and calls that were interrupted.
//!
//! The run holds a call back until it is answered; no prompt is involved. An answer is bound to what was
//! asked about by a digest.

mod questions;
mod response_channel;
mod settings;
mod subject;
mod top_up;

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use questions::parse_questions;
pub use response_channel::ResponseChannel;
pub use settings::{CostThreshold, HumanSettings, TimeoutAction};
pub use subject::Subject;
pub use top_up::TopUp;

use crate::estimate::Estimate;
use crate::id::{ChildId, HumanRequestId, UserId};
use crate::plan::PLANNING_TOOL;
pub use crate::tool::digest_call;
use crate::tool::{OfferedTool, Risk};

/// Bytes of what a person says in an answer.
pub const MAX_RESPONSE_BYTES: usize = 16 * 1024;

/// The tool by which a model asks for what is missing. It is answered by a person and by nobody else.
pub const ASK_USER: &str = "ask_user";

/// Bytes of what a tool or a provider says of an interrupt, and of its code.
pub const MAX_INTERRUPT_BYTES: usize = 1_000;

/// Something that a person is asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HumanRequest {
    /// Names it within its run: `t3.c1`, `t3.c1.again1`; `s2.1.t3.c1` in a child.
    pub id: HumanRequestId,
    /// The child that it came up in; the ids in `subject` are that child's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[serde(alias = "task")]
    pub child: Option<ChildId>,
    /// What it is about.
    #[serde(flatten)]
    pub subject: Subject,
    /// How much harm it can do.
    pub risk: Risk,
    /// Why it is asked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<Reason>,
    /// What it may cost.
    #[serde(default)]
    pub estimate: Estimate,
    /// SHA-256 of what is asked about: see [`digest_call`]. An answer that carries another is stale.
    pub digest: String,
    /// When it is answered by default, Unix milliseconds. `None`: never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at_ms: Option<i64>,
}

/// Why something stopped that can go on once a person has seen to it: credits are used up, a login
/// is needed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Interrupt {
    /// The code of whoever stopped, in its own words or numbers: `20006`.
    pub code: String,
    /// What it says to the user, at most [`MAX_INTERRUPT_BYTES`] bytes.
    pub message: String,
}

/// Why a call needs a person's consent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// The settings name its tool.
    Required,
    /// Its risk is at least what the settings say.
    Risk,
    /// The calls of its turn may cost more than the settings allow.
    Cost,
    /// The settings have plans shown before they begin.
    Plan,
    /// The settings have this step shown before it begins.
    Step,
    /// The settings have what came of each step shown.
    Result,
    /// The run's budget is used up.
    Budget,
    /// The model asks for what is missing.
    Clarification,
    /// It sends data out, and the run has read text that anybody may have written.
    Untrusted,
}

/// What a person answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "snake_case")]
pub enum HumanResponse {
    /// Do it; an interrupted call is made again.
    Confirm,
    /// Do it with these arguments instead: all of them, not only those that differ.
    Modify {
        /// The arguments in place of the model's.
        arguments: Map<String, Value>,
    },
    /// Do not do it; the model is told so.
    Skip,
    /// The run is to stop.
    Stop,
    /// Do not do it; the model is told this instead of a result.
    Say {
        /// At most [`MAX_RESPONSE_BYTES`] bytes.
        text: String,
    },
}

impl HumanRequest {
    /// Whether an answer of this name is about it: it has that id, or is of the message that has.
    #[must_use]
    pub fn is_addressed_by(&self, feedback: &HumanRequestId) -> bool {
        self.id == *feedback || self.id.group() == *feedback
    }
}

impl HumanResponse {
    /// The word used in the API, logs and mail ids.
    #[must_use]
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Confirm => "confirm",
            Self::Modify { .. } => "modify",
            Self::Skip => "skip",
            Self::Stop => "stop",
            Self::Say { .. } => "say",
        }
    }
}

/// An answer on its way to the run that waits for it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ResponseRecord {
    /// What it answers: a [`HumanRequest`], or a message, for all that is asked about its calls.
    pub request: HumanRequestId,
    /// Names the answer among all of them; empty for the one that stands for nobody's.
    #[serde(rename = "answer_id", default, skip_serializing_if = "String::is_empty")]
    pub id: String,
    /// Who answered. `None`: nobody did in time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<UserId>,
    /// The answer, whose fields stand beside these on the wire.
    #[serde(flatten)]
    pub answer: HumanResponse,
    /// What the person added: for whoever reads the audit, and of a change for the model.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub comment: String,
    /// The digest of what the person was shown, if they were told of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// How the answer came in the person's name. `None`: with their own credentials.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub via: Option<ResponseChannel>,
}

/// How something that was asked was answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolution {
    /// Who answered. `None`: nobody did in time.
    pub by: Option<UserId>,
    /// The word of the answer.
    pub response: String,
    /// Names the answer that was taken.
    pub id: String,
}

/// Why an answer changes nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ResponseError {
    /// Nothing of that name was asked.
    UnknownRequest,
    /// It was answered before.
    AlreadyResolved(Resolution),
    /// It is about other arguments.
    Stale,
}

/// Why a call may not be made before somebody consents, apart from what the whole turn costs; empty if
/// it may. `tainted` says whether the run has read untrusted text, and `known_urls` which URLs tell nobody anything.
#[must_use]
pub fn approval_reasons(
    settings: &HumanSettings,
    tool: &OfferedTool,
    arguments: &Map<String, Value>,
    tainted: bool,
    known_urls: &BTreeSet<String>,
) -> Vec<Reason> {
    match tool.name.as_str() {
        ASK_USER => return vec![Reason::Clarification],
        // One that is carried out at once never comes here.
        PLANNING_TOOL => return vec![Reason::Plan],
        _ => {}
    }
    let mut why = Vec::new();
    let is_known = |url: &str| known_urls.contains(url);
    let is_trusted = tool.policy.sends_to_operator || settings.trusted.contains(&tool.name);
    let can_leak = tool.policy.sends_out && !is_trusted;
    if tainted
        && settings.guard
        && can_leak
        && !tool.policy.requested_url(arguments).is_some_and(is_known)
    {
        why.push(Reason::Untrusted);
    }
    if settings.enabled && !settings.is_auto_confirmed(&tool.name) {
        if settings.require.contains(&tool.name) {
            why.push(Reason::Required);
        }
        if call_risk(settings, tool, arguments) >= settings.risk {
            why.push(Reason::Risk);
        }
    }
    why
}

/// How much harm this call can do.
#[must_use]
pub fn call_risk(
    settings: &HumanSettings,
    tool: &OfferedTool,
    arguments: &Map<String, Value>,
) -> Risk {
    if settings.high_risk.contains(&tool.name) {
        return Risk::High;
    }
    if tool.policy.is_harmless(arguments) { Risk::Low } else { tool.policy.risk }
}
