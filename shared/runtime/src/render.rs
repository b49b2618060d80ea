//! Rendering a run's state to a model request: instructions, conversation, and fitting to the window.

mod agent;
mod arguments;
mod attached;
mod compaction;
mod employees;
mod ensemble;
mod external;
mod fitting;
mod group;
mod images;
mod plan;
mod plan_change;
mod review;
mod summary;
mod tool_result;
mod transcript;
mod window;

use std::borrow::Cow;

use djinn_core::agent::{FILE_NAME_ARGUMENT, TASK_ARGUMENT};
use djinn_core::effect::{ModelCall, ToolChoice};
use djinn_core::file::ProductFile;
use djinn_core::input::DroppedContext;
use djinn_core::language::Language;
use djinn_core::run::Run;
use djinn_core::settings::{OutputStyle, Role};
use djinn_core::tool::{EffectClass, OfferedTool, ToolSpec};
use djinn_text::tokens::estimate_tokens;
use fitting::{ContextWindow, FixedTexts};
use group::{MessageGroup, group_conversation};
pub(crate) use plan::planning_tool;
use serde::Serialize;
use serde_json::json;
pub use window::{ContextTooLong, RequestBounds};

use crate::port::model::{Message, ModelRequest};
use crate::prompt::{self, Fragment, Prompts};

/// The maximum number of files listed in a system prompt, newest last.
const MAX_FILES: usize = 100;
/// The maximum characters of the description of a listed tool.
const MAX_TOOL_DESCRIPTION: usize = 300;
/// The maximum characters of a file's description in a prompt.
const MAX_DESCRIPTION: usize = 200;
/// The maximum characters of a deployment's own instructions.
const MAX_BASE_PROMPT: usize = 20_000;

/// A request, and the parts dropped from it.
#[derive(Debug, Clone, PartialEq)]
pub struct RenderedRequest {
    /// The request for the model's client.
    pub request: ModelRequest,
    /// The tools in the request: callable tools, or tools whose roles are requested.
    pub offered_tools: Vec<OfferedTool>,
    /// The parts that did not fit.
    pub dropped: Option<DroppedContext>,
    /// The tokens of the request including the dropped parts, as we count.
    pub tokens: u64,
}

/// The maximum number of questions from a model to its user before other work.
const MAX_USER_QUESTIONS: usize = 3;

/// The maximum tokens a provider adds around each text.
const TEXT_OVERHEAD: u64 = 16;

impl RenderedRequest {
    /// Returns an upper limit of the request's tokens, without counting them.
    #[must_use]
    pub fn token_bound(&self) -> u64 {
        let texts = self.request.to_texts();
        let most = |text: &Cow<'_, str>| estimate_tokens(text.len() as u64) + TEXT_OVERHEAD;
        (texts.iter().map(most).sum::<u64>() + self.request.image_tokens()).max(self.tokens)
    }
}

/// The texts of a request, without tools.
struct RequestBody {
    system: String,
    messages: Vec<Message>,
    dropped: Option<DroppedContext>,
    tokens: u64,
}

/// Renders the request of a model call within its limits. `tools` are the tools of the working agents.
///
/// # Errors
/// Returns [`ContextTooLong`] if even the instructions and the question do not fit.
pub fn render_request(
    prompts: &Prompts,
    tools: &[ToolSpec],
    run: &Run,
    call: &ModelCall,
    call_name: String,
    bounds: RequestBounds,
    count: impl Fn(&str) -> u64,
) -> Result<RenderedRequest, ContextTooLong> {
    let limit = bounds.tokens;
    let run = &*run.model_view();
    let language = run.spec().settings.language;
    let ask_user = || plan::can_ask_user(run).then(|| plan::ask_user_tool(prompts, language));
    let verdict = || ensemble::verdict_tool(prompts, run);
    let own = match call.role {
        _ if run.spec().agent().is_some() && call.tool_choice == ToolChoice::None => Vec::new(),
        Role::Planner if plans(run) => {
            let agents = tools.iter().any(|tool| tool.effect == EffectClass::Agent);
            [planning_tool(prompts, language, agents)].into_iter().chain(ask_user()).collect()
        }
        Role::React
        | Role::Planner
        | Role::Executor
        | Role::Employees
        | Role::Code
        | Role::Report
        | Role::Search
        | Role::Router
        | Role::Critic
        | Role::Data
        | Role::Analysis
        | Role::Second => tools.iter().cloned().chain(verdict()).chain(ask_user()).collect(),
        Role::Summary | Role::Compactor => Vec::new(),
    };
    let offers = own.iter().map(ToolSpec::to_offered).collect();
    let body = match call.role {
        Role::React
        | Role::Planner
        | Role::Executor
        | Role::Code
        | Role::Report
        | Role::Search
        | Role::Router
        | Role::Critic
        | Role::Data
        | Role::Analysis
        | Role::Second => {
            let words = LoopPrompts::of(prompts, call, run, tools, bounds);
            render_loop(prompts, words, &own, run, bounds, count)?
        }
        Role::Summary => summary::render_summary(prompts, run, limit, count)?,
        Role::Compactor => compaction::render_compaction(prompts, run, limit, count)?,
        Role::Employees => employees::render_employees(prompts, run, tools, limit, count)?,
    };
    let tools = if call.tool_choice == ToolChoice::None { Vec::new() } else { own };
    let RequestBody { system, messages, dropped, tokens } = body;
    let tool_choice = call.tool_choice.clone();
    let request = ModelRequest {
        role: call.role,
        choice: call.model_choice(),
        call: call_name,
        language,
        system,
        messages,
        tools,
        tool_choice,
        external_texts: external::external_texts(run),
    };
    Ok(RenderedRequest { request, offered_tools: offers, dropped, tokens })
}

/// Returns true if the run makes a plan, in any role.
fn plans(run: &Run) -> bool {
    run.spec().machine().has_plan()
}

/// The prompts of an agent loop besides the conversation.
struct LoopPrompts {
    system: String,
    question: String,
    next_step: String,
}

impl LoopPrompts {
    fn of(
        prompts: &Prompts,
        call: &ModelCall,
        run: &Run,
        tools: &[ToolSpec],
        bounds: RequestBounds,
    ) -> Self {
        if let Some(agent) = run.spec().agent() {
            return if plans(run) {
                agent::planner_prompts(prompts, run, agent, tools, bounds)
            } else {
                agent::agent_prompts(prompts, run, agent, call, tools, bounds)
            };
        }
        let role = call.role;
        let spec = run.spec();
        let language = spec.settings.language;
        let query = json!({"query": spec.question});
        let render =
            |fragment, values: serde_json::Value| prompts.render(language, fragment, values);
        let question = match &spec.child {
            None => users_question(prompts, run, bounds),
            Some(task) => plan::task_question(prompts, run, task, bounds),
        };
        let (system, next_step) = match (role, &spec.child) {
            (Role::Planner, _) => (prompt::PLAN_SYSTEM, render(prompt::PLAN_NEXT_STEP, query)),
            (_, Some(task)) => {
                let words = json!({"words": task.description});
                (prompt::TASK_SYSTEM, render(prompt::TASK_NEXT_STEP, words))
            }
            (_, None) => (prompt::REACT_SYSTEM, render(prompt::REACT_NEXT_STEP, query)),
        };
        Self { system: system_text(prompts, system, run, tools), question, next_step }
    }
}

/// Renders the question of a user's run, without arguments.
fn users_question(prompts: &Prompts, run: &Run, bounds: RequestBounds) -> String {
    let spec = run.spec();
    let question = attached::add_names(prompts, run, &spec.question, bounds);
    prompts.render(spec.settings.language, prompt::QUESTION, json!({"query": question}))
}

fn render_loop(
    prompts: &Prompts,
    words: LoopPrompts,
    tools: &[ToolSpec],
    run: &Run,
    bounds: RequestBounds,
    count: impl Fn(&str) -> u64,
) -> Result<RequestBody, ContextTooLong> {
    let settings = &run.spec().settings;
    let language = settings.language;
    let LoopPrompts { system, question, next_step } = words;
    let tool_words: Vec<String> = tools
        .iter()
        .map(|tool| format!("{}{}{}", tool.name, tool.description, tool.schema))
        .collect();
    let mut groups = group_conversation(prompts, run, &question, bounds);
    if !groups.last().is_some_and(MessageGroup::ends_with_user) {
        groups.push(MessageGroup::new_fixed("next_step", vec![Message::User(next_step)]));
    }
    let fixed_texts: FixedTexts<'_> =
        [system.as_str()].into_iter().chain(tool_words.iter().map(String::as_str)).collect();
    let keep = u64::from(settings.context.keep_turns);
    let room = ContextWindow { prompts, language, limit: bounds.tokens, keep_turns: keep };
    let (messages, fitted_parts) = room.fit_messages(&fixed_texts, groups, count)?;
    Ok(RequestBody { system, messages, dropped: fitted_parts.dropped, tokens: fitted_parts.tokens })
}

fn system_text(prompts: &Prompts, fragment: Fragment, run: &Run, tools: &[ToolSpec]) -> String {
    let base_prompt = prompt::truncate_text(&run.spec().base_prompt, MAX_BASE_PROMPT);
    system_text_with(prompts, fragment, run, tools, &base_prompt)
}

/// Renders the system prompt with the given instructions.
fn system_text_with(
    prompts: &Prompts,
    fragment: Fragment,
    run: &Run,
    tools: &[ToolSpec],
    base_prompt: &str,
) -> String {
    append_notes(prompts, run, mode_text(prompts, fragment, run, tools, base_prompt))
}

/// Renders a mode's own instructions with the given instructions of the deployment.
fn mode_text(
    prompts: &Prompts,
    fragment: Fragment,
    run: &Run,
    tools: &[ToolSpec],
    base_prompt: &str,
) -> String {
    let language = run.spec().settings.language;
    prompts.render(
        language,
        fragment,
        json!({
            "date": format_date(run),
            "files": to_listed_files(run.files().all()),
            "tools": to_listed_tools(tools, false),
            "agents": to_listed_tools(tools, true),
            "output_style": style_text(prompts, run),
            "base_prompt": base_prompt,
        }),
    )
}

/// Returns the instructions for the requested form of the answer, or an empty text for a form without instructions.
fn style_text(prompts: &Prompts, run: &Run) -> String {
    let language = run.spec().settings.language;
    let fragment = run.spec().output_style.and_then(style_fragment);
    fragment.map(|fragment| prompts.render(language, fragment, ())).unwrap_or_default()
}

/// Appends notes about placeholders and masking, if the run has either.
fn append_notes(prompts: &Prompts, run: &Run, mut text: String) -> String {
    let settings = &run.spec().settings;
    let urls = (!run.urls().is_empty()).then_some(prompt::NOTE_URLS);
    let masking = settings.mask_pii.then_some(prompt::NOTE_MASKED);
    for note in [urls, masking].into_iter().flatten() {
        text.push_str("\n\n");
        text.push_str(&prompts.render(settings.language, note, ()));
    }
    text
}

fn style_fragment(style: OutputStyle) -> Option<Fragment> {
    match style {
        OutputStyle::Html => Some(prompt::STYLE_HTML),
        OutputStyle::Docs => Some(prompt::STYLE_DOCS),
        OutputStyle::Table => Some(prompt::STYLE_TABLE),
        OutputStyle::Ppt => Some(prompt::STYLE_PPT),
        OutputStyle::DataAgent => None,
    }
}

/// A file as listed in prompts.
#[derive(Debug, Serialize)]
pub(crate) struct ListedFile {
    name: String,
    size: u64,
    internal: bool,
    description: String,
}

pub(crate) fn to_listed_files(files: &[ProductFile]) -> Vec<ListedFile> {
    let newest = files.len().saturating_sub(MAX_FILES);
    files
        .iter()
        .skip(newest)
        .map(|file| ListedFile {
            name: file.name.to_string(),
            size: file.size,
            internal: file.internal,
            description: prompt::truncate_text(&one_line(&file.description), MAX_DESCRIPTION),
        })
        .collect()
}

/// A tool as listed in prompts.
#[derive(Serialize)]
struct ListedTool<'a> {
    name: &'a str,
    description: String,
}

fn to_listed_tools(tools: &[ToolSpec], agents: bool) -> Vec<ListedTool<'_>> {
    let entries = tools.iter().filter(|tool| (tool.effect == EffectClass::Agent) == agents);
    let entries = entries.filter(|tool| !agents || can_do_step(tool));
    let entries = entries.map(|tool| ListedTool {
        name: &tool.name,
        description: prompt::truncate_text(&one_line(&tool.description), MAX_TOOL_DESCRIPTION),
    });
    entries.collect()
}

/// Returns true if an agent can be called with the arguments of a plan's step: the task, and a file name.
fn can_do_step(agent: &ToolSpec) -> bool {
    let required_names = agent.schema.get("required").and_then(serde_json::Value::as_array);
    let is_given = |name: &serde_json::Value| {
        name.as_str().is_some_and(|name| [TASK_ARGUMENT, FILE_NAME_ARGUMENT].contains(&name))
    };
    required_names.into_iter().flatten().all(is_given)
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns the day of the question in the run's time zone, in the wording of prompts.
fn format_date(run: &Run) -> String {
    let settings = &run.spec().settings;
    format_day(settings.time_zone.to_local_ms(run.started_at_ms()), settings.language)
}

fn format_day(local_ms: i64, language: Language) -> String {
    let Ok(at) = time::OffsetDateTime::from_unix_timestamp(local_ms.div_euclid(1000)) else {
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
        assert_eq!(format_day(at_ms, Language::En), "Saturday, 2026-11-21");
        assert_eq!(format_day(at_ms, Language::Zh), "2026年11月21日，星期六");
    }
}
