//! The public form of human requests and responses.

use djinn_core::human::{
    HumanRequest, HumanResponse, Interrupt, Reason, ResponseChannel, ResponseRecord, Subject, TopUp,
};
use djinn_core::tool::Risk;
use serde::Serialize;
use serde_json::{Map, Value};

use super::{PublicEstimate, PublicFailure};

/// One thing that people are asked.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PublicHumanRequest<'a> {
    /// The name by which it is answered.
    pub id: String,
    /// The way to the run below that asks; absent for the run itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// What it is about.
    #[serde(flatten)]
    pub subject: PublicSubject<'a>,
    /// How much harm a wrong answer can do.
    pub risk: Risk,
    /// Why it is asked; absent if nothing is asked for consent.
    #[serde(skip_serializing_if = "<[Reason]>::is_empty")]
    pub reasons: &'a [Reason],
    /// What it may cost.
    pub estimate: PublicEstimate,
    /// The fingerprint of what is shown: an answer that carries another is refused.
    pub digest: &'a str,
    /// When it is decided without an answer, Unix milliseconds; absent if it waits for ever.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at_ms: Option<i64>,
    /// Where whoever has the link can answer it; absent where a deployment makes none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link: Option<String>,
}

/// What a person is asked about.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "about", rename_all = "snake_case")]
pub enum PublicSubject<'a> {
    /// Whether a call may be made.
    Call {
        /// The id of the call.
        call: String,
        /// The tool's name; `ask_user` is a question of the model's.
        tool: &'a str,
        /// Its arguments, which a `modify` replaces.
        arguments: &'a Map<String, Value>,
    },
    /// Whether a call that its tool interrupted is made again.
    CallInterrupt {
        /// The id of the call.
        call: String,
        /// The name of the tool.
        tool: &'a str,
        /// Its arguments, which a `modify` replaces.
        arguments: &'a Map<String, Value>,
        /// Why the tool stopped.
        interrupt: PublicInterrupt<'a>,
    },
    /// Whether a call of a model that was interrupted is made again.
    ModelInterrupt {
        /// The message that it was to write.
        message: String,
        /// Why it stopped, in its own words.
        interrupt: PublicInterrupt<'a>,
    },
    /// Whether a step of the plan may begin.
    StepReview {
        /// The id of the step.
        step: String,
        /// What is to be done, which a `modify` replaces.
        details: &'a str,
    },
    /// Whether the result of a step is what the user wants.
    ResultReview {
        /// The id of the step.
        step: String,
        /// What was to be done.
        details: &'a str,
        /// What came of it, which a `modify` replaces.
        text: &'a str,
        /// The names of its files.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        files: Vec<&'a str>,
    },
    /// Whether the run may use up more than its budget.
    BudgetExtension {
        /// What is used up: `tokens_used_up` or `money_used_up`.
        used_up: PublicFailure<'a>,
        /// What `confirm` grants, and `modify` replaces by less.
        offer: PublicTopUp,
    },
}

/// Why a call stopped, in the words of the tool or the provider.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PublicInterrupt<'a> {
    /// The tool's own code.
    pub code: &'a str,
    /// A sentence for the user.
    pub message: &'a str,
}

/// What a run may use up besides its budget.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PublicTopUp {
    /// Tokens that models read and wrote.
    pub tokens: u64,
    /// Millionths of a US dollar; 0 for a run without such a budget.
    pub micro_usd: u64,
}

/// What was answered to something that was asked.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PublicResponse<'a> {
    /// The id of what was asked.
    pub request: String,
    /// The answer's own id; absent if nobody answered in time.
    #[serde(rename = "answer_id", skip_serializing_if = "str::is_empty")]
    pub id: &'a str,
    /// Who answered; absent if nobody did, and for clients that are not told names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<&'a str>,
    /// The name of what was answered.
    #[serde(flatten)]
    pub answer: PublicAnswer<'a>,
    /// What was said besides; absent if nothing was.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub comment: &'a str,
    /// The fingerprint of what was decided about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest: Option<&'a str>,
    /// How the answer came, if not with the credentials of whom it names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub via: Option<ResponseChannel>,
}

/// An answer, by its word.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "answer", rename_all = "snake_case")]
pub enum PublicAnswer<'a> {
    /// As it was asked.
    Confirm,
    /// With these parameters in the place of those that were shown.
    Modify {
        /// The parameters in their place.
        arguments: &'a Map<String, Value>,
    },
    /// Not this, and go on.
    Skip,
    /// Not this, and end the run.
    Stop,
    /// Words for the model.
    Say {
        /// The words that were said.
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
        Self { code: &interrupt.code, message: &interrupt.message }
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
            answer: PublicAnswer::new(&record.answer),
            comment: &record.comment,
            digest: record.digest.as_deref(),
            via: record.via,
        }
    }
}

impl<'a> PublicAnswer<'a> {
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
