//! Looking at a run without following it.

use std::collections::BTreeMap;

use djinn_core::budget::{Budget, Spent};
use djinn_core::code::{ErrorCode, Failure};
use djinn_core::entry::{Ending, Event};
use djinn_core::id::TaskId;
use djinn_core::journal::{Journal, Record};
use djinn_core::plan::{Plan, StepId, StepStatus};

use super::{known, unavailable};
use crate::pages::fold_seeing;
use crate::port::clock::Clock;
use crate::port::journal::{Journals, Outline, RunMeta};
use crate::port::page::PageSize;
use crate::port::{Ports, RunKey, StoreError};

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

/// Looks at a run of which this is known. Of one that has ended one record is read, if it has an outline.
///
/// # Errors
/// `store_unavailable`.
pub async fn look<P: Ports>(ports: &P, key: &RunKey, meta: RunMeta) -> Result<RunView, Failure> {
    if let Some(outline) = meta.outline.as_deref() {
        let told = match ending(ports, key, outline.record).await {
            Ok(Some(ending)) => Told::Whole(Box::new(RunNow::outlined(outline, ending))),
            Ok(None) => Told::Expired,
            Err(error) => untold(key, &error)?,
        };
        return Ok(RunView { meta, told });
    }
    let mut heard = Heard::default();
    let see = |record: &Record| record.entries.iter().for_each(|entry| heard.hear(&entry.event));
    let told = match fold_seeing(ports, key, see).await {
        Ok((Some(journal), extent)) if extent.is_whole(meta.status.has_ended()) => {
            Told::Whole(Box::new(heard.now(&journal, ports.clock().now_ms())))
        }
        Ok(_) => Told::Expired,
        Err(error) => untold(key, &error)?,
    };
    Ok(RunView { meta, told })
}

/// What is told of a run whose journal was not read.
fn untold(key: &RunKey, error: &StoreError) -> Result<Told, Failure> {
    if error.may_pass() {
        return Err(unavailable(error));
    }
    tracing::warn!(%error, run_id = %key.run, "a run is shown without its journal");
    Ok(Told::Unreadable)
}

/// How a run ended, as this record says; `None` if that has expired.
async fn ending<P: Ports>(
    ports: &P,
    key: &RunKey,
    record: u64,
) -> Result<Option<Ending>, StoreError> {
    let size = PageSize { records: 1, ..PageSize::SHOWN };
    let page = ports.store().read_page(key, record, size).await?;
    let entries = page.records.into_iter().filter(|found| found.n == record);
    let mut entries = entries.flat_map(|record| record.entries);
    Ok(entries.find_map(|entry| entry.event.ending().cloned()))
}

impl RunNow {
    /// An ended run, with what was noted when it did.
    fn outlined(outline: &Outline, ending: Ending) -> Self {
        Self {
            question: outline.question.clone(),
            budget: outline.budget,
            spent: ending.spent,
            wall_ms: ending.wall_ms(),
            plan: None,
            plan_version: 0,
            tasks: BTreeMap::new(),
            ending: Some(ending),
        }
    }
}

/// What is known of a run, and its journal, every record of which is shown to `see`.
///
/// # Errors
/// `run_not_found`, `run_expired` if records are missing, or `store_unavailable`.
pub(super) async fn whole_journal<P: Ports>(
    ports: &P,
    key: &RunKey,
    see: impl FnMut(&Record) + Send,
) -> Result<(RunMeta, Journal), Failure> {
    let meta = known(ports, key).await?;
    let (journal, extent) =
        fold_seeing(ports, key, see).await.map_err(|error| unavailable(&error))?;
    let journal = journal.filter(|_| extent.is_whole(meta.status.has_ended()));
    Ok((meta, journal.ok_or(ErrorCode::RunExpired)?))
}

/// What the entries of a run say of it.
#[derive(Default)]
struct Heard {
    plan: Option<Plan>,
    tasks: BTreeMap<TaskId, String>,
    ending: Option<Ending>,
}

impl Heard {
    fn now(self, journal: &Journal, now_ms: i64) -> RunNow {
        let (run, Self { plan, tasks, ending }) = (journal.run(), self);
        let wall_ms = ending.as_ref().map_or_else(|| run.wall_ms(now_ms), Ending::wall_ms);
        RunNow {
            question: run.asked().question.clone(),
            budget: run.budget(),
            spent: *run.spent(),
            wall_ms,
            plan,
            plan_version: run.plan_version(),
            tasks,
            ending,
        }
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
