//! The classification of a message in a session.

/// The way to handle a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MessageClass {
    /// Start a new run. The store decides if the session is busy, and if the request is a repeat.
    Start,
    /// Join the run of the same request.
    Join,
    /// Show the active run, and resume interrupted work.
    Continue,
    /// Respond to the pending requests of the active run. Without pending requests, the message is a question.
    Respond,
    /// Show the end of an ended run to its user.
    ReplayEnd,
    /// Return an error that names the active run.
    Busy,
}

/// The runs of a session that decide about a message.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct SessionRuns {
    /// True if the run of the same request is known to exist.
    pub(super) is_repeat: bool,
    /// The active run of another request.
    pub(super) active: Option<ActiveRun>,
}

/// The active run of a session.
#[derive(Debug, Clone, Copy)]
pub(super) struct ActiveRun {
    /// True if the run's user is the message's user.
    pub(super) is_own: bool,
    /// True if the run has ended after the session was read.
    pub(super) has_ended: bool,
}

/// The form of a message.
#[derive(Debug, Clone, Copy)]
pub(super) struct MessageForm {
    /// True for `continue`, which never starts a run.
    pub(super) is_continue: bool,
    /// True for a message with attached files, which is no response: the files would be lost.
    pub(super) has_files: bool,
    /// True if the route may respond to requests. Otherwise a run of the same user is like another user's.
    pub(super) may_respond: bool,
}

/// Returns the class of a message.
pub(super) fn classify(runs: SessionRuns, message: MessageForm) -> MessageClass {
    let MessageForm { is_continue, has_files, may_respond } = message;
    match runs.active {
        _ if runs.is_repeat => MessageClass::Join,
        None if is_continue => MessageClass::ReplayEnd,
        None => MessageClass::Start,
        Some(_) if has_files => MessageClass::Busy,
        Some(ActiveRun { is_own: true, .. }) if may_respond && is_continue => {
            MessageClass::Continue
        }
        Some(ActiveRun { is_own: true, .. }) if may_respond => MessageClass::Respond,
        Some(ActiveRun { has_ended: true, .. }) if is_continue => MessageClass::ReplayEnd,
        Some(_) if is_continue => MessageClass::Busy,
        Some(_) => MessageClass::Start,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_message_has_one_class_in_each_session() {
        use MessageClass::{Busy, Continue, Join, ReplayEnd, Respond, Start};
        let active = |is_own, has_ended| Some(ActiveRun { is_own, has_ended });
        let forms = [(false, false), (false, true), (true, false), (true, true)];
        for (active, classes) in [
            // A question, a question with files, `continue`, and `continue` with files.
            (None, [Start, Start, ReplayEnd, ReplayEnd]),
            (active(true, false), [Respond, Busy, Continue, Busy]),
            (active(true, true), [Respond, Busy, Continue, Busy]),
            (active(false, false), [Start, Busy, Busy, Busy]),
            (active(false, true), [Start, Busy, ReplayEnd, Busy]),
        ] {
            for ((is_continue, has_files), class) in forms.into_iter().zip(classes) {
                let message = MessageForm { is_continue, has_files, may_respond: true };
                let runs = SessionRuns { is_repeat: false, active };
                assert_eq!(classify(runs, message), class, "{runs:?}, {message:?}");
                let runs = SessionRuns { is_repeat: true, active };
                assert_eq!(classify(runs, message), Join, "{runs:?}, {message:?}");
                // Without a capability, the user's own run is like another's.
                let other = active.map(|run| ActiveRun { is_own: false, ..run });
                let (own, others) = (
                    SessionRuns { is_repeat: false, active },
                    SessionRuns { is_repeat: false, active: other },
                );
                let message = MessageForm { may_respond: false, ..message };
                assert_eq!(
                    classify(own, message),
                    classify(others, message),
                    "{own:?}, {message:?}"
                );
            }
        }
    }
}
