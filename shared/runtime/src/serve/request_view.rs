//! One thing that a run asked, for somebody who knows of nothing else of it.

use djinn_core::entry::{Entry, Event};
use djinn_core::error_code::Failure;
use djinn_core::human::{HumanRequest, Resolution};
use djinn_core::id::{HumanRequestId, UserId};
use djinn_core::journal::Record;
use djinn_core::language::Language;

use super::{LoadedRun, store_failure};
use crate::world::Ports;

/// Something that was asked, as it stands now.
#[derive(Debug, Clone, PartialEq)]
pub struct HumanRequestView {
    /// Whose run it is.
    pub user: UserId,
    /// The language in which the run's people are addressed.
    pub language: Language,
    /// What the model said before it came to this.
    pub reasoning: String,
    /// Whether it is still asked.
    pub state: HumanRequestState,
}

/// Whether something is still asked.
#[derive(Debug, Clone, PartialEq)]
pub enum HumanRequestState {
    /// The request is open, and has the digest that was asked about.
    Open(Box<HumanRequest>),
    /// Something else is by now, under the same id.
    Replaced,
    /// An answer was taken, or the default once time ran out.
    Resolved(Resolution),
    /// It is not, and nobody answered.
    Closed,
}

/// Looks at what was asked under this id with this digest.
///
/// # Errors
/// `run_expired`, or `store_unavailable`.
pub async fn describe_request<P: Ports>(
    ports: &P,
    run: &mut LoadedRun,
    feedback: &HumanRequestId,
    digest: &str,
) -> Result<HumanRequestView, Failure> {
    let mut reasoning = None;
    let see = |record: &Record| reasoning = find_reasoning(record, feedback).or(reasoning.take());
    run.read_all(ports, see).await.map_err(|error| store_failure(&error))?;
    let run = run.complete_journal()?.run();
    let state = match run.pending_requests().find(|ask| ask.id == *feedback) {
        Some(ask) if ask.digest == digest => HumanRequestState::Open(Box::new(ask.clone())),
        Some(_) => HumanRequestState::Replaced,
        None => run
            .resolution(feedback)
            .cloned()
            .map_or(HumanRequestState::Closed, HumanRequestState::Resolved),
    };
    Ok(HumanRequestView {
        user: run.spec().user.clone(),
        language: run.spec().settings.language,
        reasoning: reasoning.unwrap_or_default(),
        state,
    })
}

/// What was said when it was asked with this record, last.
fn find_reasoning(record: &Record, feedback: &HumanRequestId) -> Option<String> {
    let said = |entry: &Entry| {
        let Event::HumanRequested { reasoning, requests: asks, .. } = &entry.event else {
            return None;
        };
        asks.iter().any(|ask| ask.id == *feedback).then(|| reasoning.clone())
    };
    record.entries.iter().rev().find_map(said)
}
