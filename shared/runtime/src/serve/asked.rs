//! One thing that a run asked, for somebody who knows of nothing else of it.

use djinn_core::code::Failure;
use djinn_core::entry::{Entry, Event};
use djinn_core::feedback::{Ask, Settled};
use djinn_core::id::{FeedbackId, UserId};
use djinn_core::journal::Record;
use djinn_core::settings::Language;

use super::look::whole_journal;
use crate::port::{Ports, RunKey};

/// Something that was asked, as it stands now.
#[derive(Debug, Clone, PartialEq)]
pub struct Asked {
    /// Whose run it is.
    pub user: UserId,
    /// The run's language.
    pub language: Language,
    /// What the model said before it came to this.
    pub reasoning: String,
    /// Whether it is still asked.
    pub state: AskState,
}

/// Whether something is still asked.
#[derive(Debug, Clone, PartialEq)]
pub enum AskState {
    /// It is.
    Open(Box<Ask>),
    /// Something else is by now, under the same id.
    Changed,
    /// It was answered.
    Settled(Settled),
    /// It is not, and nobody answered.
    Over,
}

/// Looks at what was asked under this id with this digest.
///
/// # Errors
/// `run_not_found`, `run_expired`, or `store_unavailable`.
pub async fn asked<P: Ports>(
    ports: &P,
    key: &RunKey,
    feedback: &FeedbackId,
    digest: &str,
) -> Result<Asked, Failure> {
    let mut reasoning = None;
    let see = |record: &Record| reasoning = said_with(record, feedback).or(reasoning.take());
    let (_, journal) = whole_journal(ports, key, see).await?;
    let run = journal.run();
    let state = match run.asks().find(|ask| ask.id == *feedback) {
        Some(ask) if ask.digest == digest => AskState::Open(Box::new(ask.clone())),
        Some(_) => AskState::Changed,
        None => run.settled(feedback).cloned().map_or(AskState::Over, AskState::Settled),
    };
    Ok(Asked {
        user: run.asked().user.clone(),
        language: run.asked().settings.language,
        reasoning: reasoning.unwrap_or_default(),
        state,
    })
}

/// What was said when it was asked with this record, last.
fn said_with(record: &Record, feedback: &FeedbackId) -> Option<String> {
    let said = |entry: &Entry| {
        let Event::FeedbackAsked { reasoning, asks, .. } = &entry.event else { return None };
        asks.iter().any(|ask| ask.id == *feedback).then(|| reasoning.clone())
    };
    record.entries.iter().rev().find_map(said)
}
