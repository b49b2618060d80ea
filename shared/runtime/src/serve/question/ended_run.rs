//! The ended run for a `continue`.

use djinn_core::error_code::{ErrorCode, Failure};

use super::known_runs::KnownRuns;
use crate::port::RunKey;
use crate::port::clock::Clock;
use crate::port::journal::{EndedRun, Journals};
use crate::question::UserQuestion;
use crate::serve::{LoadedRun, store_failure};
use crate::settings::to_millis;
use crate::world::Ports;

/// Returns the newest ended run of the user whose end no client received and whose journal is kept.
///
/// # Errors
/// Returns `nothing_to_continue` or `store_unavailable`.
pub(super) async fn find_unseen_run<P: Ports>(
    ports: &P,
    question: &UserQuestion,
    ended_runs: &[EndedRun],
    known_runs: &mut KnownRuns,
) -> Result<LoadedRun, Failure> {
    if let Some(run) = find_unseen_among(ports, question, ended_runs, known_runs).await? {
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
    let is_kept = |at_ms| at_ms > kept_since_ms;
    let user = Some(&question.spec.user);
    for ended_run in ended_runs.iter().filter(|ended_run| ended_run.user.as_ref() == user) {
        let key = RunKey::new(question.spec.tenant.clone(), ended_run.run.clone());
        let run = known_runs.find_ended(ports, &key).await?;
        let is_unseen = run.is_some_and(|run| {
            !run.meta().end_shown && run.meta().ended_at_ms.is_some_and(is_kept)
        });
        if is_unseen {
            return known_runs.take(ports, &key).await.map(Some);
        }
    }
    Ok(None)
}
