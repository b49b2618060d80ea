//! The end of a run in the store: the changes that the last record makes beside the journal, and the end of a
//! run without a driver.

use djinn_core::conversation::{CompactedContext, Exchange, SessionMemory};
use djinn_core::effect::{Delivery, Effect};
use djinn_core::id::{UserId, WriteId};
use djinn_core::input::{Input, PartialMessage};
use djinn_core::journal::Record;
use djinn_core::run::Run;
use djinn_protocol::preview::{OpenText, TextKind};

use crate::pages::read_journal_with;
use crate::port::alarm::Alarms;
use crate::port::checker::ContentOwner;
use crate::port::clock::{Clock, run_within};
use crate::port::journal::{AppendResult, Journals, MAX_OUTLINE_QUESTION, RunEnd, RunOutline};
use crate::port::live::{LIVE_RETENTION, Live, LiveFrom, LiveLog};
use crate::port::mailbox::{Mail, Mailbox};
use crate::port::tool::BoxFuture;
use crate::port::{RunKey, SessionKey, StoreError};
use crate::settings::{expiry_s, journal_expiry_s, to_millis};
use crate::sleep::MAX_ALARM_WAIT;
use crate::world::Ports;

/// Returns the changes that a run's last record makes beside its journal.
pub(crate) fn run_end(run: &Run, record: &Record) -> RunEnd {
    let spec = run.spec();
    let language = spec.settings.language;
    let ending = record.entries.iter().find_map(|entry| entry.event.run_result());
    let answer = ending.map(|ending| ending.answer.clone());
    let failure = ending.and_then(|ending| ending.failure.as_ref());
    let sentence = failure.map(|failure| failure.sentence(language));
    let answer: Vec<String> =
        [answer, sentence].into_iter().flatten().filter(|part| !part.is_empty()).collect();
    let files = ending.into_iter().flat_map(|ending| &ending.files);
    let files = files.filter(|file| !file.internal).map(|file| file.name.clone());
    RunEnd {
        status: run.status(),
        session: SessionKey::of(spec),
        user: spec.user.clone(),
        request: spec.request.clone(),
        started_at_ms: run.started_at_ms(),
        is_counted: false,
        day_changes: Vec::new(),
        end_shown: false,
        outline: run_outline(run, record),
        exchange: Exchange {
            question: spec.question.clone(),
            answer: answer.join("\n\n"),
            tainted: run.is_tainted(),
            asker: Some(spec.user.clone()),
            files: files.take(Exchange::MAX_FILES).collect(),
        },
        memory: session_memory(run),
    }
}

/// Returns the new summary of the session's oldest exchanges, if this run made a new summary. The summary
/// contains its user's wishes, so only runs of the session's owner make and read summaries.
fn session_memory(run: &Run) -> Option<SessionMemory> {
    let spec = run.spec();
    let new_summary = run.conversation().compacted.as_ref().filter(|summary| {
        spec.child.is_none()
            && spec.shared.is_none()
            && summary.exchanges > 0
            && spec.earlier.as_ref() != Some(*summary)
    })?;
    let own_summary = CompactedContext {
        turns: 0,
        last_text: String::new(),
        tainted: run.is_tainted(),
        ..new_summary.clone()
    };
    let newer_exchanges = u32::try_from(run.conversation().history.len()).unwrap_or(u32::MAX);
    Some(SessionMemory { compacted: own_summary, newer_exchanges })
}

/// Returns the outline of an ended run; `None` for a child, a long question or a plan.
fn run_outline(run: &Run, record: &Record) -> Option<RunOutline> {
    let spec = run.spec();
    let is_short = spec.child.is_none() && spec.question.len() <= MAX_OUTLINE_QUESTION;
    (is_short && run.current_plan().is_none() && run.plan_version() == 0).then(|| RunOutline {
        record: record.number,
        question: spec.question.clone(),
        budget: run.budget(),
    })
}

/// Ends a child without a waiting parent, and all runs below. The child's driver notices at its next append.
/// No entry follows in the child's journal.
///
/// # Errors
/// Returns [`StoreError`] if a journal cannot be read or written.
pub(crate) async fn close_child<P: Ports>(ports: &P, key: &RunKey) -> Result<(), StoreError> {
    match close_journal(ports, key).await? {
        Some(run) => stop_below(ports, key, &run).await,
        None => Ok(()),
    }
}

/// Closes the journal of every child to which an ended run owes a stop, top down.
///
/// # Errors
/// Returns [`StoreError`] if a journal cannot be read or written.
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

/// Stops a child and all runs below without waking any run: a current or later driver reads the mail.
///
/// # Errors
/// Returns [`StoreError`] if any of these runs may continue.
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

/// Closes a journal and returns its run; `None` if the journal is missing, expired or unreadable.
async fn close_journal<P: Ports>(ports: &P, key: &RunKey) -> Result<Option<Run>, StoreError> {
    loop {
        let mut last_at_ms = 0;
        let journal = match read_journal_with(ports, key, |record| last_at_ms = record.at_ms).await
        {
            Ok(journal) => journal,
            Err(StoreError::Unreadable(_)) => return Ok(None),
            Err(error) => return Err(error),
        };
        if journal.run().status().has_ended() {
            return Ok(Some(journal.run().clone()));
        }
        let by = journal.run().spec().user.clone();
        let partial = read_partial(ports, key, journal.run(), last_at_ms).await;
        let stop = Input::StopRequested { by, partial };
        let clock = ports.clock();
        let write = format!("close.{:x}.{:x}", clock.now_ms(), clock.jitter().to_bits());
        let write =
            WriteId::new(write).map_err(|error| StoreError::Unreadable(error.to_string()))?;
        let decision = journal.decide_record(vec![stop], journal.epoch(), write, clock.now_ms());
        let Some((after, record)) = decision else { return Ok(None) };
        let expires_at_s = journal_expiry_s(ports.settings(), after.run());
        let end = run_end(after.run(), &record);
        match ports.store().append_end(key, &record, &end, expires_at_s).await? {
            AppendResult::Appended(_) => return Ok(Some(after.run().clone())),
            // The driver wrote first; the next record may be its last.
            AppendResult::Conflict => {}
        }
    }
}

/// Returns the message that a child at work was writing, as far as the live log has its text, unless the content
/// checks hold the text back.
async fn read_partial<P: Ports>(
    ports: &P,
    key: &RunKey,
    run: &Run,
    last_record_at_ms: i64,
) -> Option<PartialMessage> {
    let message = run.due().into_iter().find_map(|effect| {
        if let Effect::CallModel(call) = effect { Some(call.message) } else { None }
    })?;
    let kept_since_ms = ports.clock().now_ms().saturating_sub(to_millis(LIVE_RETENTION));
    // A message begins after the last record, so a stop of many agents reads little of their log.
    let from = LiveFrom::Moment(kept_since_ms.max(last_record_at_ms));
    let (log, _) = match ports.store().read_live(&key.root(), &from).await {
        Ok(log) => log,
        Err(error) => {
            tracing::info!(%error, run_id = %key.run, "the text of a stopped agent is not kept");
            return None;
        }
    };
    let mut open = OpenText::default();
    for piece in &log {
        if let Live::Preview(piece) = piece
            && piece.path == key.path
            && piece.message == message
        {
            open.apply_preview(piece);
        }
    }
    let text = open.text_of(TextKind::Text).to_owned();
    let partial =
        Some(PartialMessage { message, text }).filter(|partial| !partial.text.is_empty())?;
    let spec = run.spec();
    let session = spec.session_name();
    ports.content().screen_partial(partial, ContentOwner::of(key, &spec.user, &session)).await
}

/// Ends a run or child without a record. An alarm that cannot be removed rings once more, and is then removed.
pub(crate) async fn abandon_run<P: Ports>(ports: &P, key: &RunKey) -> Result<(), StoreError> {
    ports.store().abandon_run(key, ports.clock().now_ms()).await?;
    if key.is_root() {
        let removal = run_within(ports.clock(), MAX_ALARM_WAIT, ports.alarms().remove_alarm(key));
        if removal.await.is_none_or(|removal| removal.is_err()) {
            tracing::warn!(run_id = %key.run, "the alarm of an abandoned run rings once more");
        }
    }
    Ok(())
}

/// Removes the alarm of an ended run, its timer if it may have a timer, and its unread mail. A later sender
/// deletes its own mail, see [`wake_run`](crate::sleep::wake_run).
///
/// # Errors
/// Returns [`StoreError`] if the alarm may remain. Remaining mail has no effect and expires.
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
