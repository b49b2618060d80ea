//! The end of a run, as whoever writes it leaves the store: what the last record changes beside the
//! journal, and how a run ends or is retired that nobody drives.

use djinn_core::conversation::{CompactedContext, Exchange, SessionMemory};
use djinn_core::effect::{Delivery, Effect};
use djinn_core::id::{UserId, WriteId};
use djinn_core::input::Input;
use djinn_core::journal::Record;
use djinn_core::run::Run;

use crate::pages::read_journal;
use crate::port::alarm::Alarms;
use crate::port::clock::Clock;
use crate::port::journal::{AppendResult, Journals, MAX_OUTLINE_QUESTION, RunEnd, RunOutline};
use crate::port::mailbox::{Mail, Mailbox};
use crate::port::tool::BoxFuture;
use crate::port::{RunKey, SessionKey, StoreError};
use crate::settings::{expiry_s, journal_expiry_s};
use crate::world::Ports;

/// What a run's last record changes beside its journal.
pub(crate) fn run_end(run: &Run, record: &Record) -> RunEnd {
    let asked = run.spec();
    let language = asked.settings.language;
    let ending = record.entries.iter().find_map(|entry| entry.event.run_result());
    let answer = ending.map(|ending| ending.answer.clone());
    let failure = ending.and_then(|ending| ending.failure.as_ref());
    let sentence = failure.map(|failure| failure.sentence(language));
    let answer: Vec<String> =
        [answer, sentence].into_iter().flatten().filter(|part| !part.is_empty()).collect();
    RunEnd {
        status: run.status(),
        session: SessionKey::of(asked),
        user: asked.user.clone(),
        request: asked.request.clone(),
        started_at_ms: run.started_at_ms(),
        is_counted: false,
        day_changes: Vec::new(),
        end_shown: false,
        outline: run_outline(run, record),
        exchange: Exchange {
            question: asked.question.clone(),
            answer: answer.join("\n\n"),
            tainted: run.is_tainted(),
            asker: Some(asked.user.clone()),
        },
        memory: session_memory(run),
    }
}

/// The summary of the session's oldest exchanges, if this run made one. It speaks of its user's wishes, so it is
/// made and read by runs of the session's owner alone.
fn session_memory(run: &Run) -> Option<SessionMemory> {
    let spec = run.spec();
    let new_summary = run.conversation().compacted.as_ref().filter(|summary| {
        spec.child.is_none()
            && spec.shared.is_none()
            && summary.exchanges > 0
            && spec.earlier.as_ref() != Some(*summary)
    })?;
    let compacted = CompactedContext {
        turns: 0,
        last_text: String::new(),
        tainted: run.is_tainted(),
        ..new_summary.clone()
    };
    let newer_exchanges = u32::try_from(run.conversation().history.len()).unwrap_or(u32::MAX);
    Some(SessionMemory { compacted, newer_exchanges })
}

/// What is noted of a run when it ends, if that is short.
fn run_outline(run: &Run, record: &Record) -> Option<RunOutline> {
    let asked = run.spec();
    let is_short = asked.child.is_none() && asked.question.len() <= MAX_OUTLINE_QUESTION;
    (is_short && run.current_plan().is_none() && run.plan_version() == 0).then(|| RunOutline {
        record: record.number,
        question: asked.question.clone(),
        budget: run.budget(),
    })
}

/// Ends a child that nobody waits for, and all below it: whoever works on it finds that out at its next append. Nobody adds
/// an entry to its journal after that.
///
/// # Errors
/// [`StoreError`] when it cannot be read or written.
pub(crate) async fn close_child<P: Ports>(ports: &P, key: &RunKey) -> Result<(), StoreError> {
    match close_journal(ports, key).await? {
        Some(run) => stop_below(ports, key, &run).await,
        None => Ok(()),
    }
}

/// Closes every journal below an ended run that it owes a stop, top down.
///
/// # Errors
/// [`StoreError`] when one cannot be read or written.
pub(crate) fn stop_below<'a, P: Ports>(
    ports: &'a P,
    key: &'a RunKey,
    run: &'a Run,
) -> BoxFuture<'a, Result<(), StoreError>> {
    Box::pin(async move {
        for effect in run.due() {
            if let Effect::Deliver(Delivery::StopChild(child)) = effect {
                stop_child(ports, &key.with_child(child), &run.spec().user).await?;
            }
        }
        Ok(())
    })
}

/// Has a child stop, and all below it: whoever works on one, or creates it after this, finds the message.
/// Nobody is woken for it.
///
/// # Errors
/// [`StoreError`] when one of them may go on.
pub(crate) async fn stop_child<P: Ports>(
    ports: &P,
    key: &RunKey,
    by: &UserId,
) -> Result<(), StoreError> {
    let stop = Mail::Stop { by: by.clone() };
    let expires_at_s = expiry_s(ports.settings(), ports.clock().now_ms());
    ports.store().put_mail(key, &stop, expires_at_s).await?;
    close_child(ports, key).await
}

/// The run as its journal has it once that is closed; `None` for one that never began, or has expired.
async fn close_journal<P: Ports>(ports: &P, key: &RunKey) -> Result<Option<Run>, StoreError> {
    loop {
        let journal = match read_journal(ports, key).await {
            Ok(journal) => journal,
            Err(StoreError::Unreadable(_)) => return Ok(None),
            Err(error) => return Err(error),
        };
        if journal.run().status().has_ended() {
            return Ok(Some(journal.run().clone()));
        }
        let stop = Input::StopRequested { by: journal.run().spec().user.clone(), partial: None };
        let clock = ports.clock();
        let write = format!("close.{:x}.{:x}", clock.now_ms(), clock.jitter().to_bits());
        let write =
            WriteId::new(write).map_err(|error| StoreError::Unreadable(error.to_string()))?;
        let decided = journal.decide_record(vec![stop], journal.epoch(), write, clock.now_ms());
        let Some((after, record)) = decided else { return Ok(None) };
        let expires_at_s = journal_expiry_s(ports.settings(), after.run());
        let end = run_end(after.run(), &record);
        match ports.store().append_end(key, &record, &end, expires_at_s).await? {
            AppendResult::Appended => return Ok(Some(after.run().clone())),
            // Whoever works on it was faster; the next record may be its last.
            AppendResult::Conflict => {}
        }
    }
}

/// Ends a run or child from outside its journal. The alarm, which only runs have, goes first: what has ended
/// is not stopped again.
pub(crate) async fn abandon_run<P: Ports>(ports: &P, key: &RunKey) -> Result<(), StoreError> {
    if key.is_root() {
        ports.alarms().remove_alarm(key).await?;
    }
    ports.store().abandon_run(key, ports.clock().now_ms()).await
}

/// Takes away what brings a run back that has ended: its alarm, its timer if it may have one, and the mail that nobody
/// reads any more. Whoever puts a message after this takes it back by itself, see
/// [`wake_run`](crate::sleep::wake_run).
///
/// # Errors
/// [`StoreError`] when the alarm may be left. Mail that is left says nothing and expires.
pub(crate) async fn retire<P: Ports>(
    ports: &P,
    key: &RunKey,
    may_have_timer: bool,
) -> Result<(), StoreError> {
    let mail = async {
        let mail: Vec<String> = ports.store().list_mail(key).await?.iter().map(Mail::id).collect();
        if mail.is_empty() { Ok(()) } else { ports.store().delete_mail(key, &mail).await }
    };
    if let Err(error) = mail.await {
        tracing::info!(%error, run_id = %key.run, "mail of an ended run not deleted");
    }
    if may_have_timer {
        ports.alarms().remove_timer(key).await?;
    }
    ports.alarms().remove_alarm(key).await
}
