//! Ends of runs and children, and the files they return.

use super::child::{select_evidence, select_turns};
use super::taint::UrlOrigins;
use crate::budget::Spending;
use crate::conversation::{ChildReport, MAX_REPORT};
use crate::entry::RunResult;
use crate::error_code::Failure;
use crate::file::ProductFile;
use crate::input::{ChildEnded, ChildSpec, FinishReason, RunSpec};
use crate::review::ReviewOutcome;
use crate::status::RunStatus;
use crate::tool::FullOutput;
use crate::verdict::MAX_CANDIDATE;
use djinn_text::truncate::truncate_text;

/// Maximum files that a child's report names: the newest. The run receives all files.
const MAX_REPORT_FILES: usize = 50;

/// Maximum characters of a file's text in the result of the call.
const MAX_EXCERPT: usize = 1_000;

/// The result of the work.
#[derive(Debug)]
pub(super) struct Ending {
    /// The final status: finished, failed or stopped.
    pub(super) status: RunStatus,
    /// The answer; after a failure, the part that exists.
    pub(super) answer: String,
    /// The files of the answer, most important first.
    pub(super) files: Vec<ProductFile>,
    /// The failure that ended the work, if any.
    pub(super) failure: Option<Failure>,
    /// The finish reason of the newest reply with text.
    pub(super) last_finish: FinishReason,
    /// The result of the review of the answer, if any.
    pub(super) review: Option<ReviewOutcome>,
    /// The spending until the end.
    pub(super) spent: Spending,
}

impl Ending {
    /// Returns the result of a run for viewers. `took_ms` includes `paused_ms`, in which the run only waited
    /// for users.
    pub(super) fn into_run_result(self, took_ms: u64, paused_ms: u64) -> RunResult {
        let Self { status, answer, files, failure, last_finish, review, spent } = self;
        let finish = if answer.is_empty() { FinishReason::Done } else { last_finish };
        RunResult { status, answer, files, failure, finish, review, spent, took_ms, paused_ms }
    }

    /// Returns the result of a child: its answer, all files that it wrote and, if its run keeps them, its
    /// turns.
    pub(super) fn into_child_result(
        self,
        child: &ChildSpec,
        tainted: bool,
        answer_file: Option<&ProductFile>,
        origins: &UrlOrigins<'_>,
    ) -> ChildEnded {
        let UrlOrigins { conversation, produced, .. } = origins;
        let Self { status, answer, failure, last_finish, spent, .. } = self;
        let files = produced.all().to_vec();
        let newest = files.len().saturating_sub(MAX_REPORT_FILES);
        let is_finished = status == RunStatus::Finished;
        let text = cut_answer(&answer, origins.spec);
        let report = ChildReport {
            child: child.child.clone(),
            description: child.description.clone(),
            known_urls: origins.find_in(&text),
            text,
            failure,
            files: files.iter().skip(newest).map(|file| file.name.clone()).collect(),
            done: is_finished,
            skipped: false,
            edit_comment: None,
            truncated: is_finished && last_finish != FinishReason::Done,
        };
        let keeps_turns = !origins.spec.settings.plan.clear_tool_context;
        let is_judged = child.child.is_before();
        let evidence = if is_judged { select_evidence(&conversation.items) } else { Vec::new() };
        let turns = if keeps_turns { select_turns(conversation) } else { Vec::new() };
        let full_output = answer_file.map(|file| FullOutput {
            file: file.name.clone(),
            characters: answer.chars().count() as u64,
        });
        ChildEnded {
            report,
            status,
            files,
            spent,
            turns,
            evidence,
            tainted,
            full_output,
            entry_count: None,
        }
    }
}

/// Cuts an answer for the run above: a step's to the limit of a report, an agent's to the limit of a result,
/// and a file to an excerpt.
fn cut_answer(answer: &str, spec: &RunSpec) -> String {
    let max_chars = match spec.agent() {
        None => return truncate_text(answer, MAX_REPORT),
        Some(agent) if agent.writes_answer() => MAX_EXCERPT,
        Some(_) if spec.child.as_ref().is_some_and(|child| child.child.is_before()) => {
            MAX_CANDIDATE
        }
        Some(_) => spec.settings.max_result_chars as usize,
    };
    let end = answer.char_indices().nth(max_chars).map_or(answer.len(), |(byte, _)| byte);
    answer.get(..end).unwrap_or(answer).to_owned()
}
