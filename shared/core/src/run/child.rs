//! A run and its tasks: what a task is started with, and what it hands back.
//!
//! A task is a run of its own, one level down: the same machine without a summary, whose outcome is
//! owed to the run that asked for it.

mod turns;

use std::collections::BTreeSet;

use turns::select_turns;
pub(super) use turns::{MAX_ARGUMENT, truncate_text};

use super::compaction::tokens_of_history;
use super::{Next, Phase, Run, SummaryCall};
use crate::agent_loop::TurnUpdate;
use crate::conversation::{CompactedContext, ConversationItem};
use crate::entry::Event;
use crate::error_code::{ErrorCode, Failure};
use crate::file::ProductFile;
use crate::id::TaskId;
use crate::input::{ChildEnded, ChildReport, ChildSpec, FinishReason, MAX_REPORT, RunSpec};
use crate::plan::Plan;
use crate::status::RunStatus;

/// Files that a run made which its next tasks are told of: what each starts with must not grow with the
/// plan. Older ones can still be read by their names.
const MAX_PRODUCED_FILES: usize = 200;

/// Files that a task's report names: its newest. All of them are the run's.
const MAX_REPORT_FILES: usize = 50;

impl Run {
    /// Whether this is a task of another run's plan.
    #[must_use]
    pub fn is_child(&self) -> bool {
        self.spec.child.is_some()
    }

    /// What a task that is owed is started with: its share of what is left. `None` for any other.
    #[must_use]
    pub fn child_spec(&self, task: &TaskId) -> Option<RunSpec> {
        let Phase::PlanSolving(solving) = &self.phase else { return None };
        let (words, share, before) = solving.find_running(task)?;
        let rounds = self.conversation.items.iter().flat_map(|item| match item {
            ConversationItem::Round { reports, .. } => reports.as_slice(),
            ConversationItem::Turn(_)
            | ConversationItem::Nudge(_)
            | ConversationItem::UserMessage(_) => &[],
        });
        let mut asked = self.spec.clone();
        // What the run summed up, its tasks need not sum up again.
        if let Some(compacted) = &self.conversation.compacted {
            let own_words = String::new();
            asked.earlier = Some(CompactedContext { last_text: own_words, ..compacted.clone() });
            asked.history = self.conversation.history.clone();
            asked.history_tokens = tokens_of_history(&asked.history);
        }
        asked.files = self.files_for_children();
        asked.settings.budget.steps = share.steps;
        asked.settings.budget.tokens = share.tokens;
        asked.settings.budget.micro_usd = share.micro_usd;
        asked.child = Some(ChildSpec {
            task: task.clone(),
            description: words.to_owned(),
            earlier_rounds: rounds.cloned().collect(),
            current_round: solving.reports_before(task),
            concurrent_tasks: solving.concurrent_tasks(&asked.settings.plan),
            deadline_ms: Some(self.children_deadline_ms()),
            previous_failure: before.failure.clone(),
            revision: before.revision.clone(),
            tainted: self.is_tainted(),
        });
        Some(asked)
    }

    /// The user's files, and the newest that the run made.
    fn files_for_children(&self) -> Vec<ProductFile> {
        let made = self.produced_files.all();
        let old = made.get(..made.len().saturating_sub(MAX_PRODUCED_FILES)).unwrap_or_default();
        let old: BTreeSet<_> = old.iter().map(|file| &file.name).collect();
        self.files.all().iter().filter(|file| !old.contains(&file.name)).cloned().collect()
    }

    /// The tasks that somebody may be working on.
    #[must_use]
    pub fn running_tasks(&self) -> Vec<TaskId> {
        match &self.phase {
            Phase::PlanSolving(solving) => solving.running_tasks().cloned().collect(),
            Phase::Reacting(_) | Phase::Summarizing(_) | Phase::Ended(_) => Vec::new(),
        }
    }

    /// The plan as its file is to hold it.
    #[must_use]
    pub fn plan(&self) -> Option<&Plan> {
        self.plan_file.plan()
    }

    /// What an ended task owes its run.
    #[must_use]
    pub fn child_result(&self) -> Option<&ChildEnded> {
        match &self.phase {
            Phase::Ended(ended) => ended.child_result.as_deref(),
            Phase::Reacting(_) | Phase::PlanSolving(_) | Phase::Summarizing(_) => None,
        }
    }

    /// What viewers see of the beginning. A task's is seen in the run that asked for it.
    pub(super) fn start_event(&self) -> Option<(String, Event)> {
        let event = Event::RunStarted {
            session: self.spec.session.clone(),
            request: self.spec.request.clone(),
            question: self.spec.question.clone(),
            mode: self.spec.settings.mode,
            output_style: self.spec.output_style,
        };
        (!self.is_child()).then(|| ("start".to_owned(), event))
    }

    pub(super) fn on_child_ended(
        &mut self,
        ended: &ChildEnded,
        at_ms: i64,
    ) -> Option<Vec<(String, Event)>> {
        let Phase::PlanSolving(solving) = &mut self.phase else { return None };
        let (observed, then) = solving.on_child_ended(ended, &self.spec.settings)?;
        self.human_requests.forget_child(&ended.report.task);
        for file in &ended.files {
            self.files.insert(file.clone());
            self.produced_files.insert(file.clone());
        }
        self.spending.add_child(&ended.spent);
        Some(self.settle(observed, then, at_ms))
    }

    /// Takes over what the planner or a task did, and decides what comes next.
    pub(super) fn settle(
        &mut self,
        observed: TurnUpdate,
        then: Next,
        at_ms: i64,
    ) -> Vec<(String, Event)> {
        let TurnUpdate { mut events, items, requests: asks, repeated_tool: repeated, .. } =
            observed;
        events.extend(self.request_call_approvals(asks, at_ms));
        let heard = self.append_items(items);
        let repeated = repeated.filter(|_| !heard);
        if heard && let Phase::PlanSolving(solving) = &mut self.phase {
            solving.forget_hint();
        }
        let then = match then {
            // The planner has the word once more.
            Next::Answer | Next::Summarize if heard => Next::Continue,
            Next::Answer | Next::Summarize | Next::Continue | Next::RoundsExhausted => then,
        };
        match then {
            Next::Answer if self.conversation.standalone_answer().is_some() => {
                self.finish_with_answer(&mut events, at_ms);
            }
            // Words that end a reply which was cut off are half an answer.
            Next::Answer | Next::Summarize => {
                self.freeze_taint();
                self.phase = Phase::Summarizing(SummaryCall::with_failure(None));
            }
            Next::RoundsExhausted => {
                let rounds = self.spec.settings.plan.max_rounds.to_string();
                let failure = Failure::new(ErrorCode::RoundsUsedUp, rounds);
                events.extend(self.break_off(failure, at_ms));
            }
            Next::Continue => {
                match self.work_end_reason(repeated).or_else(|| self.planner_budget_failure()) {
                    Some(failure) => events.extend(self.budget_exhausted(failure, at_ms)),
                    None => {
                        self.allocate_shares();
                        self.compact_if_due();
                    }
                }
            }
        }
        events
    }

    fn planner_budget_failure(&self) -> Option<Failure> {
        let turns = self.spec.settings.budget.steps;
        let Phase::PlanSolving(solving) = &self.phase else { return None };
        let failure = || Failure::new(ErrorCode::StepsUsedUp, turns.to_string());
        solving.has_used_all_turns(turns).then(failure)
    }

    /// What a task hands back.
    pub(super) fn build_child_result(
        &self,
        task: &ChildSpec,
        status: RunStatus,
        answer: String,
        failure: Option<Failure>,
    ) -> ChildEnded {
        let language = self.spec.settings.language;
        let text = match &failure {
            None => answer,
            Some(failure) if answer.is_empty() => failure.sentence(language),
            Some(failure) => format!("{}\n\n{answer}", failure.sentence(language)),
        };
        let files = self.produced_files.all().to_vec();
        let report = ChildReport {
            task: task.task.clone(),
            description: task.description.clone(),
            text: truncate_text(&text, MAX_REPORT),
            files: files
                .iter()
                .rev()
                .take(MAX_REPORT_FILES)
                .rev()
                .map(|file| file.name.clone())
                .collect(),
            done: status == RunStatus::Finished,
            skipped: false,
            truncated: status == RunStatus::Finished && self.last_finish != FinishReason::Done,
        };
        let turns = match self.spec.settings.plan.clear_tool_context {
            true => Vec::new(),
            false => select_turns(&self.conversation),
        };
        ChildEnded {
            report,
            status,
            failure,
            files,
            spent: self.spending,
            turns,
            tainted: self.is_tainted(),
        }
    }
}
