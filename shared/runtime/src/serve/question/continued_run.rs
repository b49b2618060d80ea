//! The existing run for a message that is no new question.

use djinn_core::error_code::{ErrorCode, Failure};

use super::known_runs::KnownRuns;
use crate::port::RunKey;
use crate::port::clock::Clock;
use crate::port::journal::{EndedRun, Journals, SessionView};
use crate::question::UserQuestion;
use crate::serve::chat_response::{ChatMessage, ChatResult, submit_chat_response};
use crate::serve::{LoadedRun, store_failure};
use crate::settings::to_millis;
use crate::world::Ports;

/// Returns the session's run for a message that is no new question, with the record of the answered request.
/// The message either responds to the active run, or follows a run that is active or has ended. A repeated
/// request belongs to its own run.
pub(super) async fn find_continued_run<P: Ports>(
    ports: &P,
    question: &UserQuestion,
    view: &SessionView,
    known_runs: &mut KnownRuns,
) -> Result<Option<(LoadedRun, Option<u64>)>, Failure> {
    let own = question.run_key();
    let active = view.active.as_ref().filter(|active| **active != own.run);
    if active.is_none() && !question.is_continue() {
        return Ok(None);
    }
    if known_runs.find(ports, &own).await?.is_some() {
        return Ok(None);
    }
    let Some(active) = active else { return find_unseen(ports, question, view, known_runs).await };
    if !question.attachments.is_empty() {
        // A message with files is no response: the files would be lost.
        return Ok(None);
    }
    let active = RunKey::new(own.tenant.clone(), active.clone());
    let mut run = known_runs.take(ports, &active).await?;
    if run.meta().user == question.user {
        let by = &question.user;
        let id = question.request.as_str();
        let as_answer = question.parsed_response.as_ref();
        let words = ChatMessage { by, id, text: &question.text, parsed_response: as_answer };
        let ChatResult { is_response, request_record } =
            submit_chat_response(ports, &mut run, words).await?;
        return Ok((is_response || question.is_continue()).then_some((run, request_record)));
    }
    if !question.is_continue() {
        return Ok(None);
    }
    if run.meta().status.has_ended() {
        return find_unseen(ports, question, view, known_runs).await;
    }
    Err(Failure::session_busy(&active.run))
}

async fn find_unseen<P: Ports>(
    ports: &P,
    question: &UserQuestion,
    view: &SessionView,
    known_runs: &mut KnownRuns,
) -> Result<Option<(LoadedRun, Option<u64>)>, Failure> {
    find_unseen_run(ports, question, view, known_runs).await.map(|run| Some((run, None)))
}

/// Returns the run for a `continue` in a session without an active run. This is the newest ended run of the
/// user whose end no client received and whose journal is kept.
async fn find_unseen_run<P: Ports>(
    ports: &P,
    question: &UserQuestion,
    view: &SessionView,
    known_runs: &mut KnownRuns,
) -> Result<LoadedRun, Failure> {
    if let Some(run) = find_unseen_among(ports, question, &view.ended, known_runs).await? {
        return Ok(run);
    }
    // A run that ended during the first read may be missing in both lists; read again.
    let session = question.session_key();
    let view = ports.store().load_session(&session).await.map_err(|error| store_failure(&error))?;
    let unseen = find_unseen_among(ports, question, &view.ended, known_runs).await?;
    unseen.ok_or_else(|| ErrorCode::NothingToContinue.into())
}

async fn find_unseen_among<P: Ports>(
    ports: &P,
    question: &UserQuestion,
    ended_runs: &[EndedRun],
    known_runs: &mut KnownRuns,
) -> Result<Option<LoadedRun>, Failure> {
    let kept_since_ms =
        ports.clock().now_ms().saturating_sub(to_millis(ports.settings().retention));
    for ended_run in
        ended_runs.iter().filter(|ended_run| ended_run.user.as_ref() == Some(&question.user))
    {
        let key = RunKey::new(question.tenant.clone(), ended_run.run.clone());
        let run = known_runs.find_ended(ports, &key).await?;
        let is_kept = |at_ms| at_ms > kept_since_ms;
        let is_unseen = run.is_some_and(|run| {
            !run.meta().end_shown && run.meta().ended_at_ms.is_some_and(is_kept)
        });
        if is_unseen {
            return known_runs.take(ports, &key).await.map(Some);
        }
    }
    Ok(None)
}
