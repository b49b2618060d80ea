//! Answers that come as the next message of a chat.

use djinn_core::code::{ErrorCode, Failure};
use djinn_core::feedback::{ASK_USER, Answer, Answered, Ask};
use djinn_core::id::UserId;

use super::feedback::answer;
use super::question::is_continue;
use super::{known, read_journal, unavailable};
use crate::port::journal::RunMeta;
use crate::port::{Ports, RunKey, StoreError};

/// A message of a chat.
pub(super) struct Words<'a> {
    /// Who wrote it.
    pub(super) by: &'a UserId,
    /// Names it: a repeat answers nothing more.
    pub(super) id: &'a str,
    /// What it says.
    pub(super) text: &'a str,
}

/// Answers all that a run asks with one message. Returns whether that is what the message was:
/// `continue` goes on with what was interrupted or has used up its budget, and decides nothing else.
///
/// # Errors
/// Those of [`answer`], but that there is nothing to answer any more.
pub(super) async fn answer_in_chat<P: Ports>(
    ports: &P,
    key: &RunKey,
    words: Words<'_>,
) -> Result<bool, Failure> {
    let RunMeta { status, user, .. } = known(ports, key).await?;
    if status.has_ended() || user != *words.by {
        return Ok(false);
    }
    let journal = match read_journal(ports, key).await {
        Ok((journal, _)) => journal,
        Err(error @ StoreError::Unavailable(_)) => return Err(unavailable(&error)),
        // What cannot be read asks nothing.
        Err(StoreError::Unreadable(_) | StoreError::NewerFormat(_)) => return Ok(false),
    };
    let id = format!("chat.{}", words.id);
    if journal.run().is_settled_by(&id) {
        return Ok(true);
    }
    let goes_on = is_continue(words.text);
    let asks = journal.run().asks().filter(|ask| !goes_on || ask.about.can_continue());
    let asks: Vec<Ask> = asks.cloned().collect();
    let said = match goes_on {
        true => Answer::Confirm,
        false => {
            Answer::read(words.text, None).map_err(|(code, problem)| Failure::new(code, problem))?
        }
    };
    for ask in &asks {
        let answered = Answered {
            feedback: ask.id.clone(),
            id: id.clone(),
            by: Some(words.by.clone()),
            answer: to(ask, &said, words.text),
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
    Ok(!asks.is_empty())
}

/// To a question of the model's, every word but `stop` and `skip` is an answer.
fn to(ask: &Ask, said: &Answer, words: &str) -> Answer {
    let is_question = ask.about.call().is_some_and(|(_, tool, _)| tool == ASK_USER);
    let is_answer = matches!(said, Answer::Confirm | Answer::Say { .. });
    match is_question && is_answer {
        true => Answer::Say { words: words.to_owned() },
        false => said.clone(),
    }
}

/// Whether an answer came for nothing, since there is nothing to answer any more.
fn is_over(code: ErrorCode) -> bool {
    let codes =
        [ErrorCode::FeedbackAnswered, ErrorCode::FeedbackNotFound, ErrorCode::FeedbackStale];
    codes.contains(&code)
}
