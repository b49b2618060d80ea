//! Long conversations: what is older is summed up before the next turn, when it takes up too much of
//! its model's window.
//!
//! It is decided by what the journal holds: how large the newest request was, as its reply's record
//! says, and what joined the conversation since. The call that sums up stands between two turns; a
//! turn is owed only when that call is answered, well or badly.

use super::{Phase, Run};
use crate::agent_loop::Attempts;
use crate::conversation::{Conversation, Exchange, Item, Part, Turn, turns_among};
use crate::crash::Ran;
use crate::effect::{Effect, ModelCall, ToolChoice};
use crate::entry::Event;
use crate::id::MessageId;
use crate::input::{Asked, Finish, ModelReplied, TaskAsked, Window};
use crate::plan::Plan;
use crate::settings::{ModelChoice, Role};
use crate::tool::{Arguments, Observation, Outcome, Shown};

/// How often in a row it may fail before the run goes on without.
const MAX_FAILED: u32 = 2;

/// What is worth a call: so much of the limit, unless the next request would not fit at all.
const WORTH_AN: u64 = 8;

/// How far a conversation has filled its model's window, and the call that makes room in it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Compacting {
    /// Tokens that the next request would have.
    tokens: u64,
    /// The tokens it could have, once a reply of the role's own model told.
    limit: Option<u64>,
    /// The tokens that the fallback takes, while it answers in that model's place.
    fallback: Option<u64>,
    /// Calls in a row that came to nothing.
    failed: u32,
    open: Option<Open>,
    /// The newest message before which there was such a call: there is one before each at most.
    before: Option<MessageId>,
}

/// A call that sums up.
#[derive(Debug, Clone, PartialEq)]
struct Open {
    message: MessageId,
    attempts: Attempts,
    part: Part,
}

impl Compacting {
    pub(super) fn new(asked: &Asked) -> Self {
        let before = asked.task.iter().flat_map(TaskAsked::reports);
        let before: u64 = before.map(|report| estimated(report.text.len())).sum();
        let own = asked.question.len() + asked.base_prompt.len();
        let earlier = asked.earlier.as_ref().map_or(0, |earlier| earlier.text.len());
        let tokens = asked.history_tokens + before + estimated(own + earlier);
        Self { tokens, limit: None, fallback: None, failed: 0, open: None, before: None }
    }

    /// The call, while it is owed.
    pub(super) fn due(&self) -> Option<Effect> {
        self.open.as_ref().map(|open| {
            Effect::CallModel(ModelCall {
                message: open.message.clone(),
                role: Role::Compactor,
                attempt: open.attempts.next(),
                failed: open.attempts.failed,
                crashes: open.attempts.crashes,
                retries: open.attempts.retries(),
                fallback: open.attempts.fallback().cloned(),
                tool_choice: ToolChoice::None,
                round: 0,
                waits: false,
            })
        })
    }

    /// The attempts at the call while it is owed: some if it writes this message.
    pub(super) fn attempts_at(&mut self, message: &MessageId) -> Option<Option<&mut Attempts>> {
        let open = self.open.as_mut()?;
        Some((open.message == *message).then_some(&mut open.attempts))
    }

    /// The driver died. Whether that concerns the call.
    pub(super) fn resumed(&mut self, ran: &Ran) -> bool {
        let Some(open) = &mut self.open else { return false };
        if ran.has_message(&open.message) && !open.attempts.crash() {
            self.fail();
        }
        true
    }

    /// The call came to nothing. The next request is shortened instead.
    fn fail(&mut self) {
        self.failed += 1;
        self.open = None;
    }

    /// Nobody waits for the call any more.
    pub(super) fn close(&mut self) {
        self.open = None;
    }

    /// A request to this model was so large.
    pub(super) fn measured(&mut self, window: Option<Window>, by: ModelChoice) {
        let Some(Window { tokens, limit }) = window else { return };
        self.tokens = tokens;
        match by {
            ModelChoice::Primary => (self.limit, self.fallback) = (Some(limit), None),
            ModelChoice::Fallback => self.fallback = Some(limit),
        }
    }

    /// The tokens that the next request may have, whichever model has to take it: the role's own,
    /// which takes `own` unless a reply told otherwise, is asked first.
    fn window(&self, own: Option<u64>) -> Option<u64> {
        self.limit.or(own).into_iter().chain(self.fallback).min()
    }

    /// These join the conversation. A single one is shortened to what fits.
    pub(super) fn add(&mut self, items: &[Item]) {
        let most = self.window(None).unwrap_or(u64::MAX) / 2;
        let added: u64 = items.iter().map(|item| tokens_of(item).min(most)).sum();
        self.tokens = self.tokens.saturating_add(added);
    }
}

impl Run {
    /// What is being summed up.
    #[must_use]
    pub fn compacting(&self) -> Option<Part> {
        self.compacting.open.as_ref().map(|open| open.part)
    }

    /// Owes the call that sums up, if the turn that comes next needs it.
    pub(super) fn compact_if_due(&mut self) {
        let due = match &self.phase {
            Phase::Reacting(agent) => agent.due(),
            Phase::PlanSolving(solving) => solving.due(),
            Phase::Summarizing(_) | Phase::Ended(_) => Vec::new(),
        };
        let Some(Effect::CallModel(next)) = due.into_iter().next() else { return };
        if self.compacting.before.as_ref() == Some(&next.message) {
            return;
        }
        let settings = &self.asked.settings.context;
        let Compacting { tokens, failed, .. } = self.compacting;
        let limit = self.compacting.window(settings.windows.get(&next.role).copied());
        let Some(limit) = limit.filter(|_| failed < MAX_FAILED) else { return };
        if tokens.saturating_mul(100) <= limit.saturating_mul(settings.compact_at.into()) {
            return;
        }
        let conversation = &self.seen().conversation;
        let part = older(conversation, settings.keep_turns as usize, limit / 2);
        let gain = tokens_in(conversation, part);
        if gain > 0 && (gain >= limit / WORTH_AN || tokens > limit) {
            let (message, attempts) = (next.message.compaction(), Attempts::default());
            self.compacting.open = Some(Open { message, attempts, part });
            self.compacting.before = Some(next.message);
        }
    }

    /// Takes the text that sums up, and looks whether there is anything left for the next turn.
    pub(super) fn compacted(&mut self, replied: &ModelReplied, at_ms: i64) -> Vec<(String, Event)> {
        let mut events = self.summed_up(replied);
        if let Some(failure) = self.used_up() {
            events.extend(self.ran_out(failure, at_ms));
        }
        events
    }

    fn summed_up(&mut self, replied: &ModelReplied) -> Vec<(String, Event)> {
        let Some(Open { part, message, .. }) = self.compacting.open.clone() else {
            return Vec::new();
        };
        let reply = &replied.reply;
        if reply.text.trim().is_empty() || reply.finish == Finish::Filtered {
            self.compacting.fail();
            return Vec::new();
        }
        let items = self.conversation.items.get(..part.items).unwrap_or_default();
        let turns = u32::try_from(turns_among(items)).unwrap_or(u32::MAX);
        let exchanges = u32::try_from(part.exchanges).unwrap_or(u32::MAX);
        let gain = tokens_in(&self.seen().conversation, part);
        self.conversation.compact(part, &reply.text);
        let room = self.compacting.tokens.saturating_sub(gain);
        let notes = estimated(self.urls.compress(&reply.text).len());
        self.compacting.tokens = room.saturating_add(notes);
        (self.compacting.failed, self.compacting.open) = (0, None);
        let (id, usage) = (message.to_string(), reply.usage);
        vec![(id, Event::ContextCompacted { message, exchanges, turns, usage })]
    }

    /// Nothing came of summing up. Whether this message was to.
    pub(super) fn compacting_failed(&mut self, message: &MessageId) -> bool {
        let is_it = self.compacting.open.as_ref().is_some_and(|open| open.message == *message);
        if is_it {
            self.compacting.fail();
        }
        is_it
    }
}

/// What of a conversation is older than its newest `keep` turns, or than as many of them as have
/// room; the newest is never among it.
fn older(conversation: &Conversation, keep: usize, room: u64) -> Part {
    let items = &conversation.items;
    let (mut start, mut kept, mut used) = (items.len(), 0, 0);
    let has_room = |kept: usize, used: u64| kept < keep && used <= room;
    while start > 0 {
        // A note belongs to the turn before it.
        let earlier = items.get(..start).unwrap_or_default();
        let turn = earlier
            .iter()
            .rposition(|item| !matches!(item, Item::Note(_) | Item::Said(_)))
            .unwrap_or(0);
        used += earlier.iter().skip(turn).map(tokens_of).sum::<u64>();
        if kept > 0 && !has_room(kept, used) {
            return Part { exchanges: conversation.history.len(), items: start };
        }
        kept += 1;
        start = turn;
    }
    let mut exchanges = conversation.history.len();
    for exchange in conversation.history.iter().rev() {
        used += tokens_of_exchange(exchange);
        if !has_room(kept, used) {
            break;
        }
        kept += 1;
        exchanges -= 1;
    }
    Part { exchanges, items: 0 }
}

fn tokens_in(conversation: &Conversation, part: Part) -> u64 {
    let exchanges = conversation.history.get(..part.exchanges).unwrap_or_default();
    let items = conversation.items.get(..part.items).unwrap_or_default();
    tokens_of_history(exchanges) + items.iter().map(tokens_of).sum::<u64>()
}

pub(super) fn tokens_of_history(history: &[Exchange]) -> u64 {
    history.iter().map(tokens_of_exchange).sum()
}

/// About three bytes are a token: a little more than most texts have, in English and in Chinese.
fn estimated(bytes: usize) -> u64 {
    (bytes as u64).div_ceil(3)
}

fn tokens_of_exchange(exchange: &Exchange) -> u64 {
    estimated(exchange.question.len() + exchange.answer.len())
}

fn tokens_of(item: &Item) -> u64 {
    estimated(match item {
        Item::Turn(turn) => bytes_of(turn),
        Item::Note(_) => 0,
        Item::Said(text) => text.len(),
        Item::Round { reports, plan } => {
            let reports = reports.iter().map(|report| report.words.len() + report.text.len());
            reports.sum::<usize>() + bytes_of_plan(plan)
        }
    })
}

fn bytes_of_plan(plan: &Plan) -> usize {
    plan.steps().iter().map(|step| step.stage.len() + step.details.len() + step.note.len()).sum()
}

fn bytes_of(turn: &Turn) -> usize {
    let calls = turn.calls.iter().map(|(call, outcome)| {
        let arguments = match &call.arguments {
            Arguments::Parsed(arguments) => {
                serde_json::to_string(arguments).map_or(0, |json| json.len())
            }
            Arguments::Malformed { .. } => 0,
        };
        let text = match outcome {
            Outcome::Done(Observation { shown: Shown::Plan { plan }, .. }) => bytes_of_plan(plan),
            Outcome::Done(observation) => observation.text.len(),
            Outcome::Failed { detail, .. } => detail.len(),
        };
        call.tool.len() + arguments + text
    });
    let reasoning = turn.reasoning.as_ref().map_or(0, |reasoning| reasoning.text.len());
    turn.text.len() + reasoning + calls.sum::<usize>()
}
