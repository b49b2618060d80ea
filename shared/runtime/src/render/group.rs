//! The pieces of a conversation as messages: each is sent or left out as a whole, and its long texts
//! can be shortened.

use std::collections::BTreeMap;

use djinn_core::context::{Piece, Shortened, level, shorten};
use djinn_core::conversation::{Compacted, Exchange, Item, Note, Turn};
use djinn_core::id::{CallId, FileName};
use djinn_core::run::Run;
use djinn_core::settings::Language;
use djinn_core::tool::{Arguments, Call, Outcome};
use serde_json::{Value, json};

use super::outcome::{Frames, outcome_text};
use super::plan;
use crate::port::model::{Message, PastCall, ToolResult};
use crate::prompt::{self, Prompts};

/// Tokens of the words that stand for what was left out of a text, at most.
const WORDS_BETWEEN: u64 = 100;

/// What a group is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// The question, or the loop's closing word: sent as it is.
    Fixed,
    /// What older turns were summed up to.
    Earlier,
    /// An earlier question and its answer.
    Exchange,
    /// A turn with its notes, or a round.
    Turn,
}

/// Messages that are sent or left out together.
pub(super) struct Group {
    pub(super) kind: Kind,
    pub(super) messages: Vec<Message>,
    /// Never left out.
    pub(super) pinned: bool,
    label: String,
    /// The arguments of the calls in them, as they are sent.
    arguments: Vec<String>,
    /// The files that hold the whole of a result.
    wholes: BTreeMap<CallId, FileName>,
}

impl Group {
    fn new(kind: Kind, label: impl Into<String>, messages: Vec<Message>) -> Self {
        let arguments = messages.iter().flat_map(arguments_of).collect();
        let pinned = matches!(kind, Kind::Fixed | Kind::Earlier);
        Self { kind, label: label.into(), messages, pinned, arguments, wholes: BTreeMap::new() }
    }

    /// Messages that are sent as they are.
    pub(super) fn fixed(label: &str, messages: Vec<Message>) -> Self {
        Self::new(Kind::Fixed, label, messages)
    }

    pub(super) fn ends_with_user(&self) -> bool {
        matches!(self.messages.last(), Some(Message::User(_)))
    }

    pub(super) fn piece(&self) -> Piece<'_> {
        let arguments = self.arguments.iter().map(String::as_str);
        let texts = self.messages.iter().flat_map(texts_of).chain(arguments).collect();
        Piece { label: &self.label, texts, pinned: self.pinned }
    }

    /// Shortens its longest texts, all to the same length, so that it takes up at most `tokens`. The
    /// thoughts of a model are never shortened: its provider may have signed them.
    pub(super) fn shorten(
        &mut self,
        tokens: u64,
        count: impl Fn(&str) -> u64,
        words: impl Fn(&Shortened<'_>, Option<&FileName>) -> String,
    ) {
        let weight = self.piece().weight(&count);
        if weight <= tokens {
            return;
        }
        let mut texts = long_texts(&mut self.messages, &self.wholes);
        let sizes: Vec<u64> = texts.iter().map(|(text, _)| count(text)).collect();
        let rest = weight.saturating_sub(sizes.iter().sum());
        let most = level(&sizes, tokens.saturating_sub(rest));
        for ((text, whole), size) in texts.iter_mut().zip(sizes) {
            if size <= most {
                continue;
            }
            if let Some(short) = shorten(text, most.saturating_sub(WORDS_BETWEEN), &count) {
                **text = words(&short, *whole);
            }
        }
        self.arguments = self.messages.iter().flat_map(arguments_of).collect();
    }
}

fn texts_of(message: &Message) -> Vec<&str> {
    match message {
        Message::User(text) => vec![text],
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

fn arguments_of(message: &Message) -> Vec<String> {
    match message {
        Message::Assistant { calls, .. } => {
            calls.iter().map(|call| json!(call.arguments).to_string()).collect()
        }
        Message::User(_) | Message::ToolResults(_) => Vec::new(),
    }
}

/// A text that may be shortened, and the file that holds the whole of it.
type LongText<'a> = (&'a mut String, Option<&'a FileName>);

fn long_texts<'a>(
    messages: &'a mut [Message],
    wholes: &'a BTreeMap<CallId, FileName>,
) -> Vec<LongText<'a>> {
    let mut texts = Vec::new();
    for message in messages {
        match message {
            Message::User(text) => texts.push((text, None)),
            Message::Assistant { text, calls, .. } => {
                texts.push((text, None));
                let arguments = calls.iter_mut().flat_map(|call| call.arguments.values_mut());
                arguments.for_each(|value| strings_in(value, &mut texts));
            }
            Message::ToolResults(results) => {
                let text = |result: &'a mut ToolResult| (&mut result.text, wholes.get(&result.id));
                texts.extend(results.iter_mut().map(text));
            }
        }
    }
    texts
}

fn strings_in<'a>(value: &'a mut Value, strings: &mut Vec<LongText<'a>>) {
    match value {
        Value::String(text) => strings.push((text, None)),
        Value::Array(items) => items.iter_mut().for_each(|item| strings_in(item, strings)),
        Value::Object(members) => {
            members.values_mut().for_each(|member| strings_in(member, strings));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// A conversation, oldest first. The newest turn is pinned.
pub(super) fn groups(prompts: &Prompts, run: &Run, question: &str, limit: u64) -> Vec<Group> {
    let (asked, conversation) = (run.asked(), run.conversation());
    let language = asked.settings.language;
    let earlier = conversation.compacted.iter().map(|compacted| {
        let text = earlier_text(prompts, language, compacted, Frames::Own);
        Group::new(Kind::Earlier, "earlier", vec![Message::User(text)])
    });
    let history = conversation.history.iter().map(|exchange| {
        let messages = match exchange.is_of(&asked.user) {
            true => exchange_messages(prompts, language, exchange),
            false => vec![Message::User(of_another(prompts, language, exchange))],
        };
        Group::new(Kind::Exchange, "history", messages)
    });
    let question = Group::fixed("question", vec![Message::User(question.to_owned())]);
    let mut groups: Vec<Group> = earlier.chain(history).chain([question]).collect();
    for item in &conversation.items {
        match item {
            Item::Turn(turn) => groups.push(turn_group(prompts, language, turn)),
            // The planner is asked for its next step together with what came of the tasks.
            Item::Round { reports, plan } => {
                let reports = plan::capped(reports, limit);
                let round = plan::round_text(prompts, language, &reports, plan);
                let next = prompts.render(
                    language,
                    prompt::PLAN_NEXT_STEP,
                    json!({"query": conversation.question}),
                );
                let messages = vec![Message::User(format!("{round}\n\n{next}"))];
                groups.push(Group::new(Kind::Turn, "round", messages));
            }
            // Both belong to the turn before them.
            Item::Note(note) => {
                add(&mut groups, Message::User(note_text(prompts, language, *note)));
            }
            Item::Said(text) => {
                let said = prompts.render(language, prompt::NOTE_SAID, json!({"text": text}));
                add(&mut groups, Message::User(said));
            }
        }
    }
    if let Some(newest) = groups.last_mut() {
        newest.pinned = true;
    }
    groups
}

/// What older turns were summed up to, as the model reads it.
pub(super) fn earlier_text(
    prompts: &Prompts,
    language: Language,
    compacted: &Compacted,
    frames: Frames,
) -> String {
    let Compacted { text, turns, files, .. } = compacted;
    let bare = frames == Frames::Around;
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

/// What somebody else asked, with its answer: data for whoever asks now, and no word of theirs.
fn of_another(prompts: &Prompts, language: Language, exchange: &Exchange) -> String {
    let values = json!({"query": exchange.question, "text": exchange.answer});
    prompts.render(language, prompt::OF_ANOTHER, values)
}

fn turn_group(prompts: &Prompts, language: Language, turn: &Turn) -> Group {
    let messages = turn_messages(prompts, language, turn);
    let whole = |(call, outcome): &(Call, Outcome)| match outcome {
        Outcome::Done(observation) => Some((call.id.clone(), observation.whole.clone()?.file)),
        Outcome::Failed { .. } => None,
    };
    let wholes = turn.calls.iter().filter_map(whole).collect();
    Group { wholes, ..Group::new(Kind::Turn, turn.message.as_str(), messages) }
}

fn turn_messages(prompts: &Prompts, language: Language, turn: &Turn) -> Vec<Message> {
    let mut messages = Vec::with_capacity(2);
    // Providers refuse an assistant message that says nothing.
    if !turn.text.trim().is_empty() || !turn.calls.is_empty() {
        let calls = turn.calls.iter().map(|(call, _)| past_call(call)).collect();
        let (text, reasoning) = (turn.text.clone(), turn.reasoning.clone());
        messages.push(Message::Assistant { text, reasoning, calls });
    }
    if !turn.calls.is_empty() {
        let results = turn.calls.iter().map(|(call, outcome)| ToolResult {
            id: call.id.clone(),
            tool: call.tool.clone(),
            text: outcome_text(prompts, language, call, outcome, Frames::Own),
        });
        messages.push(Message::ToolResults(results.collect()));
    }
    messages
}

fn past_call(call: &Call) -> PastCall {
    let arguments = match &call.arguments {
        Arguments::Parsed(arguments) => arguments.clone(),
        Arguments::Malformed { .. } => serde_json::Map::new(),
    };
    PastCall { id: call.id.clone(), tool: call.tool.clone(), arguments }
}

/// Adds a word to the newest group.
fn add(groups: &mut Vec<Group>, message: Message) {
    match groups.last_mut() {
        Some(group) => group.messages.push(message),
        None => groups.push(Group::fixed("note", vec![message])),
    }
}

fn note_text(prompts: &Prompts, language: Language, note: Note) -> String {
    let fragment = match note {
        Note::CutOff => prompt::NOTE_CUT_OFF,
        Note::Empty => prompt::NOTE_EMPTY,
        Note::NoPlan => prompt::NOTE_NO_PLAN,
        Note::Repeated => prompt::NOTE_REPEATED,
    };
    prompts.render(language, fragment, ())
}
