//! The public form of human requests and responses.

use djinn_core::human::{
    HumanRequest, HumanResponse, Interrupt, Reason, ResponseChannel, ResponseRecord, Subject, TopUp,
};
use djinn_core::tool::Risk;
use serde::Serialize;
use serde_json::{Map, Value};

use super::{PublicEstimate, PublicFailure};

/// A request to users.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PublicHumanRequest<'a> {
    /// The id for a response.
    pub id: String,
    /// The path of the child run with the request; absent for the run itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The subject of the request.
    #[serde(flatten)]
    pub subject: PublicSubject<'a>,
    /// The possible harm of a wrong response.
    pub risk: Risk,
    /// The reasons for the request; absent if the request asks for no consent.
    #[serde(skip_serializing_if = "<[Reason]>::is_empty")]
    pub reasons: &'a [Reason],
    /// The estimated cost.
    pub estimate: PublicEstimate,
    /// The digest of the subject. A response with another digest is rejected.
    pub digest: &'a str,
    /// The time of the timeout, Unix milliseconds; absent if there is no timeout.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at_ms: Option<i64>,
    /// A link for a response without credentials; absent if the deployment creates no links.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link: Option<String>,
}

/// The subject of a human request.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "about", rename_all = "snake_case")]
pub enum PublicSubject<'a> {
    /// Approval of a call.
    Call {
        /// The id of the call.
        call: String,
        /// The tool's name; `ask_user` for a question of the model.
        tool: &'a str,
        /// The arguments, which `modify` replaces.
        arguments: &'a Map<String, Value>,
    },
    /// Repeat of a call that the tool interrupted.
    CallInterrupt {
        /// The id of the call.
        call: String,
        /// The name of the tool.
        tool: &'a str,
        /// The arguments, which `modify` replaces.
        arguments: &'a Map<String, Value>,
        /// The tool's reason for the interruption.
        interrupt: PublicInterrupt<'a>,
    },
    /// Repeat of an interrupted model call.
    ModelInterrupt {
        /// The id of the call's message.
        message: String,
        /// The reason for the interruption, of the provider or of a budget.
        interrupt: PublicInterrupt<'a>,
    },
    /// Approval of a step before the start.
    StepReview {
        /// The id of the step.
        step: String,
        /// The work of the step, which `modify` replaces.
        details: &'a str,
    },
    /// Review of a step's result.
    ResultReview {
        /// The id of the step.
        step: String,
        /// The work of the step.
        details: &'a str,
        /// The result of the step, which `modify` replaces.
        text: &'a str,
        /// The names of the result's files.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        files: Vec<&'a str>,
    },
    /// Approval of an amount above the run's budget.
    BudgetExtension {
        /// The exhausted budget: `tokens_used_up` or `money_used_up`.
        used_up: PublicFailure<'a>,
        /// The amount that `confirm` grants; `modify` can reduce the amount.
        offer: PublicTopUp,
    },
}

/// The reason for an interrupted call, from the tool or the provider.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PublicInterrupt<'a> {
    /// The tool's own code.
    pub code: &'a str,
    /// A sentence for the user.
    pub message: &'a str,
    /// The key that the call needs of the user who asked: set the key with `PUT /keys/{name}`, then respond.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<PublicNeededKey<'a>>,
}

/// A key that a call needs, without its value.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PublicNeededKey<'a> {
    /// The name of the key.
    pub name: &'a str,
    /// The only origin that receives the key: scheme, host and port.
    pub origin: &'a str,
}

/// An additional amount for a run's budget.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PublicTopUp {
    /// Tokens of input and output.
    pub tokens: u64,
    /// Millionths of a US dollar; 0 for a run without a money budget.
    pub micro_usd: u64,
}

/// The response to a human request.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PublicResponse<'a> {
    /// The id of the human request.
    pub request: String,
    /// The id of the response; absent after a timeout.
    #[serde(rename = "response_id", skip_serializing_if = "str::is_empty")]
    pub id: &'a str,
    /// The user who responded; absent after a timeout, and for clients without access to names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<&'a str>,
    /// The response.
    #[serde(flatten)]
    pub response: PublicResponseContent<'a>,
    /// An additional comment; absent if empty.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub comment: &'a str,
    /// The digest of the subject that the response is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest: Option<&'a str>,
    /// The channel of the response, if the named user did not respond in person.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub via: Option<ResponseChannel>,
}

/// A response, tagged by word.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "response", rename_all = "snake_case")]
pub enum PublicResponseContent<'a> {
    /// Approved as requested.
    Confirm,
    /// Approved with replacement parameters.
    Modify {
        /// The replacement parameters.
        arguments: &'a Map<String, Value>,
    },
    /// Declined; the run continues.
    Skip,
    /// Declined; the run stops.
    Stop,
    /// A text for the model.
    Say {
        /// The text for the model.
        text: &'a str,
    },
}

impl<'a> PublicHumanRequest<'a> {
    /// Returns the public form of a human request, with the optional link for a response without credentials.
    #[must_use]
    pub fn new(request: &'a HumanRequest, link: Option<String>) -> Self {
        Self {
            id: request.id.to_string(),
            path: request.child.as_ref().map(|_| request.id.path().to_string()),
            subject: PublicSubject::new(&request.subject),
            risk: request.risk,
            reasons: &request.reasons,
            estimate: PublicEstimate::new(&request.estimate),
            digest: &request.digest,
            expires_at_ms: request.expires_at_ms,
            link,
        }
    }
}

impl<'a> PublicSubject<'a> {
    fn new(subject: &'a Subject) -> Self {
        match subject {
            Subject::Call { call, tool, arguments } => {
                Self::Call { call: call.to_string(), tool, arguments }
            }
            Subject::CallInterrupt { call, tool, arguments, interrupt } => Self::CallInterrupt {
                call: call.to_string(),
                tool,
                arguments,
                interrupt: PublicInterrupt::new(interrupt),
            },
            Subject::ModelInterrupt { message, interrupt } => Self::ModelInterrupt {
                message: message.to_string(),
                interrupt: PublicInterrupt::new(interrupt),
            },
            Subject::StepReview { step, details } => {
                Self::StepReview { step: step.to_string(), details }
            }
            Subject::ResultReview { step, details, text, files } => Self::ResultReview {
                step: step.to_string(),
                details,
                text,
                files: files.iter().map(|file| file.as_str()).collect(),
            },
            Subject::BudgetExtension { used_up, offer } => {
                let TopUp { tokens, micro_usd } = *offer;
                Self::BudgetExtension {
                    used_up: PublicFailure::new(used_up),
                    offer: PublicTopUp { tokens, micro_usd },
                }
            }
        }
    }
}

impl<'a> PublicInterrupt<'a> {
    fn new(interrupt: &'a Interrupt) -> Self {
        let key = interrupt.key.as_ref();
        let key = key.map(|key| PublicNeededKey { name: key.name.as_str(), origin: &key.origin });
        Self { code: &interrupt.code, message: &interrupt.message, key }
    }
}

impl<'a> PublicResponse<'a> {
    /// Returns the public form of a response.
    #[must_use]
    pub fn new(record: &'a ResponseRecord) -> Self {
        Self {
            request: record.request.to_string(),
            id: &record.id,
            by: record.by.as_ref().map(|user| user.as_str()),
            response: PublicResponseContent::new(&record.answer),
            comment: &record.comment,
            digest: record.digest.as_deref(),
            via: record.via,
        }
    }
}

impl<'a> PublicResponseContent<'a> {
    fn new(answer: &'a HumanResponse) -> Self {
        match answer {
            HumanResponse::Confirm => Self::Confirm,
            HumanResponse::Modify { arguments } => Self::Modify { arguments },
            HumanResponse::Skip => Self::Skip,
            HumanResponse::Stop => Self::Stop,
            HumanResponse::Say { text } => Self::Say { text },
        }
    }
}
