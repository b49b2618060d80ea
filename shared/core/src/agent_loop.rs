//! Think, act, observe: the loop of every agent.
//!
//! A turn is one reply of the model and the results of its calls. The loop owns the open turn; a complete
//! turn moves into the conversation.

mod agent_calls;
mod attempts;
mod ensemble;
mod file_calls;
mod hand_over;
mod held_calls;
mod open_turn;
mod stop;
mod tool_calls;

use std::collections::BTreeSet;

use crate::call_bounds::CallBounds;
use crate::repeats::{RepeatDetector, Repetition};
pub(crate) use agent_calls::describe_call;
use agent_calls::stop_event;
pub use attempts::Attempts;
pub use ensemble::GivenVerdict;
use file_calls::{Caller, read_result_after};
pub use hand_over::{AgentPosition, HandOver, shown_text};
pub use open_turn::AgentShare;
use open_turn::{OpenCall, OpenTurn, completed_event, requested_event, result_event};
use stop::{is_tool_result, join_answers};

use crate::agent::AgentSpec;
use crate::conversation::{ConversationItem, Nudge, Turn};
use crate::crash::ActiveEffects;
use crate::effect::{Effect, ToolChoice};
use crate::entry::Event;
use crate::error_code::{ErrorCode, Failure};
use crate::human::HumanRequest;
use crate::id::{CallId, EntryId, EntryName, MessageId};
use crate::input::{FinishReason, ModelReplied};
use crate::settings::{Role, RunSettings};
use crate::tool::{ArgumentProblem, ToolArguments, ToolCall, ToolFailure, ToolResult};
use crate::verdict::Ensemble;
use djinn_text::truncate::truncate_text;

/// Maximum consecutive nudges after replies without calls that cannot be the answer.
const MAX_NUDGES: u32 = 2;

/// Maximum consecutive nudges after replies that were cut off.
const MAX_CONTINUATIONS: u32 = 3;

/// Maximum consecutive nudges after empty replies.
const MAX_NUDGES_WHEN_EMPTY: u32 = 1;

/// Maximum bytes of a tool's name as a model wrote it, in a sentence for users.
const MAX_TOOL_NAME: usize = 128;

/// The state of an agent loop between two inputs.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentLoop {
    role: Role,
    turn: u32,
    /// The position of the agent among the agents of its run.
    position: AgentPosition,
    stage: LoopStage,
    repeats: RepeatDetector,
    /// True if the newest turn has a call that was written as text and could not be parsed.
    wrote_unreadable_call: bool,
    nudges: u32,
    /// True if the agent has read text that anybody may have written.
    tainted: bool,
    /// The number of levels between the root of the tree and the run.
    depth: usize,
    caller: Caller,
    /// True if the agent's file defines a call with the answer.
    calls_after: bool,
    /// The tools whose results are the agent's answer.
    stop_at: Vec<String>,
    /// True if a tool has returned a result to the agent.
    has_result: bool,
    /// The answers that the agent judges, if its file has it judge.
    ensemble: Option<Box<Ensemble>>,
}

#[derive(Debug, Clone, PartialEq)]
enum LoopStage {
    Thinking(Attempts),
    Acting(OpenTurn),
}

/// The effect of an input on the loop.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TurnUpdate {
    /// The ids and events of the entries for viewers.
    pub events: Vec<(EntryId, Event)>,
    /// The items that join the conversation.
    pub items: Vec<ConversationItem>,
    /// True if the model has no work left.
    pub done: bool,
    /// The results of tools in `stop_at`, which are the agent's answer.
    pub tool_answer: Option<String>,
    /// The agent's verdict on the answers of its ensemble.
    pub verdict: Option<GivenVerdict>,
    /// The problem of the last reply as an answer, although the agent received the format.
    pub answer_problem: Option<String>,
    /// The human requests to send.
    pub requests: Vec<HumanRequest>,
    /// The reason to end the work despite a hint to the model: calls keep their result, or cannot be parsed.
    pub dead_end: Option<Failure>,
}

impl AgentLoop {
    /// Creates a loop for a run `depth` levels below the root of its tree.
    #[must_use]
    pub fn new(role: Role, depth: usize) -> Self {
        Self {
            role,
            turn: 1,
            position: AgentPosition::default(),
            stage: LoopStage::Thinking(Attempts::default()),
            repeats: RepeatDetector::default(),
            wrote_unreadable_call: false,
            nudges: 0,
            tainted: false,
            depth,
            caller: Caller::Model,
            calls_after: false,
            stop_at: Vec::new(),
            has_result: false,
            ensemble: None,
        }
    }

    /// Returns the loop with the calls that this agent's file defines.
    #[must_use]
    pub fn with_agent(self, agent: Option<&AgentSpec>) -> Self {
        let calls_after = agent.is_some_and(|agent| agent.after.is_some());
        let stop_at = agent.map(|agent| agent.stop_at.clone()).unwrap_or_default();
        Self { caller: Caller::first(agent), calls_after, stop_at, ..self }
    }

    /// Returns true if a tool has returned a result to the agent.
    #[must_use]
    pub fn has_result(&self) -> bool {
        self.has_result
    }

    /// Returns true if the work is done, except for the call with the answer that the agent's file defines.
    #[must_use]
    pub fn has_answered(&self) -> bool {
        self.caller == Caller::FileAfter
    }

    /// Returns the id of the due message, or of the open calls' message.
    fn message(&self) -> MessageId {
        self.caller.message(self.turn, self.position)
    }

    /// Returns the due effects: the model's next reply, or the calls of the open turn.
    #[must_use]
    pub fn due(&self) -> Vec<Effect> {
        match &self.stage {
            LoopStage::Thinking(attempts) => {
                let call = attempts.to_call(self.message(), self.role, ToolChoice::Auto);
                vec![Effect::CallModel(call)]
            }
            LoopStage::Acting(turn) => turn.due(),
        }
    }

    /// Returns the attempts at the due reply, if it is this message.
    pub fn attempts_at(&mut self, message: &MessageId) -> Option<&mut Attempts> {
        let current = self.message();
        match &mut self.stage {
            LoopStage::Thinking(attempts) if *message == current => Some(attempts),
            LoopStage::Thinking(_) | LoopStage::Acting(_) => None,
        }
    }

    /// Returns the event that makes the unfinished message void, if a message is due.
    #[must_use]
    pub fn reset_event(&self, failure: &Failure) -> Option<(EntryId, Event)> {
        let LoopStage::Thinking(attempts) = &self.stage else { return None };
        let message = self.message();
        let count = attempts.failures + 1;
        let id = EntryId::of_message(&message, |name| EntryName::Reset(name, count));
        let attempt = attempts.next_number();
        Some((id, Event::attempt_failed(message, attempt, failure.clone())))
    }

    /// Processes the due reply, as the caller has checked. Makes at most the first `max_calls` calls.
    /// `answer` returns the result of a call that only changes the run's own state; such a call is never due.
    pub fn on_model_replied(
        &mut self,
        replied: &ModelReplied,
        settings: &RunSettings,
        max_calls: u32,
        known_urls: &BTreeSet<String>,
        mut answer: impl FnMut(&ToolCall) -> Option<ToolResult>,
    ) -> TurnUpdate {
        let reply = &replied.reply;
        let message = replied.message.clone();
        let mut update = TurnUpdate::default();
        if !message.is_of_agent_file() {
            let shown_text = shown_text(reply, &replied.offered);
            update.events.push(completed_event(&message, reply, shown_text));
        }
        let mut calls = Vec::with_capacity(reply.calls.len());
        let mut bounds = CallBounds::new(max_calls, self.depth, self.position.hand_overs);
        for (index, request) in reply.calls.iter().enumerate() {
            let call = ToolCall {
                id: CallId::nth_of(&message, index + 1),
                tool: request.tool.clone(),
                arguments: request.arguments.clone(),
                edit_comment: None,
            };
            let tool = replied.offered.iter().find(|tool| tool.name == request.tool);
            let rejection = bounds.refuse_call(request, &replied.offered);
            let outcome = rejection.or_else(|| answer(&call)).or_else(|| self.judge(&call));
            update.events.push(requested_event(&call, tool));
            if let Some(outcome) = &outcome {
                update.events.push(result_event(&call, outcome));
            }
            calls.push(OpenCall::new(call, request.model, tool, outcome));
        }
        self.stage = LoopStage::Acting(OpenTurn {
            message,
            text: reply.text.clone(),
            reasoning: reply.reasoning.clone(),
            calls,
            answer_problem: replied.answer_problem.clone(),
        });
        self.hold_calls(&replied.offered, settings, known_urls, &mut update);
        self.close_turn_if_complete(reply.finish, &mut update);
        update
    }

    /// Processes a crash. Started `once` calls become uncertain, and an effect with three crashes is given
    /// up. `None` if the model call is given up.
    pub(crate) fn on_resumed(&mut self, ran: &ActiveEffects) -> Option<TurnUpdate> {
        let mut update = TurnUpdate::default();
        let current = self.message();
        match &mut self.stage {
            LoopStage::Thinking(attempts) => {
                if ran.has_message(&current) && !attempts.record_crash() {
                    return None;
                }
            }
            LoopStage::Acting(turn) => {
                for open in turn.calls.iter_mut().filter(|open| open.is_due()) {
                    if let Some(child) = open.child_id() {
                        // The agent's own journal counts the crashes of its effects and gives them up.
                        open.crashes += u32::from(ran.has_child(&child));
                        continue;
                    }
                    open.crashes += u32::from(ran.has_call(&open.call.id));
                    update.events.extend(open.give_up_if_crashed());
                }
                self.close_turn_if_complete(FinishReason::Done, &mut update);
            }
        }
        Some(update)
    }

    /// Returns the ends of the calls that are open when the run ends.
    #[must_use]
    pub fn abandon_open_calls(&self) -> Vec<(EntryId, Event)> {
        let LoopStage::Acting(turn) = &self.stage else {
            return Vec::new();
        };
        let open = turn.calls.iter().filter(|open| open.result.is_none());
        open.flat_map(|open| {
            let stop = stop_event(open);
            let reason =
                if open.is_started_once() { ToolFailure::Uncertain } else { ToolFailure::Stopped };
            let result = ToolResult::Failed { reason, detail: String::new() };
            stop.into_iter().chain([result_event(&open.call, &result)])
        })
        .collect()
    }

    /// Resets the detection of repeats after a user's message to the agent.
    pub fn forget_hint(&mut self) {
        self.repeats.forget_hint();
        self.wrote_unreadable_call = false;
    }

    fn open_call(&mut self, call: &CallId) -> Option<&mut OpenCall> {
        match &mut self.stage {
            LoopStage::Acting(turn) => {
                turn.calls.iter_mut().find(|open| open.call.id == *call && open.result.is_none())
            }
            LoopStage::Thinking(_) => None,
        }
    }

    /// Moves the open turn into the conversation after the last result.
    fn close_turn_if_complete(&mut self, finish: FinishReason, update: &mut TurnUpdate) {
        let LoopStage::Acting(turn) = &self.stage else {
            return;
        };
        if turn.calls.iter().any(|open| open.result.is_none()) {
            return;
        }
        let turn = turn.clone();
        let is_empty = turn.text.trim().is_empty();
        let note = match (turn.calls.is_empty(), finish) {
            (true, FinishReason::Length) => Some(Nudge::CutOff),
            (true, FinishReason::Done) if is_empty => Some(Nudge::Empty),
            (true, _) if turn.answer_problem.is_some() => {
                turn.answer_problem.clone().map(Nudge::BadAnswer)
            }
            (true, FinishReason::Done | FinishReason::Filtered) | (false, _) => None,
        };
        let max_nudges = match &note {
            _ if is_empty => MAX_NUDGES_WHEN_EMPTY,
            Some(Nudge::CutOff) => MAX_CONTINUATIONS,
            Some(_) | None => MAX_NUDGES,
        };
        let note = note.filter(|_| self.nudges < max_nudges);
        self.nudges = if note.is_some() { self.nudges + 1 } else { 0 };
        update.done = turn.calls.is_empty() && note.is_none();
        update.answer_problem = turn.answer_problem.filter(|_| update.done);
        let calls = turn.calls.into_iter().filter_map(|open| Some((open.call, open.result?)));
        let calls: Vec<(ToolCall, ToolResult)> = calls.collect();
        self.has_result |= calls.iter().any(|(_, result)| is_tool_result(result));
        update.tool_answer = join_answers(&calls, &self.stop_at);
        self.add_verdict(&calls, update);
        let repetition = self.repeats.observe_calls(&calls);
        let is_unreadable = calls.iter().any(|(call, _)| is_unreadable_text(call));
        let (text, problem) = match self.caller {
            Caller::FileAfter => read_result_after(&calls),
            Caller::FileBefore | Caller::Model => (None, None),
        };
        update.items.push(ConversationItem::from(Turn {
            message: turn.message,
            text: text.unwrap_or(turn.text),
            reasoning: turn.reasoning,
            calls,
        }));
        update.items.extend(note.map(ConversationItem::Nudge));
        match repetition {
            Repetition::None => {}
            Repetition::Hint => update.items.push(ConversationItem::Nudge(Nudge::Repeated)),
            Repetition::Persists(tool) => {
                let tool = truncate_text(&tool, MAX_TOOL_NAME);
                update.dead_end = Some(Failure::new(ErrorCode::RepeatedCalls, tool));
            }
        }
        if is_unreadable && self.wrote_unreadable_call {
            update.dead_end = Some(ErrorCode::CallsWrittenAsText.into());
        }
        self.wrote_unreadable_call = is_unreadable;
        self.stage = LoopStage::Thinking(Attempts::default());
        match self.caller {
            Caller::FileBefore => self.caller = Caller::Model,
            Caller::Model => {
                self.turn += 1;
                if update.done && update.answer_problem.is_none() && self.calls_after {
                    (update.done, self.caller) = (false, Caller::FileAfter);
                }
            }
            Caller::FileAfter => (update.done, update.answer_problem) = (true, problem),
        }
    }
}

fn is_unreadable_text(call: &ToolCall) -> bool {
    matches!(
        &call.arguments,
        ToolArguments::Malformed { problem: ArgumentProblem::WrittenAsText, .. }
    )
}
