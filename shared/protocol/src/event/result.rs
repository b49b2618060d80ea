//! The public form of call results.

use djinn_core::tool::{FullOutput, ResultView, ToolFailure, ToolOutput, ToolResult};
use serde::Serialize;

use super::{
    PublicCitation, PublicFile, PublicFindings, PublicPlan, PublicPlanProblem, PublicQueryRows,
};
use crate::link::SessionLinks;

/// The result of a call.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum PublicToolResult<'a> {
    /// The tool ran to its end.
    Done {
        /// The part of the output for the model.
        text: &'a str,
        /// The sources in the list at the end of the text, as of `deep_search`; absent without such a list.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        citations: Vec<PublicCitation<'a>>,
        /// The file with the complete output, if the output was too long for the model.
        full_output: Option<PublicFullOutput<'a>>,
        /// The part of the output for display.
        view: PublicResultView<'a>,
        /// The files that the call wrote or changed.
        files: Vec<PublicFile<'a>>,
    },
    /// The call did not run, or failed.
    Failed {
        /// The kind of failure.
        reason: ToolFailure,
        /// A description of the failure; may be empty.
        detail: &'a str,
    },
    /// The plan or the change was rejected.
    PlanRefused {
        /// The error in the plan.
        error: PublicPlanProblem<'a>,
    },
}

/// An output that was too long for the model.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PublicFullOutput<'a> {
    /// The name of the file with the complete output.
    pub file: &'a str,
    /// The length in characters.
    pub characters: u64,
}

/// The part of a result for display.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum PublicResultView<'a> {
    /// The text, for visible calls.
    Text,
    /// A file written by the call.
    FileWritten {
        /// The file and its links.
        file: PublicFile<'a>,
    },
    /// A file read by the call.
    FileRead {
        /// The file and its links.
        file: PublicFile<'a>,
    },
    /// The user's response: the text.
    UserAnswer,
    /// The plan after the call.
    Plan {
        /// The complete plan.
        plan: PublicPlan<'a>,
    },
    /// The results of a web search.
    Searched {
        /// The results by query, in order.
        results: Vec<PublicFindings<'a>>,
    },
    /// The results of queries over tables.
    Rows {
        /// The results by query, in order.
        results: Vec<PublicQueryRows<'a>>,
    },
}

impl<'a> PublicToolResult<'a> {
    /// Returns the public form of a result, with the links of its session.
    #[must_use]
    pub fn new(result: &'a ToolResult, links: &SessionLinks) -> Self {
        match result {
            // Images are for the model, and the state is the tool's: a client is shown the files.
            ToolResult::Done(ToolOutput {
                text,
                full_output,
                view,
                files,
                images: _,
                state: _,
                known_urls: _,
            }) => Self::Done {
                text,
                citations: if *view == ResultView::Text {
                    PublicCitation::list(text)
                } else {
                    Vec::new()
                },
                full_output: full_output.as_ref().map(PublicFullOutput::new),
                view: PublicResultView::new(view, links),
                files: PublicFile::list(files, links),
            },
            ToolResult::Failed { reason, detail } => Self::Failed { reason: *reason, detail },
            ToolResult::PlanRefused { error } => {
                Self::PlanRefused { error: PublicPlanProblem::new(error) }
            }
        }
    }
}

impl<'a> PublicFullOutput<'a> {
    fn new(output: &'a FullOutput) -> Self {
        Self { file: output.file.as_str(), characters: output.characters }
    }
}

impl<'a> PublicResultView<'a> {
    fn new(view: &'a ResultView, links: &SessionLinks) -> Self {
        match view {
            ResultView::Text => Self::Text,
            ResultView::FileWritten { file } => {
                Self::FileWritten { file: PublicFile::new(file, links) }
            }
            ResultView::FileRead { file } => Self::FileRead { file: PublicFile::new(file, links) },
            ResultView::UserAnswer => Self::UserAnswer,
            ResultView::Plan { plan } => Self::Plan { plan: PublicPlan::new(plan) },
            ResultView::Searched { results } => {
                Self::Searched { results: results.iter().map(PublicFindings::new).collect() }
            }
            ResultView::Rows { results } => {
                Self::Rows { results: results.iter().map(PublicQueryRows::new).collect() }
            }
        }
    }
}
