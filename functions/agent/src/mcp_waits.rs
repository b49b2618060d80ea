//! The calls of MCP tools that wait for a run in this process, each until its client cancels the call.
//!
//! A cancelled call ends its response and no run. On Lambda, a cancellation arrives in another process, where no call
//! waits; the call then ends after its own time.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use axum::http::request::Parts;
use djinn_runtime::client::HandOverSignal;
use serde_json::Value;

use crate::identity::Caller;

/// The waiting calls of a process.
#[derive(Default)]
pub(crate) struct McpWaits(Mutex<Vec<Weak<McpWait>>>);

/// The wait of one call. Dropping the value ends the wait.
pub(crate) struct McpWait {
    caller: Caller,
    /// The id of the request. Other clients of the same user may use the same id.
    call: Value,
    end: HandOverSignal,
}

/// Registers the wait of the caller's call, which `end` ends.
pub(crate) fn begin_wait(parts: &Parts, call: Value, end: HandOverSignal) -> Option<Arc<McpWait>> {
    let waits = parts.extensions.get::<Arc<McpWaits>>()?;
    let caller = Caller::of(&parts.extensions).ok()?;
    Some(waits.begin(caller, call, end))
}

/// Ends the waits of the caller's calls with this id. Each call returns the state of its run.
pub(crate) fn end_wait(parts: &Parts, caller: &Caller, call: &Value) {
    if let Some(waits) = parts.extensions.get::<Arc<McpWaits>>() {
        waits.end(caller, call);
    }
}

impl McpWaits {
    fn begin(&self, caller: Caller, call: Value, end: HandOverSignal) -> Arc<McpWait> {
        let wait = Arc::new(McpWait { caller, call, end });
        let mut waits = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        waits.retain(|wait| wait.strong_count() > 0);
        waits.push(Arc::downgrade(&wait));
        wait
    }

    /// Returns the number of calls that waited.
    fn end(&self, caller: &Caller, call: &Value) -> usize {
        let waits = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let waits = waits.iter().filter_map(Weak::upgrade);
        let cancelled = waits.filter(|wait| wait.caller == *caller && wait.call == *call);
        cancelled.inspect(|wait| wait.end.request_hand_over()).count()
    }
}

#[cfg(test)]
mod tests {
    use djinn_core::id::{TenantId, UserId};
    use serde_json::json;

    use super::*;

    fn caller(user: &str) -> Caller {
        Caller { tenant: TenantId::new("acme").unwrap(), user: UserId::new(user).unwrap() }
    }

    #[test]
    fn only_the_callers_own_calls_with_the_id_end_and_only_while_they_wait() {
        let waits = McpWaits::default();
        let begin = |user, call| waits.begin(caller(user), call, HandOverSignal::default());
        let calls = [begin("anna", json!(1)), begin("anna", json!("1")), begin("anna", json!(1))];
        for (user, call, ended) in [
            ("anna", json!(1), 2),
            ("anna", json!("1"), 1),
            ("anna", json!(2), 0),
            ("bob", json!(1), 0),
        ] {
            assert_eq!(waits.end(&caller(user), &call), ended, "{user}, {call}");
        }
        drop(calls);
        assert_eq!(waits.end(&caller("anna"), &json!(1)), 0);
    }
}
