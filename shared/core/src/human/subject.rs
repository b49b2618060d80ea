//! What people are asked about, and what of it they may change.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{ASK_USER, Interrupt, TopUp};
use crate::conversation::MAX_REPORT;
use crate::error_code::Failure;
use crate::id::{CallId, FileName, MessageId, StepId};
use crate::plan::MAX_STEP;

/// What a person is asked about.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "about", rename_all = "snake_case")]
pub enum Subject {
    /// Whether a call may be made.
    Call {
        /// The id of the call that waits for consent.
        call: CallId,
        /// The name of the tool that is called.
        tool: String,
        /// The arguments that a person sees, and may replace.
        arguments: Map<String, Value>,
    },
    /// Whether a call that its tool interrupted is to be made again.
    CallInterrupt {
        /// The id of the call that was interrupted.
        call: CallId,
        /// The name of the tool that interrupted it.
        tool: String,
        /// The arguments with which the call is made again.
        arguments: Map<String, Value>,
        /// The code and the sentence with which the tool stopped.
        interrupt: Interrupt,
    },
    /// Whether a model call that its provider or a budget interrupted is to be made again.
    ModelInterrupt {
        /// The message it was to write.
        message: MessageId,
        /// The code and the sentence with which the provider or the budget stopped.
        interrupt: Interrupt,
    },
    /// Whether a step of the plan may begin.
    StepReview {
        /// The step that waits for consent.
        step: StepId,
        /// What is to be done.
        details: String,
    },
    /// Whether what came of a step is what the user wanted.
    ResultReview {
        /// The step whose result is shown.
        step: StepId,
        /// What was to be done.
        details: String,
        /// What came of it.
        text: String,
        /// The names of its files.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        files: Vec<FileName>,
    },
    /// Whether the run may use up more than its budget.
    BudgetExtension {
        /// What of it is used up: `tokens_used_up` or `money_used_up`.
        used_up: Failure,
        /// The extension that `confirm` grants, and `modify` replaces.
        offer: TopUp,
    },
}

impl Subject {
    /// Whether a model asks its user for something: what people answer are words for it.
    #[must_use]
    pub fn is_question(&self) -> bool {
        self.call().is_some_and(|(_, tool, _)| tool == ASK_USER)
    }

    /// The call it is about, with its tool and arguments.
    #[must_use]
    pub fn call(&self) -> Option<(&CallId, &str, &Map<String, Value>)> {
        match self {
            Self::Call { call, tool, arguments }
            | Self::CallInterrupt { call, tool, arguments, .. } => Some((call, tool, arguments)),
            Self::ModelInterrupt { .. }
            | Self::StepReview { .. }
            | Self::ResultReview { .. }
            | Self::BudgetExtension { .. } => None,
        }
    }

    /// What a `modify` replaces, all of it; `None` where there is nothing to change.
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

    /// Whether a `modify` may give these parameters, of what is no call.
    ///
    /// # Errors
    /// What is wrong with them, for a person.
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

    /// The one text that a `modify` of a step or a result gives.
    ///
    /// # Errors
    /// What is wrong with it, for a person.
    pub fn parse_text(&self, parameters: &Map<String, Value>) -> Result<String, String> {
        let (name, most) = match self {
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
        let text = text.filter(|text| !text.trim().is_empty() && text.len() <= most);
        text.map(str::to_owned)
            .ok_or_else(|| format!("`parameters` hold `{name}` alone, a text of 1 to {most} bytes"))
    }

    /// Whether the run stands still until a person says `continue`, rather than asking for consent.
    #[must_use]
    pub fn can_continue(&self) -> bool {
        match self {
            Self::CallInterrupt { .. }
            | Self::ModelInterrupt { .. }
            | Self::BudgetExtension { .. } => true,
            Self::Call { .. } | Self::StepReview { .. } | Self::ResultReview { .. } => false,
        }
    }

    /// What stopped the work, if it was stopped.
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
