//! Human requests and responses: approvals of calls, and calls that were interrupted.
//!
//! The run holds a call back until a user has responded; no prompt is involved. A digest binds each response
//! to the subject of its request.

mod questions;
mod response_channel;
mod settings;
mod subject;
mod top_up;

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use questions::{ModelQuestion, parse_questions};
pub use response_channel::ResponseChannel;
pub use settings::{CostThreshold, HumanSettings, TimeoutAction};
pub use subject::Subject;
pub use top_up::TopUp;

use crate::estimate::Estimate;
use crate::id::{ChildId, HumanRequestId, KeyName, UserId};
use crate::plan::PLANNING_TOOL;
pub use crate::tool::digest_call;
use crate::tool::{OfferedTool, Risk};

/// Maximum bytes of a user's text in a response.
pub const MAX_RESPONSE_BYTES: usize = 16 * 1024;

/// The tool by which a model asks a user for missing information. Only a user can respond.
pub const ASK_USER: &str = "ask_user";

/// Maximum bytes of an interrupt's message, and of its code.
pub const MAX_INTERRUPT_BYTES: usize = 1_000;

/// A request to a user.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HumanRequest {
    /// The id, unique in the run: `t3.c1`, `t3.c1.again1`; `s2.1.t3.c1` in a child.
    pub id: HumanRequestId,
    /// The child of the request; the ids in `subject` are the child's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[serde(alias = "task")]
    pub child: Option<ChildId>,
    /// The subject of the request.
    #[serde(flatten)]
    pub subject: Subject,
    /// The possible harm of the work.
    pub risk: Risk,
    /// The reasons for the request.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<Reason>,
    /// The estimated cost of the work.
    #[serde(default)]
    pub estimate: Estimate,
    /// SHA-256 of the subject: see [`digest_call`]. A response with another digest is stale.
    pub digest: String,
    /// The time of the default response, Unix milliseconds. `None`: never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at_ms: Option<i64>,
}

/// The reason for a stop that a user can resolve: credits are used up, a login is needed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Interrupt {
    /// The code of the tool or provider, in its own words or numbers: `20006`.
    pub code: String,
    /// The message for the user, at most [`MAX_INTERRUPT_BYTES`] bytes.
    pub message: String,
    /// The key that the user must set first, if a missing or rejected key is the cause.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<NeededKey>,
}

/// A key of the user who asked, without its value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NeededKey {
    /// The name in the files of tools.
    pub name: KeyName,
    /// The only origin that receives the key: scheme, host and port.
    pub origin: String,
}

/// The reason that a call needs a user's consent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// The settings list the call's tool.
    Required,
    /// The call's risk is at least the risk in the settings.
    Risk,
    /// The turn's calls may cost more than the settings allow.
    Cost,
    /// The settings require a review of plans before the first step.
    Plan,
    /// The settings require a review of this step before the start.
    Step,
    /// The settings require a review of each step's result.
    Result,
    /// The run's budget is used up.
    Budget,
    /// The model asks for missing information.
    Clarification,
    /// The call sends data out, and the run has read untrusted text.
    Untrusted,
}

/// A user's response to a human request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "snake_case")]
pub enum HumanResponse {
    /// Make the call; an interrupted call is repeated.
    Confirm,
    /// Make the call with these arguments, which replace all arguments of the call.
    Modify {
        /// The arguments in place of the model's.
        arguments: Map<String, Value>,
    },
    /// Do not make the call; the model is informed.
    Skip,
    /// Stop the whole run.
    Stop,
    /// Do not make the call; the model reads this text instead of a result.
    Say {
        /// The text, at most [`MAX_RESPONSE_BYTES`] bytes.
        text: String,
    },
}

impl HumanRequest {
    /// Returns true if a response with this id concerns the request: the id is the request's or its group's.
    #[must_use]
    pub fn is_addressed_by(&self, request: &HumanRequestId) -> bool {
        self.id == *request || self.id.group() == *request
    }

    /// Returns the default response to the request at its timeout. `None` if the request never expires. A
    /// timeout never approves sending untrusted content or raising a budget, and never answers a question.
    #[must_use]
    pub fn timeout_action(&self, setting: TimeoutAction) -> Option<TimeoutAction> {
        self.expires_at_ms?;
        let consent_reasons = [Reason::Untrusted, Reason::Budget, Reason::Clarification];
        let needs_consent = consent_reasons.iter().any(|reason| self.reasons.contains(reason));
        let would_consent = setting == TimeoutAction::Confirm && needs_consent;
        Some(if would_consent { TimeoutAction::Skip } else { setting })
    }
}

impl HumanResponse {
    /// Returns the word for the API, logs and mail ids.
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

/// A response on its way to the run that waits for it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ResponseRecord {
    /// The id of a [`HumanRequest`], or of a message for all requests about its calls.
    pub request: HumanRequestId,
    /// The id of the response; empty for the default response at the timeout.
    #[serde(rename = "answer_id", default, skip_serializing_if = "String::is_empty")]
    pub id: String,
    /// The user who responded. `None` at the timeout.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<UserId>,
    /// The response. On the wire, its fields are in the same object as the others.
    #[serde(flatten)]
    pub answer: HumanResponse,
    /// The user's comment for readers of the audit; for a change, also for the model.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub comment: String,
    /// The digest of the subject as the user saw it, if the client had one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// The channel of the response. `None` for the user in person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub via: Option<ResponseChannel>,
}

/// The result of a human request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolution {
    /// The user who responded. `None` at the timeout.
    pub by: Option<UserId>,
    /// The word for the response.
    pub response: String,
    /// The id of the response that took effect.
    pub id: String,
}

/// The reason why a response has no effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ResponseError {
    /// No request has this id.
    UnknownRequest,
    /// The request already has a response.
    AlreadyResolved(Resolution),
    /// The response is about other arguments.
    Stale,
}

/// Returns the reasons why a call needs approval, apart from the cost of the whole turn. Returns an empty
/// list if no approval is needed. `tainted` is true if the run has read untrusted text. Requests to
/// `known_urls` reveal no data.
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
        // A call that is answered at once never gets here.
        PLANNING_TOOL => return vec![Reason::Plan],
        _ => {}
    }
    let mut reasons = Vec::new();
    let is_known = |url: &str| known_urls.contains(url);
    let is_trusted = settings.trusted.contains(&tool.name);
    let can_leak = tool.policy.can_leak(arguments) && !is_trusted;
    if tainted
        && settings.guard
        && can_leak
        && !tool.policy.requested_url(arguments).is_some_and(is_known)
    {
        reasons.push(Reason::Untrusted);
    }
    if settings.enabled && !settings.is_auto_confirmed(&tool.name) {
        if settings.require.contains(&tool.name) {
            reasons.push(Reason::Required);
        }
        if call_risk(settings, tool, arguments) >= settings.risk {
            reasons.push(Reason::Risk);
        }
    }
    reasons
}

/// Returns the possible harm of this call.
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
