//! Looking at a run without following it.

use std::collections::BTreeMap;

use djinn_core::budget::{Budget, Spent};
use djinn_core::code::Failure;
use djinn_core::entry::{Ending, Event};
use djinn_core::id::TaskId;
use djinn_core::journal::{Journal, Record};
use djinn_core::plan::{Plan, StepId, StepStatus};

use super::{fold, holds_the_end, is_whole, known, unavailable};
use crate::port::clock::Clock;
use crate::port::journal::{Journals, RunMeta};
use crate::port::{Ports, RunKey};

/// What is known of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct RunView {
    /// What its metadata says.
    pub meta: RunMeta,
    /// What its journal says.
    pub told: Told,
}

/// What a journal says of its run.
#[derive(Debug, Clone, PartialEq)]
pub enum Told {
    /// The run as it is.
    Whole(Box<RunNow>),
    /// The journal has expired.
    Expired,
    /// It cannot be read, at least by this code.
    Unreadable,
}

/// A run as it is now.
#[derive(Debug, Clone, PartialEq)]
pub struct RunNow {
    /// What was asked.
    pub question: String,
    /// What it may use up.
    pub budget: Budget,
    /// What it has used up.
    pub spent: Spent,
    /// What it has used up of its wall time, in milliseconds, without its pauses.
    pub wall_ms: u64,
    /// Its plan, if there is one.
    pub plan: Option<Plan>,
    /// The version that a change of the plan has to name; 0 without a plan.
    pub plan_version: u32,
    /// The tasks that have not ended, each with its step's words.
    pub tasks: BTreeMap<TaskId, String>,
    /// How it ended, if it has.
    pub ending: Option<Ending>,
}

/// Looks at a run.
///
/// # Errors
/// `run_not_found`, or `store_unavailable`.
pub async fn look<P: Ports>(ports: &P, key: &RunKey) -> Result<RunView, Failure> {
    let meta = known(ports, key).await?;
    let told = match ports.store().read(key, 0).await {
        Ok(records) => told(&meta, &records, ports.clock().now_ms()),
        Err(error) if error.may_pass() => return Err(unavailable(&error)),
        Err(error) => {
            tracing::warn!(%error, run_id = %key.run, "a run is shown without its journal");
            Told::Unreadable
        }
    };
    Ok(RunView { meta, told })
}

fn told(meta: &RunMeta, records: &[Record], now_ms: i64) -> Told {
    if !is_whole(records) || (meta.status.has_ended() && !holds_the_end(records)) {
        return Told::Expired;
    }
    match fold(records) {
        Ok(journal) => Told::Whole(Box::new(RunNow::of(&journal, records, now_ms))),
        Err(error) => {
            tracing::warn!(%error, "a run is shown without its journal");
            Told::Unreadable
        }
    }
}

impl RunNow {
    fn of(journal: &Journal, records: &[Record], now_ms: i64) -> Self {
        let asked = journal.run().asked();
        let mut now = Self {
            question: asked.question.clone(),
            budget: journal.run().budget(),
            spent: *journal.run().spent(),
            wall_ms: journal.run().wall_ms(now_ms),
            plan: None,
            plan_version: journal.run().plan_version(),
            tasks: BTreeMap::new(),
            ending: None,
        };
        for entry in records.iter().flat_map(|record| &record.entries) {
            now.hear(&entry.event);
        }
        now
    }

    fn step(&mut self, step: StepId, status: StepStatus, note: &str) {
        if let Some(plan) = &mut self.plan {
            // A step that the plan does not hold any more changes nothing.
            let _ = plan.mark(step, status, note);
        }
    }

    fn hear(&mut self, event: &Event) {
        match event {
            Event::PlanChanged { plan } => self.plan = Some(plan.clone()),
            Event::StepChanged { step, status, note } => self.step(*step, *status, note),
            Event::TaskStarted { task, words } => {
                if let Some(step) = task.step() {
                    self.step(step, StepStatus::InProgress, "");
                }
                self.tasks.insert(task.clone(), words.clone());
            }
            Event::TaskEnded { task, .. } => {
                self.tasks.remove(task);
            }
            Event::RunEnded(ending) => {
                self.wall_ms = ending.wall_ms();
                self.ending = Some(ending.clone());
            }
            Event::RunStarted { .. }
            | Event::RunResumed { .. }
            | Event::ItemReset { .. }
            | Event::ModelChanged(_)
            | Event::MessageCompleted { .. }
            | Event::CallRequested { .. }
            | Event::CallCompleted { .. }
            | Event::FileAdded { .. }
            | Event::ContextCompacted { .. }
            | Event::UserSaid { .. }
            | Event::FeedbackAsked { .. }
            | Event::FeedbackAnswered(_)
            | Event::EmployeesNamed { .. } => {}
        }
    }
}
