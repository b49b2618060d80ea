//! The run that a message belongs to which is no question of its own.

use djinn_core::error_code::{ErrorCode, Failure};

use crate::port::RunKey;
use crate::port::clock::Clock;
use crate::port::journal::{EndedRun, Journals, RunMeta, SessionView};
use crate::question::UserQuestion;
use crate::serve::chat_response::{ChatMessage, ChatResult, submit_chat_response};
use crate::serve::{load_meta, store_failure};
use crate::settings::to_millis;
use crate::world::Ports;

/// A run of the session, if what is said is no question of its own: it answers what the active run asks,
/// and that has been told so; or it follows that, or one that has ended. A repeat of a request belongs to
/// the run it began.
pub(super) async fn find_continued_run<P: Ports>(
    ports: &P,
    question: &UserQuestion,
    view: &SessionView,
) -> Result<Option<(RunKey, Option<u64>)>, Failure> {
    let own = question.run_key();
    let active = view.active.as_ref().filter(|active| **active != own.run);
    if active.is_none() && !question.is_continue() {
        return Ok(None);
    }
    let began = ports.store().find_meta(&own).await.map_err(|error| store_failure(&error))?;
    if began.is_some() {
        return Ok(None);
    }
    let Some(active) = active else { return find_unseen(ports, question, view).await };
    let active = RunKey::new(own.tenant.clone(), active.clone());
    let RunMeta { user, status, .. } = load_meta(ports, &active).await?;
    if user == question.user {
        let (by, id) = (&question.user, question.request.as_str());
        let as_answer = question.parsed_response.as_ref();
        let words = ChatMessage { by, id, text: &question.text, parsed_response: as_answer };
        let ChatResult { is_response: answers, request_record: asked_in } =
            submit_chat_response(ports, &active, words).await?;
        return Ok((answers || question.is_continue()).then_some((active, asked_in)));
    }
    match question.is_continue() {
        true if status.has_ended() => find_unseen(ports, question, view).await,
        true => Err(Failure::session_busy(&active.run)),
        false => Ok(None),
    }
}

async fn find_unseen<P: Ports>(
    ports: &P,
    question: &UserQuestion,
    view: &SessionView,
) -> Result<Option<(RunKey, Option<u64>)>, Failure> {
    find_unseen_run(ports, question, view).await.map(|key| Some((key, None)))
}

/// What a `continue` goes on with where no run is at work: the newest of the user's ended runs in the
/// session whose end no client was sent, and that can still be shown.
async fn find_unseen_run<P: Ports>(
    ports: &P,
    question: &UserQuestion,
    view: &SessionView,
) -> Result<RunKey, Failure> {
    if let Some(key) = find_unseen_among(ports, question, &view.ended).await? {
        return Ok(key);
    }
    // One that ended while the session was read may be neither at work there nor among the ended.
    let session = question.session_key();
    let view = ports.store().load_session(&session).await.map_err(|error| store_failure(&error))?;
    let unseen = find_unseen_among(ports, question, &view.ended).await?;
    unseen.ok_or_else(|| ErrorCode::NothingToContinue.into())
}

async fn find_unseen_among<P: Ports>(
    ports: &P,
    question: &UserQuestion,
    ended: &[EndedRun],
) -> Result<Option<RunKey>, Failure> {
    let kept_since_ms =
        ports.clock().now_ms().saturating_sub(to_millis(ports.settings().retention));
    for ended in ended.iter().filter(|ended| ended.user.as_ref() == Some(&question.user)) {
        let key = RunKey::new(question.tenant.clone(), ended.run.clone());
        let meta = ports.store().find_meta(&key).await.map_err(|error| store_failure(&error))?;
        let is_kept = |at_ms| at_ms > kept_since_ms;
        if meta.is_some_and(|meta| !meta.end_shown && meta.ended_at_ms.is_some_and(is_kept)) {
            return Ok(Some(key));
        }
    }
    Ok(None)
}
