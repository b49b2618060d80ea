//! Tools as a run knows them: what was offered, what was called, what came of it.

mod failure;
pub mod search;
mod tool_set;
mod tool_state;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::file::ProductFile;
use djinn_budget::estimate::Estimate;
use djinn_ids::{CallId, FileName, sha256_hex};
use djinn_plan::{Plan, PlanError};
pub use failure::ToolFailure;
use search::QueryFindings;
pub use tool_set::{ToolSetHash, ToolSetRef};
pub use tool_state::ToolState;

/// What happens in the world when a call is made twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EffectClass {
    /// Changes nothing; repeated freely.
    Read,
    /// Carries its call id, and a repeat with the same id changes nothing.
    Idempotent,
    /// Must not be repeated: its start is journaled before it runs, and a start without a result is
    /// reported as uncertain.
    Once,
    /// Answered by an agent: a run one level down, with a journal of its own.
    Agent,
}

/// How much harm a wrong call can do.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Risk {
    /// Reads, or writes what the run itself made.
    #[default]
    Low,
    /// Writes what others see.
    Medium,
    /// Sends data out, spends money, or cannot be undone.
    High,
}

/// A tool as it is registered.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolSpec {
    /// Unique in a registry; what the model calls it by.
    pub name: String,
    /// What the model is told about it.
    pub description: String,
    /// JSON Schema of its arguments, an object.
    pub schema: Value,
    /// What a repeat does.
    pub effect: EffectClass,
    /// What its calls can do to others, and what they cost.
    pub policy: ToolPolicy,
    /// Milliseconds one call may take before its result becomes `timed out`. Must fit into an
    /// invocation (`template.yaml`: 900 s) less the hand-over margin.
    pub timeout_ms: u64,
    /// Whether the user is shown its raw result.
    pub visible: bool,
}

impl ToolSpec {
    /// What a turn's record keeps of this tool.
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
    /// Whether it is what a call was offered: of that schema, effect class and policy, whatever its calls
    /// are taken to cost by now.
    #[must_use]
    pub fn is_callable_as(&self, schema: &str, effect: EffectClass, policy: &ToolPolicy) -> bool {
        let policy = ToolPolicy { estimate: self.policy.estimate, ..policy.clone() };
        self.schema_hash == schema && self.effect == effect && self.policy == policy
    }
}

/// A tool as a turn offered it: what decides about its calls later, whatever is registered then.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OfferedTool {
    /// What the model calls it by.
    pub name: String,
    /// SHA-256 of its schema.
    pub schema_hash: String,
    /// What a repeat does.
    pub effect: EffectClass,
    /// Milliseconds one call may take.
    pub timeout_ms: u64,
    /// Whether the user is shown its raw result.
    pub visible: bool,
    /// What its calls can do to others, and what they cost; nothing in old records.
    #[serde(default, skip_serializing_if = "is_default")]
    pub policy: ToolPolicy,
}

/// What the calls of a tool can do to others, and what they cost.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ToolPolicy {
    /// How much harm a wrong call can do.
    pub risk: Risk,
    /// The calls that do none, whatever the risk.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub safe_arguments: Option<SafeArguments>,
    /// Whether they send data to others.
    pub sends_out: bool,
    /// The argument that is a URL, where all that is sent is a request for that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url_argument: Option<String>,
    /// Whether whoever runs the deployment has chosen who gets what is sent.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub sends_to_operator: bool,
    /// Whether their results hold text that anybody may have written.
    pub untrusted: bool,
    /// Whether their results may say what the model made up, as what its code prints does: a URL in them is known
    /// to nobody else.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub echoes_model: bool,
    /// What one usually costs.
    pub estimate: Estimate,
}

impl ToolPolicy {
    /// The URL that a call asks for, where that is all that it sends.
    #[must_use]
    pub fn requested_url<'a>(&self, arguments: &'a Map<String, Value>) -> Option<&'a str> {
        arguments.get(self.url_argument.as_ref()?)?.as_str()
    }

    /// Whether a call with these arguments changes nothing, whatever the risk of others.
    #[must_use]
    pub fn is_harmless(&self, arguments: &Map<String, Value>) -> bool {
        self.safe_arguments.as_ref().is_some_and(|harmless| {
            let value = arguments.get(&harmless.argument).and_then(Value::as_str);
            value.is_some_and(|value| harmless.values.iter().any(|known| known == value))
        })
    }
}

/// The calls of a tool that change nothing: those with one of these values.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SafeArguments {
    /// The name of the argument that decides.
    pub argument: String,
    /// The values of it with which a call changes nothing.
    pub values: Vec<String>,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// One tool call of a model's reply.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// Ours, whatever id the provider sent.
    pub id: CallId,
    /// The tool's name as the model wrote it.
    pub tool: String,
    /// Its arguments, as far as they could be read.
    pub arguments: ToolArguments,
    /// What a person says who changed the arguments before it was made; may be empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edit_comment: Option<String>,
}

/// The arguments of a call after repair.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolArguments {
    /// A JSON object, as the model wrote it or the repair of it reads.
    Parsed(Map<String, Value>),
    /// Nothing that could be read as one; the model is told what is wrong.
    Malformed {
        /// What the model wrote, cut to 2 000 characters; of what is refused, why.
        raw: String,
        /// What is wrong with it.
        problem: ArgumentProblem,
    },
}

impl ToolArguments {
    /// Every text in them, at whatever depth; of what could not be read, all.
    #[must_use]
    pub fn list_texts(&self) -> Vec<&str> {
        let mut texts = Vec::new();
        match self {
            Self::Parsed(members) => {
                members.values().for_each(|value| collect_texts(value, &mut texts));
            }
            Self::Malformed { raw, .. } => texts.push(raw),
        }
        texts
    }
}

fn collect_texts<'a>(value: &'a Value, texts: &mut Vec<&'a str>) {
    match value {
        Value::String(text) => texts.push(text),
        Value::Array(items) => items.iter().for_each(|item| collect_texts(item, texts)),
        Value::Object(members) => members.iter().for_each(|(name, member)| {
            texts.push(name);
            collect_texts(member, texts);
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Why arguments could not be read, or may not be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ArgumentProblem {
    /// Not JSON, also after repair.
    NotJson,
    /// JSON, but not an object.
    NotAnObject,
    /// The reply ended before they were complete.
    CutOff,
    /// Longer than the cap of 1 MB.
    TooLong,
    /// They hold what the deployment does not let through.
    Refused,
    /// The whole call was written into the text of the reply, in a form that cannot be read.
    WrittenAsText,
}

/// What came of a call. Always something the model can read; the run goes on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum ToolResult {
    /// The tool ran and came to its output.
    Done(ToolOutput),
    /// It did not, or not successfully.
    Failed {
        /// The kind of failure, which decides what the model is told.
        reason: ToolFailure,
        /// What the tool or the check says about it; may be empty.
        detail: String,
    },
    /// The plan cannot be made or changed so.
    PlanRefused {
        /// What is wrong with it, for the planner.
        error: PlanError,
    },
}

impl ToolResult {
    /// Whether it holds text that anybody may have written: that of a file, or all of a tool whose results
    /// are such.
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

    /// The files that it tells of: written, read, or made of what was too long.
    pub fn file_names(&self) -> impl Iterator<Item = &FileName> {
        let done = match self {
            Self::Done(observation) => Some(observation),
            Self::Failed { .. } | Self::PlanRefused { .. } => None,
        };
        done.into_iter().flat_map(|observation| {
            let read = match &observation.view {
                ResultView::FileRead { file } => Some(&file.name),
                ResultView::FileWritten { .. }
                | ResultView::Text
                | ResultView::UserAnswer
                | ResultView::Searched { .. }
                | ResultView::Plan { .. } => None,
            };
            let told = observation.files.iter().chain(&observation.images).map(|file| &file.name);
            told.chain(read).chain(observation.full_output.as_ref().map(|whole| &whole.file))
        })
    }
}

/// What a tool answered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolOutput {
    /// What the model reads: at most the run's `max_result_chars` characters.
    pub text: String,
    /// Where the whole lies, when the text was cut.
    pub full_output: Option<FullOutput>,
    /// What the user is shown.
    pub view: ResultView,
    /// The files it wrote.
    pub files: Vec<ProductFile>,
    /// Images for the model, if it can see: files that it wrote or read, at most 20. Their bytes are read when a
    /// request is made.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<ProductFile>,
    /// What the tool wants to have when it is called next in this run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<Box<ToolState>>,
    /// The URLs in an agent's answer that others wrote: its model may have made up any other.
    #[serde(default, skip_serializing_if = "<[String]>::is_empty")]
    pub known_urls: Box<[String]>,
}

impl ToolOutput {
    /// A plain answer without files.
    #[must_use]
    pub fn from_text(text: impl Into<String>) -> Self {
        let (text, view) = (text.into(), ResultView::Text);
        let (files, images, known_urls) = (Vec::new(), Vec::new(), Box::default());
        Self { text, full_output: None, view, files, images, state: None, known_urls }
    }
}

/// The uncut result of a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FullOutput {
    /// The internal file that holds it.
    pub file: FileName,
    /// The length of the uncut result, in characters.
    pub characters: u64,
}

/// What a user is shown of a result.
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
    /// What the user answered to a question of the model's: the text.
    UserAnswer,
    /// The plan as it is after a call of the planning tool.
    Plan {
        /// The plan as the command left it.
        plan: Plan,
    },
    /// What was found on the web.
    Searched {
        /// What was found, question by question, as they were asked.
        results: Vec<QueryFindings>,
    },
}

/// Names what a call would do: SHA-256 of its tool and its arguments, whatever their order.
#[must_use]
pub fn digest_call(tool: &str, arguments: &Map<String, Value>) -> String {
    sha256_hex(format!("{tool} {}", canonical_json(&Value::Object(arguments.clone()))).as_bytes())
}

/// JSON with sorted keys and no spaces: equal for equal values, so fit for hashing and comparing.
#[must_use]
pub fn canonical_json(value: &Value) -> String {
    match value {
        Value::Object(map) => {
            let mut members: Vec<_> = map.iter().collect();
            members.sort_by_key(|(key, _)| *key);
            let members: Vec<_> = members
                .into_iter()
                .map(|(key, value)| {
                    format!("{}:{}", Value::from(key.as_str()), canonical_json(value))
                })
                .collect();
            format!("{{{}}}", members.join(","))
        }
        Value::Array(items) => {
            format!("[{}]", items.iter().map(canonical_json).collect::<Vec<_>>().join(","))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_call_is_made_as_people_were_told_of_it() {
        let spec = ToolSpec {
            name: "look".to_owned(),
            description: String::new(),
            schema: json!({}),
            effect: EffectClass::Read,
            policy: ToolPolicy::default(),
            timeout_ms: 0,
            visible: false,
        };
        let (now, offered) = (spec.to_offered(), spec.to_offered());
        let hash = offered.schema_hash.as_str();
        assert!(now.is_callable_as(hash, offered.effect, &offered.policy));
        let dearer = Estimate { tokens: 5, ..Estimate::default() };
        let dearer = ToolPolicy { estimate: dearer, ..ToolPolicy::default() };
        assert!(now.is_callable_as(hash, offered.effect, &dearer));
        let sends_out = ToolPolicy { sends_out: true, ..ToolPolicy::default() };
        assert!(!now.is_callable_as(hash, offered.effect, &sends_out));
        assert!(!now.is_callable_as("other", offered.effect, &offered.policy));
        assert!(!now.is_callable_as(hash, EffectClass::Once, &offered.policy));
    }

    #[test]
    fn canonical_json_ignores_the_order_of_keys_and_nothing_else() {
        let a = json!({"b": [1, {"d": 1, "c": "x\"y"}], "a": null});
        let b = json!({"a": null, "b": [1, {"c": "x\"y", "d": 1}]});
        assert_eq!(canonical_json(&a), canonical_json(&b));
        assert_eq!(canonical_json(&a), r#"{"a":null,"b":[1,{"c":"x\"y","d":1}]}"#);
        assert_ne!(
            canonical_json(&a),
            canonical_json(&json!({"a": null, "b": [{"c": "x\"y", "d": 1}, 1]}))
        );
    }
}
