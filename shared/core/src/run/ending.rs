//! How a run or a child ends, and what it hands over.

use super::child::select_turns;
use super::taint::UrlOrigins;
use crate::budget::Spending;
use crate::conversation::{ChildReport, MAX_REPORT};
use crate::entry::RunResult;
use crate::error_code::Failure;
use crate::file::ProductFile;
use crate::input::{ChildEnded, ChildSpec, FinishReason};
use crate::settings::RunSettings;
use crate::status::RunStatus;
use crate::tool::FullOutput;
use djinn_text::truncate::truncate_text;

/// Files that a child's report names: its newest. All of them are the run's.
const MAX_REPORT_FILES: usize = 50;

/// Characters of an answer that is a file, in the result of the call.
const MAX_EXCERPT: usize = 1_000;

/// What came of the work.
#[derive(Debug)]
pub(super) struct Ending {
    /// How it ends: finished, failed or stopped.
    pub(super) status: RunStatus,
    /// The answer; with a failure, what there was of one.
    pub(super) answer: String,
    /// The files that are handed over, most important first.
    pub(super) files: Vec<ProductFile>,
    /// The failure that ended it, if one did.
    pub(super) failure: Option<Failure>,
    /// What ended the newest reply that said something.
    pub(super) last_finish: FinishReason,
    /// What was used up until then.
    pub(super) spent: Spending,
}

impl Ending {
    /// The end of a run as its viewers see it, after so many milliseconds, of which it waited for people
    /// in some.
    pub(super) fn into_run_result(self, took_ms: u64, paused_ms: u64) -> RunResult {
        let Self { status, answer, files, failure, last_finish, spent } = self;
        let finish = if answer.is_empty() { FinishReason::Done } else { last_finish };
        RunResult { status, answer, files, failure, finish, spent, took_ms, paused_ms }
    }

    /// What a child hands back: its answer, every file that it wrote and, if its run keeps them, its turns.
    pub(super) fn into_child_result(
        self,
        child: &ChildSpec,
        tainted: bool,
        answer_file: Option<&ProductFile>,
        origins: &UrlOrigins<'_>,
    ) -> ChildEnded {
        let UrlOrigins { conversation, produced, .. } = origins;
        let settings = &origins.spec.settings;
        let Self { status, answer, failure, last_finish, spent, .. } = self;
        let files = produced.all().to_vec();
        let newest = files.len().saturating_sub(MAX_REPORT_FILES);
        let is_finished = status == RunStatus::Finished;
        let text = cut_answer(&answer, child, settings);
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
        let keeps_turns = !settings.plan.clear_tool_context;
        let turns = if keeps_turns { select_turns(conversation) } else { Vec::new() };
        let full_output = answer_file.map(|file| FullOutput {
            file: file.name.clone(),
            characters: answer.chars().count() as u64,
        });
        ChildEnded { report, status, files, spent, turns, tainted, full_output, entry_count: None }
    }
}

/// What of an answer the run above is told: of a step's as much as joins its conversation, of an agent's
/// what a result may hold, of a file its beginning.
fn cut_answer(answer: &str, child: &ChildSpec, settings: &RunSettings) -> String {
    let most = match &child.agent {
        None => return truncate_text(answer, MAX_REPORT),
        Some(agent) if agent.writes_answer() => MAX_EXCERPT,
        Some(_) => settings.max_result_chars as usize,
    };
    let end = answer.char_indices().nth(most).map_or(answer.len(), |(byte, _)| byte);
    answer.get(..end).unwrap_or(answer).to_owned()
}
