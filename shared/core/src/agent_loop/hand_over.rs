//! The hand-over of a run to another agent, in the middle of the run.

use super::open_turn::result_event;
use super::{AgentLoop, LoopStage};
use crate::agent::MIN_SHOWN_CHARS;
use crate::conversation::{ConversationItem, Turn};
use crate::entry::Event;
use crate::id::{CallId, EntryId};
use crate::reply::Reply;
use crate::tool::{OfferedTool, ToolOutput, ToolResult};

/// The position of an agent among the agents that work on a run, one after another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AgentPosition {
    /// The number of the agent's first turn, from 1. The turns of a run have one numbering.
    pub first_turn: u32,
    /// The number of hand-overs before.
    pub hand_overs: usize,
}

impl Default for AgentPosition {
    fn default() -> Self {
        Self { first_turn: 1, hand_overs: 0 }
    }
}

/// The end of an agent that hands its run over.
#[derive(Debug, Clone, PartialEq)]
pub struct HandOver {
    /// The ids and events of the entries for viewers.
    pub events: Vec<(EntryId, Event)>,
    /// The rest of the turn: the text that viewers saw, and the other calls. Empty if there is neither.
    pub items: Vec<ConversationItem>,
    /// The position of the next agent.
    pub next: AgentPosition,
}

impl AgentLoop {
    /// Returns the loop of an agent at this position among the agents of its run.
    #[must_use]
    pub fn with_position(self, position: AgentPosition) -> Self {
        Self { turn: position.first_turn, position, ..self }
    }

    /// Returns the number of a turn among the agent's own turns, from 1.
    #[must_use]
    pub fn own_turn(&self, turn: u32) -> u32 {
        turn.saturating_sub(self.position.first_turn).saturating_add(1)
    }

    /// Hands the run over by this call. `None` if the call is not due.
    pub fn hand_over(&mut self, call: &CallId) -> Option<HandOver> {
        let LoopStage::Acting(turn) = &self.stage else { return None };
        let is_it = |open: &super::OpenCall| open.call.id == *call;
        let open = turn.calls.iter().find(|open| is_it(open) && open.is_due() && open.hands_over());
        let open = open.filter(|_| turn.is_last_open(call))?;
        let result = ToolResult::Done(ToolOutput::from_text(""));
        let events = vec![result_event(&open.call, &result)];
        let others = turn.calls.iter().filter(|open| !is_it(open));
        let calls: Vec<_> =
            others.filter_map(|open| Some((open.call.clone(), open.result.clone()?))).collect();
        let text = if is_shown(&turn.text) { turn.text.clone() } else { String::new() };
        let is_empty = calls.is_empty() && text.is_empty();
        let message = turn.message.clone();
        let reasoning = turn.reasoning.clone();
        let rest = (!is_empty).then(|| Turn { message, text, reasoning, calls });
        let next =
            AgentPosition { first_turn: self.turn + 1, hand_overs: self.position.hand_overs + 1 };
        let items = rest.map(ConversationItem::from).into_iter().collect();
        Some(HandOver { events, items, next })
    }
}

/// Returns the text of a reply for viewers: nothing if its first call hands the run over, unless the text has
/// at least [`MIN_SHOWN_CHARS`] characters.
#[must_use]
pub fn shown_text<'a>(reply: &'a Reply, offered: &[OfferedTool]) -> &'a str {
    let first = reply.calls.first();
    let tool = first.and_then(|call| offered.iter().find(|tool| tool.name == call.tool));
    let hands_over = tool.is_some_and(|tool| tool.policy.hands_over);
    if hands_over && !is_shown(&reply.text) { "" } else { &reply.text }
}

/// Returns true if viewers see this text of a reply that hands the run over.
fn is_shown(text: &str) -> bool {
    text.chars().nth(MIN_SHOWN_CHARS - 1).is_some()
}
