//! One human request of a run, for users without other knowledge of the run.

use djinn_core::entry::{Entry, Event};
use djinn_core::error_code::Failure;
use djinn_core::human::{HumanRequest, Resolution};
use djinn_core::id::{HumanRequestId, UserId};
use djinn_core::journal::Record;
use djinn_core::language::Language;

use super::{LoadedRun, store_failure};
use crate::world::Ports;

/// A human request and its current state.
#[derive(Debug, Clone, PartialEq)]
pub struct HumanRequestView {
    /// The user of the run.
    pub user: UserId,
    /// The language for the run's users.
    pub language: Language,
    /// The model's text before the request.
    pub reasoning: String,
    /// The current state of the request.
    pub state: HumanRequestState,
}

/// The current state of a human request.
#[derive(Debug, Clone, PartialEq)]
pub enum HumanRequestState {
    /// The request is open, with the expected digest.
    Open(Box<HumanRequest>),
    /// The id now belongs to another request.
    Replaced,
    /// The request was answered, or its default applied after the timeout.
    Resolved(Resolution),
    /// The request is closed without a response.
    Closed,
}

/// Describes the request with this id and digest.
///
/// # Errors
/// Returns `run_expired`, or `store_unavailable`.
pub async fn describe_request<P: Ports>(
    ports: &P,
    run: &mut LoadedRun,
    id: &HumanRequestId,
    digest: &str,
) -> Result<HumanRequestView, Failure> {
    let mut reasoning = None;
    let see = |record: &Record| reasoning = find_reasoning(record, id).or(reasoning.take());
    run.read_all(ports, see).await.map_err(|error| store_failure(&error))?;
    let run = run.complete_journal()?.run();
    let state = match run.pending_requests().find(|request| request.id == *id) {
        Some(request) if request.digest == digest => {
            HumanRequestState::Open(Box::new(request.clone()))
        }
        Some(_) => HumanRequestState::Replaced,
        None => run
            .resolution(id)
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

/// Returns the model's text with the last such request in the record.
fn find_reasoning(record: &Record, id: &HumanRequestId) -> Option<String> {
    let reasoning_of = |entry: &Entry| {
        let Event::HumanRequested { reasoning, requests, .. } = &entry.event else {
            return None;
        };
        requests.iter().any(|request| request.id == *id).then(|| reasoning.clone())
    };
    record.entries.iter().rev().find_map(reasoning_of)
}
