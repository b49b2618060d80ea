//! Inputs caused by time: reached limits, and requests without a response.
//!
//! `mail_read_at_ms` is the time of the last mailbox read, in Unix milliseconds.

use djinn_core::input::Input;

use super::driven_run::DrivenRun;
use crate::world::Ports;

/// Returns the time of the next input or of a delayed call, in Unix milliseconds. A request past its expiry counts
/// only after the mailbox was read.
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
    let retry = run.next_retry_ms().filter(|at_ms| *at_ms > now_ms);
    limit.into_iter().chain(expiry).chain(retry).min()
}

/// Returns the inputs due by now.
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

/// Returns the input for a request that expired without a response. Responses sent in time come first, even
/// if the process stood still. So a request expires only after a mailbox read at or after the expiry.
pub(super) fn expiry_input<P: Ports>(
    run: &DrivenRun<P>,
    mail_read_at_ms: i64,
    now_ms: i64,
) -> Option<Input> {
    let expiry = run.state().next_expiry();
    let (id, _) = expiry.filter(|(_, at_ms)| *at_ms <= now_ms.min(mail_read_at_ms))?;
    Some(Input::HumanRequestExpired { request: id.clone() })
}

/// Returns true if a request has expired and the mailbox may hold a response put in time.
pub(super) fn needs_mail_before_expiry<P: Ports>(
    run: &DrivenRun<P>,
    mail_read_at_ms: i64,
    now_ms: i64,
) -> bool {
    let expiry = run.state().next_expiry();
    expiry.is_some_and(|(_, at_ms)| at_ms <= now_ms && mail_read_at_ms < at_ms)
}
