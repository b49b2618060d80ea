//! Tools as a run knows them: offered tools, tool calls and tool results.

mod failure;
mod policy;
pub mod query;
pub mod search;
mod tool_set;
mod tool_state;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::file::ProductFile;
use crate::id::{CallId, FileName, sha256_hex};
use crate::plan::{Plan, PlanError};
pub use failure::ToolFailure;
pub use policy::{SafeArguments, ToolPolicy};
use query::QueryRows;
use search::QueryFindings;
pub use tool_set::{ToolSetHash, ToolSetRef};
pub use tool_state::ToolState;

/// The effect of a second call of a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EffectClass {
    /// Changes nothing; repeated freely.
    Read,
    /// Sends its call id; a repeat with the same id changes nothing.
    Idempotent,
    /// Must not be repeated: the start of the call is journaled first, and a start without a result is
    /// reported as uncertain.
    Once,
    /// Answered by an agent: a run one level down, with its own journal.
    Agent,
}

/// The possible harm of a wrong call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Risk {
    /// Reads, or writes only data that the run created.
    #[default]
    Low,
    /// Writes data that other users see.
    Medium,
    /// Sends data out, spends money, or cannot be undone.
    High,
}

/// A tool as its source registers it.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolSpec {
    /// The name for calls by models, unique in a registry.
    pub name: String,
    /// The description for the model.
    pub description: String,
    /// JSON Schema of the arguments, an object.
    pub schema: Value,
    /// The effect of a second call.
    pub effect: EffectClass,
    /// The declared risk and cost of calls.
    pub policy: ToolPolicy,
    /// Maximum milliseconds of one call; then the result is `timed out`. Must fit into an invocation
    /// (`template.yaml`: 900 s) minus the handoff margin.
    pub timeout_ms: u64,
    /// True if the user sees the raw result.
    pub visible: bool,
}

impl ToolSpec {
    /// Returns the part of the tool that a turn's record stores.
    #[must_use]
    pub fn to_offered(&self) -> OfferedTool {
        OfferedTool {
            name: self.name.clone(),
            schema_hash: sha256_hex(canonical_json(&self.schema).as_bytes()),
            effect: self.effect,
            timeout_ms: self.timeout_ms,
            visible: self.visible,
            policy: self.policy.clone(),
        }
    }
}

impl OfferedTool {
    /// Returns true for the offered tool: same schema, effect class and policy, except for the estimate.
    #[must_use]
    pub fn is_callable_as(&self, schema: &str, effect: EffectClass, policy: &ToolPolicy) -> bool {
        let policy = ToolPolicy { estimate: self.policy.estimate, ..policy.clone() };
        self.schema_hash == schema && self.effect == effect && self.policy == policy
    }
}

/// A tool as a turn offered it. This form decides about the turn's calls, even if the registry changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OfferedTool {
    /// The name for calls by models.
    pub name: String,
    /// SHA-256 of the schema.
    pub schema_hash: String,
    /// The effect of a second call.
    pub effect: EffectClass,
    /// Maximum milliseconds of one call.
    pub timeout_ms: u64,
    /// True if the user sees the raw result.
    pub visible: bool,
    /// The declared risk and cost of calls; the default in old records.
    #[serde(default, skip_serializing_if = "is_default")]
    pub policy: ToolPolicy,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// One tool call of a model's reply.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// Djinn's own id of the call, not the provider's.
    pub id: CallId,
    /// The name of the tool as the model wrote it.
    pub tool: String,
    /// The arguments, as far as they could be parsed.
    pub arguments: ToolArguments,
    /// The comment of a user who changed the arguments before the call; may be empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edit_comment: Option<String>,
}

/// The arguments of a call after repair.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolArguments {
    /// A JSON object, as the model wrote it or after repair.
    Parsed(Map<String, Value>),
    /// Arguments that cannot be used; the model receives the reason.
    Malformed {
        /// The model's text, cut to 2 000 characters; for rejected arguments, the reason.
        raw: String,
        /// The problem with the arguments.
        problem: ArgumentProblem,
    },
}

impl ToolArguments {
    /// Returns every text in the arguments at any depth, or the raw text of arguments that could not be
    /// parsed.
    #[must_use]
    pub fn list_texts(&self) -> Vec<&str> {
        match self {
            Self::Parsed(members) => members.values().flat_map(list_texts).collect(),
            Self::Malformed { raw, .. } => vec![raw],
        }
    }
}

/// Returns every text in a value at any depth.
pub(crate) fn list_texts(value: &Value) -> Vec<&str> {
    let mut texts = Vec::new();
    collect_texts(value, &mut texts);
    texts
}

fn collect_texts<'a>(value: &'a Value, texts: &mut Vec<&'a str>) {
    match value {
        Value::String(text) => texts.push(text),
        Value::Array(items) => items.iter().for_each(|item| collect_texts(item, texts)),
        Value::Object(members) => members.iter().for_each(|(name, member)| {
            texts.push(name);
            collect_texts(member, texts);
        }),
        _ => {}
    }
}

/// The reason why arguments cannot be parsed or used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ArgumentProblem {
    /// Not JSON, also after repair.
    NotJson,
    /// JSON, but not an object.
    NotAnObject,
    /// The reply ended before the arguments were complete.
    CutOff,
    /// Longer than the limit of 1 MB.
    TooLong,
    /// The arguments contain content that the deployment rejects.
    Refused,
    /// The whole call is in the text of the reply, in a form that cannot be parsed.
    WrittenAsText,
}

/// The result of a call. The model can always read the result, and the run continues.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum ToolResult {
    /// The tool ran and returned its output.
    Done(ToolOutput),
    /// The tool did not run, or failed.
    Failed {
        /// The kind of failure, which selects the text for the model.
        reason: ToolFailure,
        /// Details from the tool or the check; may be empty.
        detail: String,
    },
    /// The plan cannot be created or changed in this way.
    PlanRefused {
        /// The problem of the plan, for the planner.
        error: PlanError,
    },
}

impl ToolResult {
    /// Returns true if the result contains text that anybody may have written: the text of a file, or of a
    /// tool with `tool_is`.
    #[must_use]
    pub fn is_untrusted(&self, tool_is: bool) -> bool {
        match self {
            Self::Done(observation) => {
                tool_is || matches!(observation.view, ResultView::FileRead { .. })
            }
            Self::Failed { reason: ToolFailure::Error, detail } => tool_is && !detail.is_empty(),
            Self::Failed { .. } | Self::PlanRefused { .. } => false,
        }
    }

    /// Returns the files of the result: written, read, or created from a long result.
    pub fn file_names(&self) -> impl Iterator<Item = &FileName> {
        let done = match self {
            Self::Done(observation) => Some(observation),
            Self::Failed { .. } | Self::PlanRefused { .. } => None,
        };
        done.into_iter().flat_map(|observation| {
            let source = match &observation.view {
                ResultView::FileRead { file } => Some(&file.name),
                _ => None,
            };
            let names = observation.files.iter().chain(&observation.images).map(|file| &file.name);
            names.chain(source).chain(observation.full_output.as_ref().map(|whole| &whole.file))
        })
    }
}

/// The output of a tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolOutput {
    /// The text for the model: at most the run's `max_result_chars` characters.
    pub text: String,
    /// The location of the whole text if it was cut.
    pub full_output: Option<FullOutput>,
    /// The form of the result for the user.
    pub view: ResultView,
    /// The files that the tool wrote.
    pub files: Vec<ProductFile>,
    /// Images for a model with image input: at most 20 files that the tool wrote or read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<ProductFile>,
    /// The state for the tool's next call in this run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<Box<ToolState>>,
    /// The known URLs in an agent's answer. Its model may have invented any other URL.
    #[serde(default, skip_serializing_if = "<[String]>::is_empty")]
    pub known_urls: Box<[String]>,
}

impl ToolOutput {
    /// Returns an output of plain text without files.
    #[must_use]
    pub fn from_text(text: impl Into<String>) -> Self {
        let text = text.into();
        let view = ResultView::Text;
        let files = Vec::new();
        let images = Vec::new();
        let known_urls = Box::default();
        Self { text, full_output: None, view, files, images, state: None, known_urls }
    }
}

/// The location of the uncut result of a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FullOutput {
    /// The internal file with the whole result.
    pub file: FileName,
    /// The length of the uncut result, in characters.
    pub characters: u64,
}

/// The form of a result for users.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ResultView {
    /// The text itself, if the tool is visible.
    Text,
    /// A file that was written.
    FileWritten {
        /// The file as it was written.
        file: ProductFile,
    },
    /// A file that was read.
    FileRead {
        /// The file that was read.
        file: ProductFile,
    },
    /// The text is a user's response to a question of the model.
    UserAnswer,
    /// The plan after a call of the planning tool.
    Plan {
        /// The plan after the command.
        plan: Plan,
    },
    /// Results of a web search.
    Searched {
        /// The results for each query, in the order of the queries.
        results: Vec<QueryFindings>,
    },
    /// Results of queries over tables.
    Rows {
        /// The result of each query, in the order of the queries.
        results: Vec<QueryRows>,
    },
}

/// Computes the digest of a call: SHA-256 of the tool and its arguments, independent of their order.
#[must_use]
pub fn digest_call(tool: &str, arguments: &Map<String, Value>) -> String {
    sha256_hex(format!("{tool} {}", canonical_json(&Value::Object(arguments.clone()))).as_bytes())
}

/// Formats JSON with sorted keys and no spaces. Equal values have equal texts, for hashes and comparisons.
#[must_use]
pub fn canonical_json(value: &Value) -> String {
    let mut json = String::new();
    write_canonical_json(value, &mut json);
    json
}

fn write_canonical_json(value: &Value, json: &mut String) {
    match value {
        Value::Object(map) => {
            let mut members: Vec<_> = map.iter().collect();
            members.sort_by_key(|(key, _)| *key);
            json.push('{');
            for (nth, (key, value)) in members.into_iter().enumerate() {
                json.push_str(if nth == 0 { "" } else { "," });
                json.push_str(&Value::from(key.as_str()).to_string());
                json.push(':');
                write_canonical_json(value, json);
            }
            json.push('}');
        }
        Value::Array(items) => {
            json.push('[');
            for (nth, item) in items.iter().enumerate() {
                json.push_str(if nth == 0 { "" } else { "," });
                write_canonical_json(item, json);
            }
            json.push(']');
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            json.push_str(&value.to_string());
        }
    }
}

#[cfg(test)]
mod tests;
