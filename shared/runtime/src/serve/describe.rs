//! Describing a run without following it.

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

/// The known state of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct RunDescription {
    /// The metadata of the run.
    pub meta: RunMeta,
    /// The state of the run in its journal.
    pub snapshot: SnapshotState,
}

/// The state of a run in its journal, if readable.
#[derive(Debug, Clone, PartialEq)]
pub enum SnapshotState {
    /// The current state of the run.
    Available(Box<RunSnapshot>),
    /// The journal has expired.
    Expired,
    /// The journal cannot be read, at least by this version.
    Unreadable,
}

/// The current state of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct RunSnapshot {
    /// The question as asked by the user.
    pub question: String,
    /// The limits on the run's use.
    pub budget: Budget,
    /// The used part of the budget.
    pub spent: Spending,
    /// The used wall time in milliseconds, without pauses.
    pub wall_ms: u64,
    /// The plan of the run, if any.
    pub plan: Option<Plan>,
    /// The version to name in a plan edit; 0 without a plan.
    pub plan_version: u32,
    /// The active children directly below the run, each with its description.
    pub children: BTreeMap<ChildId, String>,
    /// The result of the run, if ended.
    pub ending: Option<RunResult>,
}

/// Describes a run. For an ended run with an outline, reads only one record.
///
/// # Errors
/// Returns `store_unavailable` if the store cannot be reached.
pub async fn describe_run<P: Ports>(
    ports: &P,
    mut run: LoadedRun,
) -> Result<RunDescription, Failure> {
    if let Some(outline) = run.meta().outline.as_deref() {
        let key = run.key();
        let snapshot_state = match read_ending(ports, key, outline.record).await {
            Ok(Some(ending)) => {
                SnapshotState::Available(Box::new(RunSnapshot::from_outline(outline, ending)))
            }
            Ok(None) => SnapshotState::Expired,
            Err(error) => classify_read_error(key, &error)?,
        };
        return Ok(RunDescription { snapshot: snapshot_state, meta: run.into_meta() });
    }
    let mut fold = EntryFold::default();
    let see =
        |record: &Record| record.entries.iter().for_each(|entry| fold.apply_event(&entry.event));
    let snapshot_state = match run.read_all(ports, see).await {
        Ok(_) => run.complete_journal().map_or(SnapshotState::Expired, |journal| {
            let snapshot = fold.into_snapshot(journal, ports.clock().now_ms());
            SnapshotState::Available(Box::new(snapshot))
        }),
        Err(error) => classify_read_error(run.key(), &error)?,
    };
    Ok(RunDescription { snapshot: snapshot_state, meta: run.into_meta() })
}

/// Returns the snapshot state for a journal that cannot be read.
fn classify_read_error(key: &RunKey, error: &StoreError) -> Result<SnapshotState, Failure> {
    if error.is_temporary() {
        return Err(store_failure(error));
    }
    tracing::warn!(%error, run_id = %key.run, "a run is shown without its journal");
    Ok(SnapshotState::Unreadable)
}

/// Returns a run's result from the given record, or `None` if expired.
async fn read_ending<P: Ports>(
    ports: &P,
    key: &RunKey,
    record: u64,
) -> Result<Option<RunResult>, StoreError> {
    let size = PageSize { records: 1, ..PageSize::FOR_VIEWER };
    let page = ports.store().read_page(key, record, size).await?;
    let entries = page.records.into_iter().filter(|candidate| candidate.number == record);
    let mut entries = entries.flat_map(|record| record.entries);
    Ok(entries.find_map(|entry| entry.event.run_result().cloned()))
}

impl RunSnapshot {
    /// Creates the snapshot of an ended run from its outline.
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

/// The state of a run, folded from its entries.
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
            // A step no longer in the plan changes nothing.
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
            _ => {}
        }
    }
}
