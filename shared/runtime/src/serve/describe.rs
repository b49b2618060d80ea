//! Looking at a run without following it.

use std::collections::BTreeMap;

use djinn_core::budget::{Budget, Spending};
use djinn_core::entry::{Event, RunResult};
use djinn_core::error_code::Failure;
use djinn_core::id::{ChildId, StepId};
use djinn_core::journal::{Journal, Record};
use djinn_core::plan::{Plan, StepStatus};

use super::{LoadedRun, store_failure};
use crate::port::clock::Clock;
use crate::port::journal::{Journals, RunMeta, RunOutline};
use crate::port::page::PageSize;
use crate::port::{RunKey, StoreError};
use crate::world::Ports;

/// What is known of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct RunDescription {
    /// What its metadata says.
    pub meta: RunMeta,
    /// What its journal says.
    pub snapshot: SnapshotState,
}

/// What a journal says of its run.
#[derive(Debug, Clone, PartialEq)]
pub enum SnapshotState {
    /// The run as it is.
    Available(Box<RunSnapshot>),
    /// The journal has expired.
    Expired,
    /// It cannot be read, at least by this code.
    Unreadable,
}

/// A run as it is now.
#[derive(Debug, Clone, PartialEq)]
pub struct RunSnapshot {
    /// The question as the user asked it.
    pub question: String,
    /// What it may use up.
    pub budget: Budget,
    /// What it has used up.
    pub spent: Spending,
    /// What it has used up of its wall time, in milliseconds, without its pauses.
    pub wall_ms: u64,
    /// Its plan, if there is one.
    pub plan: Option<Plan>,
    /// The version that a change of the plan has to name; 0 without a plan.
    pub plan_version: u32,
    /// The runs right below it that have not ended, each with what it is to do.
    pub children: BTreeMap<ChildId, String>,
    /// How it ended, if it has.
    pub ending: Option<RunResult>,
}

/// Looks at a run. Of one that has ended one record is read, if it has an outline.
///
/// # Errors
/// `store_unavailable`.
pub async fn describe_run<P: Ports>(
    ports: &P,
    mut run: LoadedRun,
) -> Result<RunDescription, Failure> {
    if let Some(outline) = run.meta().outline.as_deref() {
        let key = run.key();
        let told = match read_ending(ports, key, outline.record).await {
            Ok(Some(ending)) => {
                SnapshotState::Available(Box::new(RunSnapshot::from_outline(outline, ending)))
            }
            Ok(None) => SnapshotState::Expired,
            Err(error) => classify_read_error(key, &error)?,
        };
        return Ok(RunDescription { snapshot: told, meta: run.into_meta() });
    }
    let mut heard = EntryFold::default();
    let see =
        |record: &Record| record.entries.iter().for_each(|entry| heard.apply_event(&entry.event));
    let told = match run.read_all(ports, see).await {
        Ok(_) => run.complete_journal().map_or(SnapshotState::Expired, |journal| {
            let snapshot = heard.into_snapshot(journal, ports.clock().now_ms());
            SnapshotState::Available(Box::new(snapshot))
        }),
        Err(error) => classify_read_error(run.key(), &error)?,
    };
    Ok(RunDescription { snapshot: told, meta: run.into_meta() })
}

/// What is told of a run whose journal was not read.
fn classify_read_error(key: &RunKey, error: &StoreError) -> Result<SnapshotState, Failure> {
    if error.is_retryable() {
        return Err(store_failure(error));
    }
    tracing::warn!(%error, run_id = %key.run, "a run is shown without its journal");
    Ok(SnapshotState::Unreadable)
}

/// How a run ended, as this record says; `None` if that has expired.
async fn read_ending<P: Ports>(
    ports: &P,
    key: &RunKey,
    record: u64,
) -> Result<Option<RunResult>, StoreError> {
    let size = PageSize { records: 1, ..PageSize::FOR_VIEWER };
    let page = ports.store().read_page(key, record, size).await?;
    let entries = page.records.into_iter().filter(|found| found.number == record);
    let mut entries = entries.flat_map(|record| record.entries);
    Ok(entries.find_map(|entry| entry.event.run_result().cloned()))
}

impl RunSnapshot {
    /// An ended run, with what was noted when it did.
    fn from_outline(outline: &RunOutline, ending: RunResult) -> Self {
        Self {
            question: outline.question.clone(),
            budget: outline.budget,
            spent: ending.spent,
            wall_ms: ending.wall_ms(),
            plan: None,
            plan_version: 0,
            children: BTreeMap::new(),
            ending: Some(ending),
        }
    }
}

/// What the entries of a run say of it.
#[derive(Default)]
struct EntryFold {
    plan: Option<Plan>,
    children: BTreeMap<ChildId, String>,
    ending: Option<RunResult>,
}

impl EntryFold {
    fn into_snapshot(self, journal: &Journal, now_ms: i64) -> RunSnapshot {
        let (run, Self { plan, children, ending }) = (journal.run(), self);
        let wall_ms = ending.as_ref().map_or_else(|| run.wall_ms(now_ms), RunResult::wall_ms);
        RunSnapshot {
            question: run.spec().question.clone(),
            budget: run.budget(),
            spent: *run.spending(),
            wall_ms,
            plan,
            plan_version: run.plan_version(),
            children,
            ending,
        }
    }

    fn mark_step(&mut self, step: StepId, status: StepStatus, note: &str) {
        if let Some(plan) = &mut self.plan {
            // A step that the plan does not hold any more changes nothing.
            let _ = plan.set_status(step, status, note);
        }
    }

    fn apply_event(&mut self, event: &Event) {
        match event {
            Event::PlanChanged { plan } => self.plan = Some(plan.clone()),
            Event::StepChanged { step, status, note } => self.mark_step(*step, *status, note),
            Event::ChildStarted { child, description, .. } => {
                if let Some(task) = child.task() {
                    self.mark_step(task.step_id(), StepStatus::InProgress, "");
                }
                self.children.insert(child.clone(), description.clone());
            }
            Event::ChildEnded { child, .. } => {
                self.children.remove(child);
            }
            Event::RunEnded(ending) => {
                self.ending = Some(ending.clone());
            }
            Event::RunStarted { .. }
            | Event::RunResumed { .. }
            | Event::MessageReset { .. }
            | Event::ModelChanged(_)
            | Event::ModelDelayed { .. }
            | Event::MessageCompleted { .. }
            | Event::CallRequested { .. }
            | Event::CallCompleted { .. }
            | Event::FileAdded { .. }
            | Event::ContextCompacted { .. }
            | Event::UserMessageAdded { .. }
            | Event::HumanRequested { .. }
            | Event::HumanResolved(_)
            | Event::EmployeesNamed { .. } => {}
        }
    }
}
