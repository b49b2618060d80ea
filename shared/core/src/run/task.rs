//! A run and its tasks: what a task is started with, and what it hands back.
//!
//! A task is a run of its own, one level down: the same machine without a summary, whose outcome is
//! owed to the run that asked for it.

mod joining;

use std::collections::BTreeSet;

use joining::joining;
pub(super) use joining::{MAX_ARGUMENT, cut};

use super::compacting::tokens_of_history;
use super::{Phase, Run, Summarizing, Then};
use crate::agent_loop::Observed;
use crate::code::{ErrorCode, Failure};
use crate::conversation::{Compacted, Item};
use crate::entry::Event;
use crate::file::ProductFile;
use crate::id::TaskId;
use crate::input::{Asked, Finish, MAX_REPORT, TaskAsked, TaskEnded, TaskReport};
use crate::plan::Plan;
use crate::status::RunStatus;

/// Files that a run made which its next tasks are told of: what each starts with must not grow with the
/// plan. Older ones can still be read by their names.
const MAX_MADE: usize = 200;

/// Files that a task's report names: its newest. All of them are the run's.
const MAX_NAMED: usize = 50;

impl Run {
    /// Whether this is a task of another run's plan.
    #[must_use]
    pub fn is_task(&self) -> bool {
        self.asked.task.is_some()
    }

    /// What a task that is owed is started with: its share of what is left. `None` for any other.
    #[must_use]
    pub fn task(&self, task: &TaskId) -> Option<Asked> {
        let Phase::PlanSolving(solving) = &self.phase else { return None };
        let (words, share, before) = solving.begun(task)?;
        let rounds = self.conversation.items.iter().flat_map(|item| match item {
            Item::Round { reports, .. } => reports.as_slice(),
            Item::Turn(_) | Item::Note(_) | Item::Said(_) => &[],
        });
        let mut asked = self.asked.clone();
        // What the run summed up, its tasks need not sum up again.
        if let Some(compacted) = &self.conversation.compacted {
            let own_words = String::new();
            asked.earlier = Some(Compacted { words: own_words, ..compacted.clone() });
            asked.history = self.conversation.history.clone();
            asked.history_tokens = tokens_of_history(&asked.history);
        }
        asked.files = self.files_for_tasks();
        asked.settings.budget.steps = share.steps;
        asked.settings.budget.tokens = share.tokens;
        asked.settings.budget.micro_usd = share.micro_usd;
        asked.task = Some(TaskAsked {
            task: task.clone(),
            words: words.to_owned(),
            rounds: rounds.cloned().collect(),
            before: solving.reports_before(task),
            at_once: solving.at_once(&asked.settings.plan),
            ends_at_ms: Some(self.tasks_end_at_ms()),
            failed_before: before.failed.clone(),
            redo: before.redo.clone(),
            tainted: self.is_tainted(),
        });
        Some(asked)
    }

    /// The user's files, and the newest that the run made.
    fn files_for_tasks(&self) -> Vec<ProductFile> {
        let made = self.produced.all();
        let old = made.get(..made.len().saturating_sub(MAX_MADE)).unwrap_or_default();
        let old: BTreeSet<_> = old.iter().map(|file| &file.name).collect();
        self.files.all().iter().filter(|file| !old.contains(&file.name)).cloned().collect()
    }

    /// The tasks that somebody may be working on.
    #[must_use]
    pub fn running_tasks(&self) -> Vec<TaskId> {
        match &self.phase {
            Phase::PlanSolving(solving) => solving.tasks().cloned().collect(),
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
    pub fn task_outcome(&self) -> Option<&TaskEnded> {
        match &self.phase {
            Phase::Ended(ended) => ended.outcome.as_deref(),
            Phase::Reacting(_) | Phase::PlanSolving(_) | Phase::Summarizing(_) => None,
        }
    }

    /// What viewers see of the beginning. A task's is seen in the run that asked for it.
    pub(super) fn started(&self) -> Option<(String, Event)> {
        let event = Event::RunStarted {
            session: self.asked.session.clone(),
            request: self.asked.request.clone(),
            question: self.asked.question.clone(),
            mode: self.asked.settings.mode,
            output_style: self.asked.output_style,
        };
        (!self.is_task()).then(|| ("start".to_owned(), event))
    }

    pub(super) fn task_ended(
        &mut self,
        ended: &TaskEnded,
        at_ms: i64,
    ) -> Option<Vec<(String, Event)>> {
        let Phase::PlanSolving(solving) = &mut self.phase else { return None };
        let (observed, then) = solving.task_ended(ended, &self.asked.settings)?;
        self.asking.task_ended(&ended.report.task);
        for file in &ended.files {
            self.files.put(file.clone());
            self.produced.put(file.clone());
        }
        self.spent.add_task(&ended.spent);
        Some(self.go_on(observed, then, at_ms))
    }

    /// Takes over what the planner or a task did, and decides what comes next.
    pub(super) fn go_on(
        &mut self,
        observed: Observed,
        then: Then,
        at_ms: i64,
    ) -> Vec<(String, Event)> {
        let Observed { mut events, items, asks, repeated, .. } = observed;
        events.extend(self.ask_about_calls(asks, at_ms));
        let heard = self.join(items);
        let repeated = repeated.filter(|_| !heard);
        if heard && let Phase::PlanSolving(solving) = &mut self.phase {
            solving.forget_hint();
        }
        let then = match then {
            // The planner has the word once more.
            Then::Answered | Then::Done if heard => Then::GoOn,
            Then::Answered | Then::Done | Then::GoOn | Then::RoundsUsedUp => then,
        };
        match then {
            Then::Answered if self.conversation.answer().is_some() => {
                self.answer(&mut events, at_ms);
            }
            // Words that end a reply which was cut off are half an answer.
            Then::Answered | Then::Done => {
                self.keep_taint();
                self.phase = Phase::Summarizing(Summarizing::after(None));
            }
            Then::RoundsUsedUp => {
                let rounds = self.asked.settings.plan.max_rounds.to_string();
                let failure = Failure::new(ErrorCode::RoundsUsedUp, rounds);
                events.extend(self.break_off(failure, at_ms));
            }
            Then::GoOn => {
                match self.work_ended_by(repeated).or_else(|| self.planner_is_used_up()) {
                    Some(failure) => events.extend(self.ran_out(failure, at_ms)),
                    None => {
                        self.hand_out();
                        self.compact_if_due();
                    }
                }
            }
        }
        events
    }

    fn planner_is_used_up(&self) -> Option<Failure> {
        let turns = self.asked.settings.budget.steps;
        let Phase::PlanSolving(solving) = &self.phase else { return None };
        let failure = || Failure::new(ErrorCode::StepsUsedUp, turns.to_string());
        solving.turns_are_used_up(turns).then(failure)
    }

    /// What a task hands back.
    pub(super) fn outcome(
        &self,
        task: &TaskAsked,
        status: RunStatus,
        answer: String,
        failure: Option<Failure>,
    ) -> TaskEnded {
        let language = self.asked.settings.language;
        let text = match &failure {
            None => answer,
            Some(failure) if answer.is_empty() => failure.sentence(language),
            Some(failure) => format!("{}\n\n{answer}", failure.sentence(language)),
        };
        let files = self.produced.all().to_vec();
        let report = TaskReport {
            task: task.task.clone(),
            words: task.words.clone(),
            text: cut(&text, MAX_REPORT),
            files: files.iter().rev().take(MAX_NAMED).rev().map(|file| file.name.clone()).collect(),
            done: status == RunStatus::Finished,
            left_out: false,
            cut: status == RunStatus::Finished && self.finish != Finish::Done,
        };
        let turns = match self.asked.settings.plan.clear_tool_context {
            true => Vec::new(),
            false => joining(&self.conversation),
        };
        TaskEnded {
            report,
            status,
            failure,
            files,
            spent: self.spent,
            turns,
            tainted: self.is_tainted(),
        }
    }
}
