//! Answers that come as the next message of a chat.

use std::collections::BTreeMap;

use djinn_core::code::{ErrorCode, Failure};
use djinn_core::entry::Event;
use djinn_core::feedback::{Answer, Answered, Ask, Written};
use djinn_core::id::{FeedbackId, UserId};
use djinn_core::journal::Record;

use super::feedback::answer;
use super::question::is_continue;
use super::{known, unavailable};
use crate::pages::read_journal_seeing;
use crate::port::journal::RunMeta;
use crate::port::{Ports, RunKey};

/// A message of a chat.
pub(super) struct Words<'a> {
    /// Who wrote it.
    pub(super) by: &'a UserId,
    /// Names it: a repeat answers nothing more.
    pub(super) id: &'a str,
    /// What it says.
    pub(super) text: &'a str,
    /// What that is as an answer, if somebody has read it.
    pub(super) as_answer: Option<&'a Result<Answer, Failure>>,
}

/// What became of a message of a chat.
#[derive(Debug, Default)]
pub(super) struct InChat {
    /// Whether it was an answer.
    pub(super) answers: bool,
    /// The record that asked what it answers, or else what is asked still.
    pub(super) asked_in: Option<u64>,
}

/// Answers all that a run asks with one message; `continue` goes on with what was interrupted or has used
/// up its budget, and decides nothing else.
///
/// # Errors
/// Those of [`answer`], but that there is nothing to answer any more; `invalid_field` for changes of more
/// than one thing.
pub(super) async fn answer_in_chat<P: Ports>(
    ports: &P,
    key: &RunKey,
    words: Words<'_>,
) -> Result<InChat, Failure> {
    let RunMeta { status, user, .. } = known(ports, key).await?;
    if status.has_ended() || user != *words.by {
        return Ok(InChat::default());
    }
    let id = format!("chat.{}", words.id);
    let mut history = Asking { id: &id, answered: Vec::new(), asked_in: BTreeMap::new() };
    let journal = match read_journal_seeing(ports, key, |record| history.take(record)).await {
        Ok(journal) => journal,
        Err(error) if error.may_pass() => return Err(unavailable(&error)),
        // What cannot be read asks nothing.
        Err(_) => return Ok(InChat::default()),
    };
    if journal.run().is_settled_by(&id) {
        return Ok(InChat { answers: true, asked_in: history.first_of(&history.answered) });
    }
    let goes_on = is_continue(words.text);
    let asked_in = history.first_of(journal.run().asks().map(|ask| &ask.id));
    let asks = journal.run().asks().filter(|ask| !goes_on || ask.about.can_continue());
    let asks: Vec<Ask> = asks.cloned().collect();
    if asks.is_empty() {
        return Ok(InChat { answers: false, asked_in });
    }
    let answers = answers_to(&asks, &words)?;
    for (ask, answer_to_it) in asks.iter().zip(answers) {
        let answered = Answered {
            feedback: ask.id.clone(),
            id: id.clone(),
            by: Some(words.by.clone()),
            answer: answer_to_it,
            comment: String::new(),
            digest: Some(ask.digest.clone()),
            via: None,
        };
        match answer(ports, key, answered).await {
            // Somebody else was first, or what came before ended it.
            Err(failure) if is_over(failure.code) => {}
            Err(failure) => return Err(failure),
            Ok(_) => {}
        }
    }
    Ok(InChat { answers: true, asked_in })
}

/// What a message answers to each of these. One that goes on with the run consents to all of them.
fn answers_to(asks: &[Ask], words: &Words<'_>) -> Result<Vec<Answer>, Failure> {
    let read = match words.as_answer {
        _ if is_continue(words.text) => Ok(Answer::Confirm),
        Some(read) => read.clone(),
        None => {
            Answer::read(words.text, None).map_err(|(code, problem)| Failure::new(code, problem))
        }
    };
    let written = Written { words: words.text.to_owned(), read };
    let mut answers = Vec::with_capacity(asks.len());
    for ask in asks {
        answers.push(in_chat(ask, written.to([&ask.about])?));
    }
    let changes = answers.iter().any(|answer| matches!(answer, Answer::Modify { .. }));
    if changes && asks.len() > 1 {
        let asked: Vec<&str> = asks.iter().map(|ask| ask.id.as_str()).collect();
        let problem = format!("change one at a time, by its id: {}", asked.join(", "));
        return Err(Failure::new(ErrorCode::InvalidField, problem));
    }
    Ok(answers)
}

/// What was asked in a run, as its records are read.
struct Asking<'a> {
    /// An answer's name.
    id: &'a str,
    /// What that was about.
    answered: Vec<FeedbackId>,
    /// The first records by which things were asked.
    asked_in: BTreeMap<FeedbackId, u64>,
}

impl Asking<'_> {
    fn take(&mut self, record: &Record) {
        for entry in &record.entries {
            if let Event::FeedbackAsked { asks, .. } = &entry.event {
                for ask in asks {
                    self.asked_in.entry(ask.id.clone()).or_insert(record.n);
                }
            } else if let Event::FeedbackAnswered(answered) = &entry.event
                && answered.id == self.id
            {
                self.answered.push(answered.feedback.clone());
            }
        }
    }

    /// The first record by which one of these was asked.
    fn first_of<'a>(&self, ids: impl IntoIterator<Item = &'a FeedbackId>) -> Option<u64> {
        ids.into_iter().filter_map(|id| self.asked_in.get(id)).min().copied()
    }
}

/// Who changes something in a chat names what is to be otherwise.
fn in_chat(ask: &Ask, answer: Answer) -> Answer {
    match answer {
        Answer::Modify { arguments } => {
            let mut whole = ask.about.parameters().unwrap_or_default();
            whole.extend(arguments);
            Answer::Modify { arguments: whole }
        }
        Answer::Confirm | Answer::Skip | Answer::Stop | Answer::Say { .. } => answer,
    }
}

/// Whether an answer came for nothing, since there is nothing to answer any more.
fn is_over(code: ErrorCode) -> bool {
    let codes =
        [ErrorCode::FeedbackAnswered, ErrorCode::FeedbackNotFound, ErrorCode::FeedbackStale];
    codes.contains(&code)
}
