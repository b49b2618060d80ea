//! Subjects of human requests, and the parts that users may change.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{ASK_USER, Interrupt, TopUp};
use crate::conversation::MAX_REPORT;
use crate::error_code::Failure;
use crate::id::{CallId, FileName, MessageId, StepId};
use crate::plan::MAX_STEP;

/// The subject of a human request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "about", rename_all = "snake_case")]
pub enum Subject {
    /// Approval of a call.
    Call {
        /// The id of the call that waits for consent.
        call: CallId,
        /// The name of the called tool.
        tool: String,
        /// The arguments; a user sees them and may replace them.
        arguments: Map<String, Value>,
    },
    /// Approval to repeat a call that its tool interrupted.
    CallInterrupt {
        /// The id of the interrupted call.
        call: CallId,
        /// The name of the tool that interrupted the call.
        tool: String,
        /// The arguments of the repeated call.
        arguments: Map<String, Value>,
        /// The tool's code and sentence.
        interrupt: Interrupt,
    },
    /// Approval to repeat a model call that its provider or a budget interrupted.
    ModelInterrupt {
        /// The message of the model call.
        message: MessageId,
        /// The code and the sentence of the provider or the budget.
        interrupt: Interrupt,
    },
    /// Approval of a step before it begins.
    StepReview {
        /// The step that waits for consent.
        step: StepId,
        /// The work of the step.
        details: String,
    },
    /// A review of a step's result.
    ResultReview {
        /// The step of the result.
        step: StepId,
        /// The work of the step.
        details: String,
        /// The text of the result.
        text: String,
        /// The names of the step's files.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        files: Vec<FileName>,
    },
    /// An extension of the run's budget.
    BudgetExtension {
        /// The used-up part: `tokens_used_up` or `money_used_up`.
        used_up: Failure,
        /// The extension that `confirm` grants and `modify` replaces.
        offer: TopUp,
    },
}

impl Subject {
    /// Returns true if the request is a model's question; the response is then text for the model.
    #[must_use]
    pub fn is_question(&self) -> bool {
        self.call().is_some_and(|(_, tool, _)| tool == ASK_USER)
    }

    /// Returns the call of the request, with its tool and arguments.
    #[must_use]
    pub fn call(&self) -> Option<(&CallId, &str, &Map<String, Value>)> {
        match self {
            Self::Call { call, tool, arguments }
            | Self::CallInterrupt { call, tool, arguments, .. } => Some((call, tool, arguments)),
            _ => None,
        }
    }

    /// Returns the parameters that a `modify` replaces as a whole. `None` if nothing can be changed.
    #[must_use]
    pub fn parameters(&self) -> Option<Map<String, Value>> {
        let one = |name: &str, value: &str| Map::from_iter([(name.to_owned(), value.into())]);
        match self {
            Self::Call { arguments, .. } | Self::CallInterrupt { arguments, .. } => {
                Some(arguments.clone())
            }
            Self::ModelInterrupt { .. } => None,
            Self::StepReview { details, .. } => Some(one("details", details)),
            Self::ResultReview { text, .. } => Some(one("text", text)),
            Self::BudgetExtension { offer: more, .. } => Some(more.parameters()),
        }
    }

    /// Checks the parameters of a `modify` for a subject other than a call.
    ///
    /// # Errors
    /// Returns the problem as a sentence for users.
    pub fn check_parameters(&self, parameters: &Map<String, Value>) -> Result<(), String> {
        match self {
            Self::BudgetExtension { offer: more, .. } => more.parse_amount(parameters).map(drop),
            Self::Call { .. }
            | Self::CallInterrupt { .. }
            | Self::ModelInterrupt { .. }
            | Self::StepReview { .. }
            | Self::ResultReview { .. } => self.parse_text(parameters).map(drop),
        }
    }

    /// Returns the text in a `modify` of a step or a result.
    ///
    /// # Errors
    /// Returns the problem as a sentence for users.
    pub fn parse_text(&self, parameters: &Map<String, Value>) -> Result<String, String> {
        let (name, max_bytes) = match self {
            Self::StepReview { .. } => ("details", MAX_STEP),
            Self::ResultReview { .. } => ("text", MAX_REPORT),
            Self::Call { .. }
            | Self::CallInterrupt { .. }
            | Self::ModelInterrupt { .. }
            | Self::BudgetExtension { .. } => {
                return Err("this has no text that could be changed".to_owned());
            }
        };
        let text = parameters.get(name).and_then(Value::as_str).filter(|_| parameters.len() == 1);
        let text = text.filter(|text| !text.trim().is_empty() && text.len() <= max_bytes);
        text.map(str::to_owned).ok_or_else(|| {
            format!("`parameters` hold `{name}` alone, a text of 1 to {max_bytes} bytes")
        })
    }

    /// Returns true if the run waits for `continue` instead of consent.
    #[must_use]
    pub fn can_continue(&self) -> bool {
        matches!(
            self,
            Self::CallInterrupt { .. } | Self::ModelInterrupt { .. } | Self::BudgetExtension { .. }
        )
    }

    /// Returns the interrupt that stopped the work, if any.
    #[must_use]
    pub fn interrupt(&self) -> Option<&Interrupt> {
        match self {
            Self::Call { .. }
            | Self::StepReview { .. }
            | Self::ResultReview { .. }
            | Self::BudgetExtension { .. } => None,
            Self::CallInterrupt { interrupt, .. } | Self::ModelInterrupt { interrupt, .. } => {
                Some(interrupt)
            }
        }
    }
}
