//! Think, act, observe: the one loop that every agent runs.
//!
//! A turn is one reply of the model and the outcomes of the calls it made. The loop owns the turn
//! being worked on; a complete turn moves into the conversation.

mod attempts;
mod held;
mod open;
mod repeats;

pub use attempts::Attempts;
use open::{OpenCall, OpenTurn, completed, requested};
use repeats::{Repeats, Repetition};

use crate::conversation::{Item, Note, Turn};
use crate::crash::{MAX_CRASHES, Ran};
use crate::effect::{Effect, ModelCall, ToolChoice};
use crate::entry::Event;
use crate::feedback::Ask;
use crate::id::{CallId, MessageId};
use crate::input::{AskedCall, Finish, ModelReplied};
use crate::settings::{Role, RunSettings};
use crate::tool::{ArgumentProblem, Arguments, Call, FailReason, OfferedTool, Outcome};

/// How often in a row the model is asked to go on after a reply without calls that cannot be its
/// last word.
const MAX_NUDGES: u32 = 2;

/// The same after a reply that says nothing.
const MAX_NUDGES_WHEN_EMPTY: u32 = 1;

/// The loop's state between two inputs.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentLoop {
    role: Role,
    turn: u32,
    stage: Stage,
    repeats: Repeats,
    nudges: u32,
    /// Whether it has been told text that anybody may have written.
    tainted: bool,
}

#[derive(Debug, Clone, PartialEq)]
enum Stage {
    Thinking(Attempts),
    Acting(OpenTurn),
}

/// What an input did to the loop.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Observed {
    /// What viewers see of it: entry ids and events.
    pub events: Vec<(String, Event)>,
    /// What joins the conversation.
    pub items: Vec<Item>,
    /// Whether the model has nothing left to do.
    pub done: bool,
    /// What people are to be asked.
    pub asks: Vec<Ask>,
    /// The tool whose call brings the same again and again, although the model was told so: the work ends.
    pub repeated: Option<String>,
}

impl AgentLoop {
    /// A loop that has not begun.
    #[must_use]
    pub fn new(role: Role) -> Self {
        let stage = Stage::Thinking(Attempts::default());
        Self { role, turn: 1, stage, repeats: Repeats::default(), nudges: 0, tainted: false }
    }

    /// What the loop owes: the model's next reply, or the calls of the open turn.
    #[must_use]
    pub fn due(&self) -> Vec<Effect> {
        match &self.stage {
            Stage::Thinking(attempts) => vec![Effect::CallModel(ModelCall {
                message: MessageId::turn(self.turn),
                role: self.role,
                attempt: attempts.next(),
                failed: attempts.failed,
                crashes: attempts.crashes,
                retries: attempts.retries(),
                fallback: attempts.fallback().cloned(),
                tool_choice: ToolChoice::Auto,
                round: 0,
                waits: false,
            })],
            Stage::Acting(turn) => turn.calls.iter().filter_map(OpenCall::due).collect(),
        }
    }

    /// The attempts at the reply being waited for, if it is this message.
    pub fn attempts_at(&mut self, message: &MessageId) -> Option<&mut Attempts> {
        match &mut self.stage {
            Stage::Thinking(attempts) if *message == MessageId::turn(self.turn) => Some(attempts),
            Stage::Thinking(_) | Stage::Acting(_) => None,
        }
    }

    /// The message being written, and the attempts at it before.
    #[must_use]
    pub fn writing(&self) -> Option<(MessageId, Attempts)> {
        match &self.stage {
            Stage::Thinking(attempts) => Some((MessageId::turn(self.turn), attempts.clone())),
            Stage::Acting(_) => None,
        }
    }

    /// Takes a reply; the caller has checked that it is the one being waited for. No more than its
    /// first `most` calls are made. `answer` has the outcome of a call that touches nothing but the run's
    /// own state; such a call is never owed.
    pub fn replied(
        &mut self,
        replied: &ModelReplied,
        settings: &RunSettings,
        most: u32,
        mut answer: impl FnMut(&Call) -> Option<Outcome>,
    ) -> Observed {
        let reply = &replied.reply;
        let message = replied.message.clone();
        let mut observed = Observed::default();
        observed.events.push((
            message.to_string(),
            Event::MessageCompleted {
                message: message.clone(),
                text: reply.text.clone(),
                reasoning: reply.reasoning.as_ref().map(|reasoning| reasoning.text.clone()),
                cut: reply.finish != Finish::Done,
                finish: reply.finish,
                answer: false,
                usage: reply.usage,
            },
        ));
        let mut calls = Vec::with_capacity(reply.calls.len());
        for (index, asked) in reply.calls.iter().enumerate() {
            let call = Call {
                id: CallId::nth(&message, index + 1),
                tool: asked.tool.clone(),
                arguments: asked.arguments.clone(),
                changed: None,
            };
            let tool = replied.offered.iter().find(|tool| tool.name == asked.tool);
            let refused = refusal(index, asked, &replied.offered, most);
            let outcome = refused.or_else(|| answer(&call));
            observed.events.push((call.id.to_string(), requested(&call, tool)));
            if let Some(outcome) = &outcome {
                observed.events.push(completed(&call, outcome));
            }
            calls.push(OpenCall::new(call, tool, outcome));
        }
        self.stage = Stage::Acting(OpenTurn {
            message,
            text: reply.text.clone(),
            reasoning: reply.reasoning.clone(),
            calls,
        });
        observed.asks = self.hold(&replied.offered, settings);
        self.close_if_answered(reply.finish, &mut observed);
        observed
    }

    /// Notes that a `once` call is about to run. Returns whether that was news.
    pub fn started(&mut self, call: &CallId) -> bool {
        match self.open_call(call) {
            Some(open) if !open.started && open.is_due() => {
                open.started = true;
                true
            }
            Some(_) | None => false,
        }
    }

    /// Takes the outcome of a call; `None` if nobody waits for it.
    pub fn returned(&mut self, call: &CallId, outcome: &Outcome) -> Option<Observed> {
        let open = self.open_call(call).filter(|open| open.is_due())?;
        open.outcome = Some(outcome.clone());
        let mut observed = Observed::default();
        observed.events.push(completed(&open.call, outcome));
        self.tainted |= outcome.is_untrusted(open.untrusted);
        self.close_if_answered(Finish::Done, &mut observed);
        Some(observed)
    }

    /// The driver died: started `once` calls are uncertain now, and what has taken down three drivers
    /// is given up. `None` if that is the model call.
    pub(crate) fn resumed(&mut self, ran: &Ran) -> Option<Observed> {
        let mut observed = Observed::default();
        match &mut self.stage {
            Stage::Thinking(attempts) => {
                if ran.has_message(&MessageId::turn(self.turn)) && !attempts.crash() {
                    return None;
                }
            }
            Stage::Acting(turn) => {
                for open in turn.calls.iter_mut().filter(|open| open.is_due()) {
                    open.crashes += u32::from(ran.has_call(&open.call.id));
                    let reason = match (open.is_started_once(), open.crashes >= MAX_CRASHES) {
                        (true, _) => FailReason::Uncertain,
                        (false, true) => FailReason::Crashed,
                        (false, false) => continue,
                    };
                    let outcome = Outcome::Failed { reason, detail: String::new() };
                    observed.events.push(completed(&open.call, &outcome));
                    open.outcome = Some(outcome);
                }
                self.close_if_answered(Finish::Done, &mut observed);
            }
        }
        Some(observed)
    }

    /// The run ends here: how each call that is still open ends with it.
    #[must_use]
    pub fn abandon(&self) -> Vec<(String, Event)> {
        let Stage::Acting(turn) = &self.stage else {
            return Vec::new();
        };
        turn.calls
            .iter()
            .filter(|open| open.outcome.is_none())
            .map(|open| {
                let reason = if open.is_started_once() {
                    FailReason::Uncertain
                } else {
                    FailReason::Stopped
                };
                completed(&open.call, &Outcome::Failed { reason, detail: String::new() })
            })
            .collect()
    }

    /// A person has told the agent something: whether it repeats itself shows from here on.
    pub fn forget_hint(&mut self) {
        self.repeats.forget_hint();
    }

    fn open_call(&mut self, call: &CallId) -> Option<&mut OpenCall> {
        match &mut self.stage {
            Stage::Acting(turn) => {
                turn.calls.iter_mut().find(|open| open.call.id == *call && open.outcome.is_none())
            }
            Stage::Thinking(_) => None,
        }
    }

    /// Moves the open turn into the conversation once its last call is answered.
    fn close_if_answered(&mut self, finish: Finish, observed: &mut Observed) {
        let Stage::Acting(turn) = &self.stage else {
            return;
        };
        if turn.calls.iter().any(|open| open.outcome.is_none()) {
            return;
        }
        let turn = turn.clone();
        let is_empty = turn.text.trim().is_empty();
        let note = match (turn.calls.is_empty(), finish) {
            (true, Finish::Length) => Some(Note::CutOff),
            (true, Finish::Done) if is_empty => Some(Note::Empty),
            (true, Finish::Done | Finish::Filtered) | (false, _) => None,
        };
        let most = if is_empty { MAX_NUDGES_WHEN_EMPTY } else { MAX_NUDGES };
        let note = note.filter(|_| self.nudges < most);
        self.nudges = note.map_or(0, |_| self.nudges + 1);
        observed.done = turn.calls.is_empty() && note.is_none();
        let calls = turn.calls.into_iter().filter_map(|open| Some((open.call, open.outcome?)));
        let calls: Vec<(Call, Outcome)> = calls.collect();
        let repetition = self.repeats.observe(&calls);
        observed.items.push(Item::Turn(Turn {
            message: turn.message,
            text: turn.text,
            reasoning: turn.reasoning,
            calls,
        }));
        observed.items.extend(note.map(Item::Note));
        match repetition {
            Repetition::None => {}
            Repetition::Hint => observed.items.push(Item::Note(Note::Repeated)),
            Repetition::GoesOn(tool) => observed.repeated = Some(tool),
        }
        self.turn += 1;
        self.stage = Stage::Thinking(Attempts::default());
    }
}

/// Why a call is answered without being run, if it is.
fn refusal(index: usize, asked: &AskedCall, offered: &[OfferedTool], most: u32) -> Option<Outcome> {
    let failed = |reason, detail| Some(Outcome::Failed { reason, detail });
    if !offered.iter().any(|tool| tool.name == asked.tool) {
        let names: Vec<_> = offered.iter().map(|tool| tool.name.as_str()).collect();
        return failed(FailReason::UnknownTool, names.join(", "));
    }
    if index >= most as usize {
        return failed(FailReason::TooMany, most.to_string());
    }
    match &asked.arguments {
        Arguments::Parsed(_) => None,
        Arguments::Malformed { raw, problem: ArgumentProblem::Refused } => {
            failed(FailReason::BadArguments, raw.clone())
        }
        Arguments::Malformed { .. } => failed(FailReason::BadArguments, String::new()),
    }
}
