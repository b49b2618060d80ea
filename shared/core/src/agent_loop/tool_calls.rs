//! Starts, standstills and results of the open turn's calls.

use super::agent_calls::no_run_event;
use super::open_turn::{OpenCall, result_event};
use super::{AgentLoop, TurnUpdate};
use crate::id::CallId;
use crate::input::FinishReason;
use crate::tool::ToolResult;

impl AgentLoop {
    /// Records the start of a `once` call. Returns true if the start is new.
    pub fn mark_started(&mut self, call: &CallId) -> bool {
        match self.open_call(call) {
            Some(open) if !open.started && open.is_due() => {
                open.started = true;
                true
            }
            Some(_) | None => false,
        }
    }

    /// Processes a standstill during a failed attempt at a call. `None` if the attempt is not due.
    pub fn on_tool_stalled(&mut self, call: &CallId, attempt: u32) -> Option<TurnUpdate> {
        let is_owed = |open: &&mut OpenCall| {
            open.is_due() && !open.is_to_agent() && open.next_attempt() == attempt
        };
        let open = self.open_call(call).filter(is_owed)?;
        open.crashes += 1;
        let mut update = TurnUpdate::default();
        update.events.extend(open.give_up_if_crashed());
        self.close_turn_if_complete(FinishReason::Done, &mut update);
        Some(update)
    }

    /// Processes the result of a call. `None` if the call is not due.
    pub fn on_tool_returned(&mut self, call: &CallId, outcome: &ToolResult) -> Option<TurnUpdate> {
        let open = self.open_call(call).filter(|open| open.is_due())?;
        let mut update = TurnUpdate::default();
        // This check precedes the result, because a call with a result has no run.
        update.events.extend(no_run_event(open));
        open.result = Some(outcome.clone());
        update.events.push(result_event(&open.call, outcome));
        self.tainted |= outcome.is_untrusted(open.policy.untrusted);
        self.close_turn_if_complete(FinishReason::Done, &mut update);
        Some(update)
    }
}
