//! Groups of a conversation's messages. Each group is sent or dropped as a whole, and its long texts can be
//! shortened.

use std::collections::BTreeMap;

use super::window::{RequestBounds, RequestPart};
use djinn_core::conversation::{CompactedContext, ConversationItem, Exchange, Nudge, Turn};
use djinn_core::file::ProductFile;
use djinn_core::id::{CallId, FileName};
use djinn_core::language::Language;
use djinn_core::run::Run;
use djinn_core::tool::{ToolArguments, ToolCall, ToolResult};
use djinn_text::shorten::{ShortenedText, find_cut_level, shorten_text};
use serde_json::{Value, json};

use super::ensemble::answers_text;
use super::images::{ShownImages, attached_images, image_messages, select_images};
use super::plan;
use super::plan_change::plan_change_text;
use super::review::review_text;
use super::tool_result::{Framing, tool_result_text};
use crate::port::model::{Message, PastCall, ToolResultMessage};
use crate::prompt::{self, Prompts};

/// The maximum tokens of the text in place of an omitted part.
const ELISION_TOKENS: u64 = 100;

/// The kind of a message group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum GroupKind {
    /// The question, or the loop's closing prompt: never shortened.
    Fixed,
    /// The compaction of older turns.
    Earlier,
    /// An earlier question and its answer.
    Exchange,
    /// The images attached to the question.
    Attached,
    /// A turn with its notes, or a round.
    Turn,
}

/// Messages sent or dropped together.
pub(super) struct MessageGroup {
    pub(super) kind: GroupKind,
    pub(super) messages: Vec<Message>,
    /// True if the group is never dropped.
    pub(super) pinned: bool,
    label: String,
    /// The arguments of the calls in the messages, as JSON.
    arguments: Vec<String>,
    /// The files with complete results, by call.
    full_outputs: BTreeMap<CallId, FileName>,
}

impl MessageGroup {
    fn new(kind: GroupKind, label: impl Into<String>, messages: Vec<Message>) -> Self {
        let arguments = messages.iter().flat_map(message_arguments).collect();
        let is_pinned = matches!(kind, GroupKind::Fixed | GroupKind::Earlier);
        Self {
            kind,
            label: label.into(),
            messages,
            pinned: is_pinned,
            arguments,
            full_outputs: BTreeMap::new(),
        }
    }

    /// Creates a group of messages that are never shortened.
    pub(super) fn new_fixed(label: &str, messages: Vec<Message>) -> Self {
        Self::new(GroupKind::Fixed, label, messages)
    }

    /// Returns true if the last message is from the user, or from the loop in the user's place.
    pub(super) fn ends_with_user(&self) -> bool {
        match self.messages.last() {
            Some(Message::User(_)) => true,
            Some(Message::Images { .. }) => self.kind == GroupKind::Attached,
            _ => false,
        }
    }

    pub(super) fn to_piece(&self) -> RequestPart<'_> {
        let arguments = self.arguments.iter().map(String::as_str);
        let texts = self.messages.iter().flat_map(message_texts).chain(arguments).collect();
        let image_tokens = self.messages.iter().map(Message::image_tokens).sum();
        RequestPart { label: &self.label, texts, image_tokens, pinned: self.pinned }
    }

    /// Shortens the longest texts to a common length, so that the group fits `tokens`. Reasoning is never
    /// shortened, since the provider may have signed it.
    pub(super) fn shorten_texts(
        &mut self,
        tokens: u64,
        count: impl Fn(&str) -> u64,
        words: impl Fn(&ShortenedText<'_>, Option<&FileName>) -> String,
    ) {
        let weight = self.to_piece().total_weight(&count);
        if weight <= tokens {
            return;
        }
        let mut texts = long_texts(&mut self.messages, &self.full_outputs);
        let sizes: Vec<u64> = texts.iter().map(|(text, _)| count(text)).collect();
        let rest = weight.saturating_sub(sizes.iter().sum());
        let most = find_cut_level(&sizes, tokens.saturating_sub(rest));
        for ((text, whole), size) in texts.iter_mut().zip(sizes) {
            if size <= most {
                continue;
            }
            if let Some(short) = shorten_text(text, most.saturating_sub(ELISION_TOKENS), &count) {
                **text = words(&short, *whole);
            }
        }
        self.arguments = self.messages.iter().flat_map(message_arguments).collect();
    }
}

fn message_texts(message: &Message) -> Vec<&str> {
    match message {
        Message::User(text) | Message::Images { text, .. } => vec![text],
        Message::Assistant { text, reasoning, calls } => {
            let thoughts = reasoning.iter().map(|reasoning| reasoning.text.as_str());
            let names = calls.iter().map(|call| call.tool.as_str());
            [text.as_str()].into_iter().chain(thoughts).chain(names).collect()
        }
        Message::ToolResults(results) => {
            results.iter().map(|result| result.text.as_str()).collect()
        }
    }
}

fn message_arguments(message: &Message) -> Vec<String> {
    match message {
        Message::Assistant { calls, .. } => {
            let json = |call: &PastCall| serde_json::to_string(&call.arguments).unwrap_or_default();
            calls.iter().map(json).collect()
        }
        _ => Vec::new(),
    }
}

/// A text that may be shortened, with the file of the whole text.
type LongText<'a> = (&'a mut String, Option<&'a FileName>);

fn long_texts<'a>(
    messages: &'a mut [Message],
    wholes: &'a BTreeMap<CallId, FileName>,
) -> Vec<LongText<'a>> {
    let mut texts = Vec::new();
    for message in messages {
        match message {
            Message::Images { .. } => {}
            Message::User(text) => texts.push((text, None)),
            Message::Assistant { text, calls, .. } => {
                texts.push((text, None));
                let arguments = calls.iter_mut().flat_map(|call| call.arguments.values_mut());
                arguments.for_each(|value| collect_strings(value, &mut texts));
            }
            Message::ToolResults(results) => {
                let text =
                    |result: &'a mut ToolResultMessage| (&mut result.text, wholes.get(&result.id));
                texts.extend(results.iter_mut().map(text));
            }
        }
    }
    texts
}

fn collect_strings<'a>(value: &'a mut Value, strings: &mut Vec<LongText<'a>>) {
    match value {
        Value::String(text) => strings.push((text, None)),
        Value::Array(items) => items.iter_mut().for_each(|item| collect_strings(item, strings)),
        Value::Object(members) => {
            members.values_mut().for_each(|member| collect_strings(member, strings));
        }
        _ => {}
    }
}

/// Groups a conversation, oldest first, with its newest images if the model accepts images. The newest turn
/// is pinned.
pub(super) fn group_conversation(
    prompts: &Prompts,
    run: &Run,
    question: &str,
    bounds: RequestBounds,
) -> Vec<MessageGroup> {
    let conversation = run.conversation();
    let language = run.spec().settings.language;
    let attachments = &run.spec().attachments;
    let images = if bounds.sees_images {
        select_images(conversation, attachments)
    } else {
        ShownImages::default()
    };
    let mut groups = opening_groups(prompts, run, question, &images.attached);
    for item in &conversation.items {
        match item {
            // Calls of an agent's file before the first turn are part of the first message.
            ConversationItem::Turn(turn) if turn.message.is_of_agent_file() => {
                for text in prepared_texts(prompts, run, turn) {
                    add_to_newest(&mut groups, Message::User(text));
                }
                let messages = image_messages(prompts, language, turn, &images);
                messages.into_iter().for_each(|message| add_to_newest(&mut groups, message));
            }
            ConversationItem::Turn(turn) => {
                groups.push(turn_group(prompts, language, turn, &images));
            }
            // The planner receives the results of the tasks together with the request for the next step.
            ConversationItem::Round { reports, plan } => {
                let reports = plan::cap_reports(reports, bounds.tokens);
                let round = plan::round_text(prompts, language, &reports, plan);
                let next = prompts.render(
                    language,
                    prompt::PLAN_NEXT_STEP,
                    json!({"query": conversation.question}),
                );
                let messages = vec![Message::User(format!("{round}\n\n{next}"))];
                groups.push(MessageGroup::new(GroupKind::Turn, "round", messages));
            }
            // These items belong to the turn before.
            ConversationItem::Nudge(note) => {
                add_to_newest(&mut groups, Message::User(note_text(prompts, language, note)));
            }
            ConversationItem::PlanEdited(change) => {
                if let Some(text) = plan_change_text(prompts, language, change) {
                    add_to_newest(&mut groups, Message::User(text));
                }
            }
            ConversationItem::Review(note) => {
                let text = review_text(prompts, language, note, Framing::Each);
                add_to_newest(&mut groups, Message::User(text));
            }
            ConversationItem::UserMessage(text) => {
                let note = prompts.render(language, prompt::NOTE_SAID, json!({"text": text}));
                add_to_newest(&mut groups, Message::User(note));
            }
        }
    }
    if let Some(newest) = groups.last_mut() {
        newest.pinned = true;
    }
    groups
}

/// Returns the groups before the work: the compaction, earlier exchanges, and the question with its images.
fn opening_groups(
    prompts: &Prompts,
    run: &Run,
    question: &str,
    images: &[&ProductFile],
) -> Vec<MessageGroup> {
    let spec = run.spec();
    let conversation = run.conversation();
    let language = spec.settings.language;
    let earlier = conversation.compacted.iter().map(|compacted| {
        let text = earlier_text(prompts, language, compacted, Framing::Each);
        MessageGroup::new(GroupKind::Earlier, "earlier", vec![Message::User(text)])
    });
    let history = conversation.history.iter().map(|exchange| {
        let messages = if exchange.is_asked_by(&spec.user) {
            exchange_messages(prompts, language, exchange)
        } else {
            vec![Message::User(others_exchange_text(prompts, language, exchange))]
        };
        MessageGroup::new(GroupKind::Exchange, "history", messages)
    });
    let question = MessageGroup::new_fixed("question", vec![Message::User(question.to_owned())]);
    let images = attached_images(prompts, language, images)
        .map(|images| MessageGroup::new(GroupKind::Attached, "attachments", vec![images]));
    earlier.chain(history).chain([question]).chain(images).collect()
}

/// Renders the compaction of older turns for the model.
pub(super) fn earlier_text(
    prompts: &Prompts,
    language: Language,
    compacted: &CompactedContext,
    frames: Framing,
) -> String {
    let CompactedContext { text, turns, files, .. } = compacted;
    let bare = frames == Framing::Enclosing;
    let values = json!({"text": text, "turns": turns, "files": files, "bare": bare});
    prompts.render(language, prompt::COMPACT_EARLIER, values)
}

fn exchange_messages(prompts: &Prompts, language: Language, exchange: &Exchange) -> Vec<Message> {
    let question = json!({"query": exchange.question});
    let question = prompts.render(language, prompt::QUESTION, question);
    let text = prompts.render(language, prompt::ANSWER, json!({"text": exchange.answer}));
    let answer = Message::Assistant { text, reasoning: None, calls: Vec::new() };
    vec![Message::User(question), answer]
}

/// Renders an exchange of another user as data, not as words of the asker.
fn others_exchange_text(prompts: &Prompts, language: Language, exchange: &Exchange) -> String {
    let values = json!({"query": exchange.question, "text": exchange.answer});
    prompts.render(language, prompt::OF_ANOTHER, values)
}

fn turn_group(
    prompts: &Prompts,
    language: Language,
    turn: &Turn,
    images: &ShownImages<'_>,
) -> MessageGroup {
    let mut messages = turn_messages(prompts, language, turn);
    messages.extend(image_messages(prompts, language, turn, images));
    let whole = |(call, outcome): &(ToolCall, ToolResult)| match outcome {
        ToolResult::Done(observation) => {
            Some((call.id.clone(), observation.full_output.clone()?.file))
        }
        ToolResult::Failed { .. } | ToolResult::PlanRefused { .. } => None,
    };
    let wholes = turn.calls.iter().filter_map(whole).collect();
    MessageGroup {
        full_outputs: wholes,
        ..MessageGroup::new(GroupKind::Turn, turn.message.to_string(), messages)
    }
}

/// Renders the calls of an agent's file: the results, and the answers to judge.
fn prepared_texts(prompts: &Prompts, run: &Run, turn: &Turn) -> Vec<String> {
    let language = run.spec().settings.language;
    let (answers, shown) = answers_text(prompts, run, turn).unzip();
    let is_shown = |call: &ToolCall| shown.as_ref().is_some_and(|shown| shown.contains(&call.id));
    let others = turn.calls.iter().filter(|(call, _)| !is_shown(call));
    let results: Vec<Value> = others
        .map(|(call, outcome)| {
            let text = tool_result_text(prompts, language, call, outcome, Framing::Each);
            json!({"tool": call.tool, "text": text})
        })
        .collect();
    let has_results = answers.is_none() || !results.is_empty();
    let prepared = prompts.render(language, prompt::NOTE_PREPARED, json!({"results": results}));
    has_results.then_some(prepared).into_iter().chain(answers).collect()
}

fn turn_messages(prompts: &Prompts, language: Language, turn: &Turn) -> Vec<Message> {
    let mut messages = Vec::with_capacity(2);
    // Providers reject an empty assistant message.
    if !turn.text.trim().is_empty() || !turn.calls.is_empty() {
        let calls = turn.calls.iter().map(|(call, _)| to_past_call(call)).collect();
        let text = turn.text.clone();
        let reasoning = turn.reasoning.clone();
        messages.push(Message::Assistant { text, reasoning, calls });
    }
    if !turn.calls.is_empty() {
        let results = turn.calls.iter().map(|(call, outcome)| ToolResultMessage {
            id: call.id.clone(),
            tool: call.tool.clone(),
            text: tool_result_text(prompts, language, call, outcome, Framing::Each),
        });
        messages.push(Message::ToolResults(results.collect()));
    }
    messages
}

fn to_past_call(call: &ToolCall) -> PastCall {
    let arguments = match &call.arguments {
        ToolArguments::Parsed(arguments) => arguments.clone(),
        ToolArguments::Malformed { .. } => serde_json::Map::new(),
    };
    PastCall { id: call.id.clone(), tool: call.tool.clone(), arguments }
}

/// Adds a message to the newest group.
fn add_to_newest(groups: &mut Vec<MessageGroup>, message: Message) {
    match groups.last_mut() {
        Some(group) => group.messages.push(message),
        None => groups.push(MessageGroup::new_fixed("note", vec![message])),
    }
}

fn note_text(prompts: &Prompts, language: Language, note: &Nudge) -> String {
    let fragment = match note {
        Nudge::CutOff => prompt::NOTE_CUT_OFF,
        Nudge::Empty => prompt::NOTE_EMPTY,
        Nudge::NoPlan => prompt::NOTE_NO_PLAN,
        Nudge::Repeated => prompt::NOTE_REPEATED,
        Nudge::BadAnswer(_) => prompt::NOTE_BAD_ANSWER,
    };
    match note {
        Nudge::BadAnswer(problem) => {
            prompts.render(language, fragment, serde_json::json!({"problem": problem}))
        }
        Nudge::CutOff | Nudge::Empty | Nudge::NoPlan | Nudge::Repeated => {
            prompts.render(language, fragment, ())
        }
    }
}
