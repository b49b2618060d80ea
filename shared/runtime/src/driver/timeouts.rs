//! What a run is told because time has passed: the limits it reaches, and requests that nobody answered.
//!
//! `mail_read_at_ms` is up to which moment the mailbox was read, Unix milliseconds.

use djinn_core::input::Input;

use super::driven_run::DrivenRun;
use crate::world::Ports;

/// When the run is next to be told something, Unix milliseconds. An expiry that has come is told when
/// the mail was read.
pub(super) fn next_timeout_ms<P: Ports>(
    run: &DrivenRun<P>,
    mail_read_at_ms: i64,
    now_ms: i64,
) -> Option<i64> {
    if run.has_ended() {
        return None;
    }
    let limit = run.state().next_limit().map(|(_, at_ms)| at_ms);
    let expiry = run.state().next_expiry().map(|(_, at_ms)| at_ms);
    let expiry = expiry.filter(|at_ms| *at_ms > now_ms || *at_ms <= mail_read_at_ms);
    limit.into_iter().chain(expiry).min()
}

/// What the run is to be told because of the time.
pub(super) fn timeout_inputs<P: Ports>(
    run: &DrivenRun<P>,
    mail_read_at_ms: i64,
    now_ms: i64,
) -> Vec<Input> {
    if run.has_ended() {
        return Vec::new();
    }
    let limit = run.state().next_limit().filter(|(_, at_ms)| *at_ms <= now_ms);
    let limit = limit.map(|(limit, _)| Input::LimitReached { limit });
    limit.into_iter().chain(expiry_input(run, mail_read_at_ms, now_ms)).collect()
}

/// What nobody has answered in time. Whoever did, while this process stood still or between two
/// looks, is heard first: time has run out when the mailbox was read after that.
pub(super) fn expiry_input<P: Ports>(
    run: &DrivenRun<P>,
    mail_read_at_ms: i64,
    now_ms: i64,
) -> Option<Input> {
    let expired = run.state().next_expiry();
    let (id, _) = expired.filter(|(_, at_ms)| *at_ms <= now_ms.min(mail_read_at_ms))?;
    Some(Input::HumanRequestExpired { request: id.clone() })
}

/// Whether time has run out for somebody who may have answered.
pub(super) fn needs_mail_before_expiry<P: Ports>(
    run: &DrivenRun<P>,
    mail_read_at_ms: i64,
    now_ms: i64,
) -> bool {
    let expiry = run.state().next_expiry();
    expiry.is_some_and(|(_, at_ms)| at_ms <= now_ms && mail_read_at_ms < at_ms)
}
