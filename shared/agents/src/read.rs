//! Parses and checks one agent file.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use djinn_core::agent::{AgentContext, AgentSpec, AnswerFormat, CallBefore};
use djinn_core::review::ReviewPolicy;
use djinn_core::settings::{Machine, Role};
use djinn_core::tool::Risk;
use djinn_core::verdict::VERDICT_TOOL;
use serde_json::Value;

use crate::before::{ROLES, read_before};
use crate::fields::Fields;
use crate::file::{AgentFile, split_file};
use crate::keys::sort_keys;
use crate::parameters::{is_required_text, read_parameters, read_schema};
use crate::problem::{Fault, FileProblem, quote};
use crate::review::read_review;
use crate::template::check_prompt;
use crate::tool_rules::{ENDS, ToolRules};
use crate::yaml::read_mapping;

/// Maximum bytes of an agent's description for other models.
pub const MAX_DESCRIPTION: usize = 2_000;

/// Maximum bytes of an agent's name.
const MAX_NAME: usize = 64;

/// The default of the maximum turns of an agent that is not a mode.
const DEFAULT_MAX_STEPS: u32 = 20;

/// The highest value for an agent's maximum turns.
const MAX_STEPS: u32 = 1_000;

/// The highest value for an agent's maximum calls in one turn.
const MAX_CALLS: u32 = 100;

/// Maximum characters of an agent's title.
const MAX_TITLE: usize = 100;

/// The highest number of an agent in JoyAgent's protocol.
const MAX_AGENT_TYPE: u32 = 1_000;

/// The range of a result's maximum characters for an agent, as for a deployment.
const MAX_RESULT: RangeInclusive<u32> = 1_000..=1_000_000;

/// An agent with a valid file.
#[derive(Debug, Clone, PartialEq)]
pub struct ReadAgent {
    /// The spec in the file.
    pub spec: AgentSpec,
    /// A sentence for each ignored key, with path and line.
    pub warnings: Vec<String>,
    path: String,
    key_lines: BTreeMap<String, usize>,
    /// The lines of the names in each list.
    name_lines: BTreeMap<&'static str, Vec<usize>>,
}

impl ReadAgent {
    /// Returns the path of the file, as the caller gave it.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Returns the line of a key in the file, by default the first line.
    #[must_use]
    pub fn line_of(&self, key: &str) -> usize {
        self.key_lines.get(key).copied().unwrap_or(1)
    }

    /// Returns the tools that the agent is offered, each with its line.
    pub(crate) fn tools_with_lines(&self) -> impl Iterator<Item = (&str, usize)> {
        self.with_lines("tools", &self.spec.tools)
    }

    /// Returns the names in the list of a key, each with its line.
    pub(crate) fn with_lines<'a>(
        &'a self,
        key: &str,
        names: &'a [String],
    ) -> impl Iterator<Item = (&'a str, usize)> {
        let lines = self.name_lines.get(key).into_iter().flatten().copied();
        names.iter().map(String::as_str).zip(lines)
    }

    /// Returns the calls before the first turn, each with its line.
    pub(crate) fn calls_before(&self) -> impl Iterator<Item = (&CallBefore, usize)> {
        let lines = self.name_lines.get("before").into_iter().flatten().copied();
        self.spec.before.iter().zip(lines)
    }

    /// Returns a problem in a line of the file.
    pub(crate) fn problem_at(&self, line: usize, rule: impl Into<String>) -> FileProblem {
        Fault::new(line, rule).into_problem(&self.path)
    }
}

/// Parses one agent file. [`crate::check_agents`] checks that the tools exist.
///
/// # Errors
/// Returns the first problem, with its line.
pub fn read_agent(file: &AgentFile<'_>) -> Result<ReadAgent, FileProblem> {
    read_file(file).map_err(|fault| fault.into_problem(file.path))
}

fn read_file(file: &AgentFile<'_>) -> Result<ReadAgent, Fault> {
    let parts = split_file(file.text)?;
    let (entries, ignored) = sort_keys(read_mapping(&parts.front_matter, "the front matter")?)?;
    let fields = Fields::new(entries);
    let name = read_name(&fields)?;
    let description = read_description(&fields)?;
    let EntryKeys { entry, title, agent_type, review } = EntryKeys::read(&fields, file.entry)?;
    let (tools, tool_lines): (Vec<String>, _) = fields.read_names("tools")?.into_iter().unzip();
    let ToolRules { tool_choice, stop_at, hands_over } = ToolRules::read(&fields)?;
    let (stop_at, stop_lines) = stop_at.into_iter().unzip();
    let (hands_over, next_lines) = hands_over.into_iter().unzip();
    let model = fields.read_word("model", &ROLES)?;
    let parameters = read_parameters(&fields, file.language)?;
    let (before, before_lines) = read_before(&fields)?.into_iter().unzip();
    let after = fields.read_text("after", "the name of a tool")?.map(str::to_owned);
    let answer = read_answer(&fields, &parameters, after.is_some())?;
    let max_steps = fields.read_number("max_steps", 1..=MAX_STEPS)?;
    let first_tool = fields.read_text("first_tool", "the name of one of `tools`")?;
    // Workflows work only at the root of a tree.
    let machines = Machine::ALL.into_iter().filter(|machine| entry || !machine.has_workflow());
    let machines: Vec<_> = machines.map(|machine| (machine.as_str(), machine)).collect();
    let machine = fields.read_word("mode", &machines)?.unwrap_or_default();
    refuse_beside_plan(&fields, machine, &answer)?;
    refuse_form(&fields, &answer)?;
    refuse_beside_verdict(&fields, &tools, &answer)?;
    let context = fields.read_word("context", &CONTEXTS)?;
    let spec = AgentSpec {
        before,
        after,
        name,
        description,
        parameters,
        tools,
        // A mode works as a user's run does, unless its file says otherwise.
        model: model.unwrap_or(if entry { Role::React } else { Role::Executor }),
        machine,
        max_steps: max_steps.unwrap_or(if entry { MAX_STEPS } else { DEFAULT_MAX_STEPS }),
        max_calls: fields.read_number("calls", 1..=MAX_CALLS)?,
        max_result_chars: fields.read_number("max_result", MAX_RESULT)?,
        first_tool: first_tool.map(str::to_owned),
        answer,
        context: context.unwrap_or(if entry {
            AgentContext::Conversation
        } else {
            AgentContext::None
        }),
        risk: fields.read_word("risk", &RISKS)?.unwrap_or_default(),
        prompt: parts.prompt,
        entry,
        title,
        agent_type,
        tool_choice,
        stop_at,
        hands_over,
        review,
        workflow: None,
    };
    check_prompt(&spec.prompt, parts.prompt_line, &spec.parameters)?;
    let warn = |fault: Fault| fault.into_problem(file.path).to_string();
    Ok(ReadAgent {
        spec,
        warnings: ignored.into_iter().map(warn).collect(),
        path: file.path.to_owned(),
        key_lines: fields.key_lines().map(|(key, line)| (key.to_owned(), line)).collect(),
        name_lines: BTreeMap::from([
            ("tools", tool_lines),
            ("stop_at", stop_lines),
            ("hands_over", next_lines),
            ("before", before_lines),
        ]),
    })
}

/// The keys of a mode.
struct EntryKeys {
    entry: bool,
    title: Option<String>,
    agent_type: Option<u16>,
    review: Option<ReviewPolicy>,
}

impl EntryKeys {
    fn read(fields: &Fields, default: bool) -> Result<Self, Fault> {
        let entry = fields.read_flag("entry")?.unwrap_or(default);
        let is_set = |key: &&str| fields.find_entry(key).is_some();
        if let Some(key) =
            ["title", "agent_type", "review"].into_iter().find(is_set).filter(|_| !entry)
        {
            let rule = format!("`{key}` is only allowed with `entry: true`");
            return Err(Fault::new(fields.line_of(key), rule));
        }
        let title = read_title(fields)?;
        let agent_type = fields.read_number("agent_type", 1..=MAX_AGENT_TYPE)?;
        let agent_type = agent_type.and_then(|number| u16::try_from(number).ok());
        let review = read_review(fields)?;
        // The tool in `after` makes the answer and is called once.
        if review.is_some() && is_set(&"after") {
            let rule = "`review` is not allowed with `after`";
            return Err(Fault::new(fields.line_of("review"), rule));
        }
        Ok(Self { entry, title, agent_type, review })
    }
}

/// Returns the name for users.
pub(crate) fn read_title(fields: &Fields) -> Result<Option<String>, Fault> {
    let title = fields.read_text("title", "a text of 1 to 100 characters")?;
    if let Some(title) = title.filter(|title| title.chars().nth(MAX_TITLE).is_some()) {
        let characters = title.chars().count();
        let rule = format!("`title` has {characters} characters: the limit is {MAX_TITLE}");
        return Err(Fault::new(fields.line_of("title"), rule));
    }
    Ok(title.map(str::to_owned))
}

const CONTEXTS: [(&str, AgentContext); 3] = [
    ("none", AgentContext::None),
    ("files", AgentContext::Files),
    ("conversation", AgentContext::Conversation),
];

const RISKS: [(&str, Risk); 3] =
    [("low", Risk::Low), ("medium", Risk::Medium), ("high", Risk::High)];

/// The values of the key `answer`.
#[derive(Clone, Copy)]
enum AnswerWord {
    Text,
    File,
    Json,
}

const ANSWERS: [(&str, AnswerWord); 3] =
    [("text", AnswerWord::Text), ("file", AnswerWord::File), ("json", AnswerWord::Json)];

/// The form of the names of agents, workflows and steps.
pub(crate) const NAME_FORM: &str = "1 to 64 of a-z 0-9 _ - with a letter first";

fn read_name(fields: &Fields) -> Result<String, Fault> {
    let name = fields.read_required("name", NAME_FORM)?;
    if is_valid_name(name) {
        return Ok(name.to_owned());
    }
    let rule = format!("`name` is the text {}: {NAME_FORM} is expected", quote(name));
    Err(Fault::new(fields.line_of("name"), rule))
}

/// Returns true for a name of the form [`NAME_FORM`].
pub(crate) fn is_valid_name(name: &str) -> bool {
    let is_tail = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_' || c == '-';
    name.len() <= MAX_NAME
        && name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.chars().all(is_tail)
}

pub(crate) fn read_description(fields: &Fields) -> Result<String, Fault> {
    let description = fields.read_required("description", "a text of 1 to 2000 bytes")?;
    if description.len() <= MAX_DESCRIPTION {
        return Ok(description.to_owned());
    }
    let bytes = description.len();
    let rule = format!("`description` has {bytes} bytes: the limit is {MAX_DESCRIPTION}");
    Err(Fault::new(fields.line_of("description"), rule))
}

/// Rejects keys that a planner cannot have. A planner plans first, and the summary of its work is text.
fn refuse_beside_plan(
    fields: &Fields,
    machine: Machine,
    answer: &AnswerFormat,
) -> Result<(), Fault> {
    if !machine.has_plan() {
        return Ok(());
    }
    let is_set = |key: &&str| fields.find_entry(key).is_some();
    let keys = ["before", "after", "first_tool", "model", "tool_choice"];
    let key = keys.into_iter().chain(ENDS).find(is_set);
    let key = key.or(matches!(answer, AnswerFormat::Json(_)).then_some("answer: json"));
    let Some(key) = key else { return Ok(()) };
    let line = fields.line_of(key.split(':').next().unwrap_or_default());
    Err(Fault::new(line, format!("`{key}` is not allowed with `mode: {}`", machine.as_str())))
}

/// Rejects a form of the answer that results of tools and other agents do not have.
fn refuse_form(fields: &Fields, answer: &AnswerFormat) -> Result<(), Fault> {
    match ENDS.into_iter().find_map(|key| fields.find_entry(key)) {
        Some(entry) if *answer != AnswerFormat::Text => {
            let rule = format!("`{}` is only allowed with `answer: text`", entry.key);
            Err(Fault::new(entry.line, rule))
        }
        Some(_) | None => Ok(()),
    }
}

/// Rejects keys with which the answer is neither a chosen answer nor the agent's last message.
fn refuse_beside_verdict(
    fields: &Fields,
    tools: &[String],
    answer: &AnswerFormat,
) -> Result<(), Fault> {
    if tools.iter().all(|tool| tool != VERDICT_TOOL) {
        return Ok(());
    }
    let is_set = |key: &&str| fields.find_entry(key).is_some();
    let key = ["after"].into_iter().chain(ENDS).find(is_set);
    let key = key.or((*answer != AnswerFormat::Text).then_some("answer"));
    let Some(key) = key else { return Ok(()) };
    let rule = format!("`{key}` is not allowed with the tool `{VERDICT_TOOL}`");
    Err(Fault::new(fields.line_of(key), rule))
}

/// Returns the answer format. `is_made` is true if a tool creates the file, under any name.
fn read_answer(fields: &Fields, parameters: &Value, is_made: bool) -> Result<AnswerFormat, Fault> {
    let word = fields.read_word("answer", &ANSWERS)?.unwrap_or(AnswerWord::Text);
    let schema = fields.find_entry("answer_schema");
    let refuse = |rule: &str| Err(Fault::new(fields.line_of("answer"), rule));
    match (word, schema) {
        (AnswerWord::Json, Some(entry)) => Ok(AnswerFormat::Json(read_schema(entry)?)),
        (AnswerWord::Json, None) => {
            refuse("`answer` is `json`: `answer_schema` must define it, as a JSON Schema")
        }
        (AnswerWord::Text | AnswerWord::File, Some(entry)) => {
            Err(Fault::new(entry.line, "`answer_schema` is only allowed with `answer: json`"))
        }
        (AnswerWord::File, None) if !is_made && !is_required_text(parameters, "file_name") => {
            refuse(
                "`answer` is `file`: `parameters` must have a required `file_name` of `type: string`",
            )
        }
        (AnswerWord::File, None) => Ok(AnswerFormat::File),
        (AnswerWord::Text, None) => Ok(AnswerFormat::Text),
    }
}
