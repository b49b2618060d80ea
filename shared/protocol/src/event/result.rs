//! The public form of call results.

use djinn_core::tool::{FullOutput, ResultView, ToolFailure, ToolOutput, ToolResult};
use serde::Serialize;

use super::{PublicFile, PublicFindings, PublicPlan, PublicPlanProblem};
use crate::link::SessionLinks;

/// What came of a call.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum PublicToolResult<'a> {
    /// The tool ran to its end.
    Done {
        /// What the model is given of it.
        text: &'a str,
        /// Where all of it is, if it was too long for the model.
        full_output: Option<PublicFullOutput<'a>>,
        /// What a client shows of it.
        view: PublicResultView<'a>,
        /// The files it wrote or changed.
        files: Vec<PublicFile<'a>>,
    },
    /// It did not run, or not successfully.
    Failed {
        /// The kind of failure.
        reason: ToolFailure,
        /// What is said about it; may be empty.
        detail: &'a str,
    },
    /// The plan cannot be made or changed so.
    PlanRefused {
        /// What is wrong with it.
        error: PublicPlanProblem<'a>,
    },
}

/// A result that was too long for the model.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PublicFullOutput<'a> {
    /// The name of the file that holds all of it.
    pub file: &'a str,
    /// How many characters that are.
    pub characters: u64,
}

/// What a client shows of a result.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum PublicResultView<'a> {
    /// The text, where the call is visible.
    Text,
    /// A file that was written.
    FileWritten {
        /// The file and its links.
        file: PublicFile<'a>,
    },
    /// A file that was read.
    FileRead {
        /// The file and its links.
        file: PublicFile<'a>,
    },
    /// What the user answered: the text.
    UserAnswer,
    /// The plan as the call left it.
    Plan {
        /// The plan as it is.
        plan: PublicPlan<'a>,
    },
    /// What was found on the web.
    Searched {
        /// What was found, question by question, as they were asked.
        results: Vec<PublicFindings<'a>>,
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
        }
    }
}
