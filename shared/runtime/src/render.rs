//! From a run's state to a model request: the instructions, the conversation, and what of it fits.

mod outcome;
mod plan;
mod summary;

use djinn_core::context::{Fitted, Piece, TooLong, fit};
use djinn_core::conversation::{Conversation, Item, Note, Turn};
use djinn_core::effect::{ModelCall, ToolChoice};
use djinn_core::file::ProductFile;
use djinn_core::input::{Asked, Dropped};
use djinn_core::run::Run;
use djinn_core::settings::{Language, OutputStyle, Role};
use djinn_core::tool::{Arguments, Call, ToolSpec};
use outcome::outcome_text;
pub(crate) use plan::planning_tool;
use serde::Serialize;
use serde_json::json;

use crate::port::model::{Message, ModelRequest, PastCall, ToolResult};
use crate::prompt::{self, Fragment, Prompts};

/// Files listed in a system prompt, newest last.
const MAX_FILES: usize = 100;
/// Characters of a file's description in a prompt.
const MAX_DESCRIPTION: usize = 200;
/// Characters of a deployment's own instructions.
const MAX_BASE_PROMPT: usize = 20_000;

/// A request and what was left out of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Rendered {
    /// The request.
    pub request: ModelRequest,
    /// What did not fit.
    pub dropped: Option<Dropped>,
}

/// Renders the request of a model call so that it fits into `limit` tokens.
///
/// # Errors
/// [`TooLong`] when even the instructions, the question and the newest turn do not fit.
pub fn request(
    prompts: &Prompts,
    tools: Vec<ToolSpec>,
    run: &Run,
    call: &ModelCall,
    call_name: String,
    limit: u64,
    count: impl Fn(&str) -> u64,
) -> Result<Rendered, TooLong> {
    let language = run.asked().settings.language;
    let tools = if call.tool_choice == ToolChoice::None { Vec::new() } else { tools };
    let (system, messages, dropped) = match call.role {
        Role::React | Role::Planner | Role::Executor => {
            let words = LoopWords::of(prompts, call.role, run);
            in_loop(prompts, &words, &tools, run, limit, count)?
        }
        Role::Summary => summary::messages(prompts, run, limit, count)?,
    };
    let tool_choice = call.tool_choice.clone();
    let request = ModelRequest {
        role: call.role,
        call: call_name,
        language,
        system,
        messages,
        tools,
        tool_choice,
    };
    Ok(Rendered { request, dropped })
}

/// What an agent in its loop is told besides its conversation.
struct LoopWords {
    system: String,
    question: String,
    next_step: String,
}

impl LoopWords {
    fn of(prompts: &Prompts, role: Role, run: &Run) -> Self {
        let asked = run.asked();
        let language = asked.settings.language;
        let query = json!({"query": asked.question});
        let render =
            |fragment, values: serde_json::Value| prompts.render(language, fragment, values);
        let question = match &asked.task {
            None => render(prompt::QUESTION, query.clone()),
            Some(task) => render(prompt::TASK_QUESTION, plan::task_values(&asked.question, task)),
        };
        let (system, next_step) = match (role, &asked.task) {
            (Role::Planner, _) => (prompt::PLAN_SYSTEM, render(prompt::PLAN_NEXT_STEP, query)),
            (_, Some(task)) => {
                let words = json!({"words": task.words});
                (prompt::TASK_SYSTEM, render(prompt::TASK_NEXT_STEP, words))
            }
            (_, None) => (prompt::REACT_SYSTEM, render(prompt::REACT_NEXT_STEP, query)),
        };
        Self { system: system_text(prompts, system, asked, run), question, next_step }
    }
}

fn in_loop(
    prompts: &Prompts,
    words: &LoopWords,
    tools: &[ToolSpec],
    run: &Run,
    limit: u64,
    count: impl Fn(&str) -> u64,
) -> Result<(String, Vec<Message>, Option<Dropped>), TooLong> {
    let language = run.asked().settings.language;
    let system = words.system.clone();
    let tool_words: Vec<String> = tools
        .iter()
        .map(|tool| format!("{}{}{}", tool.name, tool.description, tool.schema))
        .collect();
    let mut groups = groups(prompts, language, &words.question, run.conversation());
    if !groups.last().is_some_and(Group::ends_with_user) {
        let next = Message::User(words.next_step.clone());
        groups.push(Group::pinned("next_step", vec![next]));
    }
    let mut pieces = vec![Piece {
        label: "system",
        texts: [system.as_str()].into_iter().chain(tool_words.iter().map(String::as_str)).collect(),
        pinned: true,
    }];
    pieces.extend(groups.iter().map(Group::piece));
    let Fitted { kept, dropped } = fit(&pieces, limit, count)?;
    let messages = groups
        .into_iter()
        .zip(kept.into_iter().skip(1))
        .filter(|(_, kept)| *kept)
        .flat_map(|(group, _)| group.messages)
        .collect();
    Ok((system, messages, dropped))
}

fn system_text(prompts: &Prompts, fragment: Fragment, asked: &Asked, run: &Run) -> String {
    let language = asked.settings.language;
    let style = asked.output_style.map(|style| prompts.render(language, style_of(style), ()));
    prompts.render(
        language,
        fragment,
        json!({"date": date(run.started_at_ms(), language), "files": listed(run.files().all()), "output_style": style.unwrap_or_default(), "base_prompt": prompt::cut(&asked.base_prompt, MAX_BASE_PROMPT)}),
    )
}

fn style_of(style: OutputStyle) -> Fragment {
    match style {
        OutputStyle::Html => prompt::STYLE_HTML,
        OutputStyle::Docs => prompt::STYLE_DOCS,
        OutputStyle::Table => prompt::STYLE_TABLE,
        OutputStyle::Ppt => prompt::STYLE_PPT,
    }
}

/// A file as prompts list it.
#[derive(Debug, Serialize)]
pub(crate) struct ListedFile {
    name: String,
    size: u64,
    internal: bool,
    description: String,
}

pub(crate) fn listed(files: &[ProductFile]) -> Vec<ListedFile> {
    let newest = files.len().saturating_sub(MAX_FILES);
    files
        .iter()
        .skip(newest)
        .map(|file| ListedFile {
            name: file.name.to_string(),
            size: file.size,
            internal: file.internal,
            description: prompt::cut(&one_line(&file.description), MAX_DESCRIPTION),
        })
        .collect()
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Messages that are kept or dropped together.
struct Group {
    label: String,
    messages: Vec<Message>,
    pinned: bool,
    /// The arguments of the calls in them, as they are sent.
    arguments: Vec<String>,
}

impl Group {
    fn loose(label: impl Into<String>, messages: Vec<Message>) -> Self {
        let arguments = messages.iter().flat_map(arguments_of).collect();
        Self { label: label.into(), messages, pinned: false, arguments }
    }

    fn pinned(label: impl Into<String>, messages: Vec<Message>) -> Self {
        Self { pinned: true, ..Self::loose(label, messages) }
    }

    fn ends_with_user(&self) -> bool {
        matches!(self.messages.last(), Some(Message::User(_)))
    }

    fn piece(&self) -> Piece<'_> {
        let arguments = self.arguments.iter().map(String::as_str);
        let texts = self.messages.iter().flat_map(texts_of).chain(arguments).collect();
        Piece { label: &self.label, texts, pinned: self.pinned }
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

fn groups(
    prompts: &Prompts,
    language: Language,
    own_question: &str,
    conversation: &Conversation,
) -> Vec<Group> {
    let question = |query: &str| {
        Message::User(prompts.render(language, prompt::QUESTION, json!({"query": query})))
    };
    let mut groups: Vec<Group> = conversation
        .history
        .iter()
        .map(|exchange| {
            let text = exchange.answer.as_str();
            let text = prompts.render(language, prompt::ANSWER, json!({"text": text}));
            let answer = Message::Assistant { text, reasoning: None, calls: Vec::new() };
            Group::loose("history", vec![question(&exchange.question), answer])
        })
        .collect();
    groups.push(Group::pinned("question", vec![Message::User(own_question.to_owned())]));
    for item in &conversation.items {
        match item {
            Item::Turn(turn) => {
                let messages = turn_messages(prompts, language, turn);
                groups.push(Group::loose(turn.message.as_str(), messages));
            }
            // The planner is asked for its next step together with what came of the tasks.
            Item::Round { reports, plan } => {
                let round = plan::round_text(prompts, language, reports, plan);
                let next = prompts.render(
                    language,
                    prompt::PLAN_NEXT_STEP,
                    json!({"query": conversation.question}),
                );
                let messages = vec![Message::User(format!("{round}\n\n{next}"))];
                groups.push(Group::loose("round", messages));
            }
            // A note belongs to the turn before it.
            Item::Note(note) => {
                let note = Message::User(note_text(prompts, language, *note));
                match groups.last_mut() {
                    Some(group) => group.messages.push(note),
                    None => groups.push(Group::pinned("note", vec![note])),
                }
            }
        }
    }
    if let Some(newest) = groups.last_mut() {
        newest.pinned = true;
    }
    groups
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
            text: outcome_text(prompts, language, call, outcome),
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

fn note_text(prompts: &Prompts, language: Language, note: Note) -> String {
    let fragment = match note {
        Note::CutOff => prompt::NOTE_CUT_OFF,
        Note::Empty => prompt::NOTE_EMPTY,
        Note::NoPlan => prompt::NOTE_NO_PLAN,
    };
    prompts.render(language, fragment, ())
}

/// The day a run was asked on, in UTC, as prompts state it.
fn date(at_ms: i64, language: Language) -> String {
    let Ok(at) = time::OffsetDateTime::from_unix_timestamp(at_ms.div_euclid(1000)) else {
        return String::new();
    };
    let day = usize::from(at.weekday().number_days_from_monday());
    let (en, zh) = WEEKDAYS.get(day).copied().unwrap_or_default();
    match language {
        Language::En => format!("{en}, {}", at.date()),
        Language::Zh => {
            format!("{}年{}月{}日，星期{zh}", at.year(), u8::from(at.month()), at.day())
        }
    }
}

const WEEKDAYS: [(&str, &str); 7] = [
    ("Monday", "一"),
    ("Tuesday", "二"),
    ("Wednesday", "三"),
    ("Thursday", "四"),
    ("Friday", "五"),
    ("Saturday", "六"),
    ("Sunday", "日"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_date_names_its_weekday_in_both_languages() {
        let at_ms = 1_795_219_200_000;
        assert_eq!(date(at_ms, Language::En), "Saturday, 2026-11-21");
        assert_eq!(date(at_ms, Language::Zh), "2026年11月21日，星期六");
    }
}
