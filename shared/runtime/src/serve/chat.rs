//! Answers that come as the next message of a chat.

use djinn_core::code::{ErrorCode, Failure};
use djinn_core::entry::{Entry, Event};
use djinn_core::feedback::{Answer, Answered, Ask, Written};
use djinn_core::id::{FeedbackId, UserId};
use djinn_core::journal::Record;

use super::feedback::answer;
use super::question::is_continue;
use super::{known, read_journal, unavailable};
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
    let (journal, records) = match read_journal(ports, key).await {
        Ok(read) => read,
        Err(error) if error.may_pass() => return Err(unavailable(&error)),
        // What cannot be read asks nothing.
        Err(_) => return Ok(InChat::default()),
    };
    let id = format!("chat.{}", words.id);
    if journal.run().is_settled_by(&id) {
        return Ok(InChat {
            answers: true,
            asked_in: asked_in(&records, &answered_by(&records, &id)),
        });
    }
    let goes_on = is_continue(words.text);
    let asked: Vec<&FeedbackId> = journal.run().asks().map(|ask| &ask.id).collect();
    let asked_in = asked_in(&records, &asked);
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

/// What an answer of this name was about.
fn answered_by<'a>(records: &'a [Record], id: &str) -> Vec<&'a FeedbackId> {
    let answered = records.iter().flat_map(|record| &record.entries).filter_map(|entry| {
        let Event::FeedbackAnswered(answered) = &entry.event else { return None };
        (answered.id == id).then_some(&answered.feedback)
    });
    answered.collect()
}

/// The first record by which one of these was asked.
fn asked_in(records: &[Record], ids: &[&FeedbackId]) -> Option<u64> {
    let asks = |entry: &Entry| {
        let Event::FeedbackAsked { asks, .. } = &entry.event else { return false };
        asks.iter().any(|ask| ids.contains(&&ask.id))
    };
    records.iter().find(|record| record.entries.iter().any(asks)).map(|record| record.n)
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
