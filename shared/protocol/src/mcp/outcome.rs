//! The state of a run as the result of a tool.

use std::fmt;
use std::sync::Arc;

use djinn_core::language::Language;
use djinn_core::status::RunStatus;
use serde::Serialize;
use serde_json::{Value, json};

use crate::event::PublicCitation;

/// The state of a run, as a tool returns it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct McpOutcome {
    /// The id of the run.
    pub run: String,
    /// The session of the run, for the next question.
    pub session: String,
    /// The status of the run.
    pub status: RunStatus,
    /// The answer of an ended run, possibly partial; else absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
    /// The files of the answer.
    pub files: Vec<McpAnswerFile>,
    /// The requests that wait for a response.
    pub requests: Vec<McpHumanRequest>,
    /// The sentence about a failure; absent without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
}

/// A file of an answer.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct McpAnswerFile {
    /// The name.
    pub name: String,
    /// The description by the author; may be empty.
    pub description: String,
    /// The media type.
    pub media_type: String,
    /// The URL for a download.
    pub url: String,
}

/// A request that waits for a response.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct McpHumanRequest {
    /// The id.
    pub id: String,
    /// The request in words.
    pub text: String,
    /// True for a question of a model, which the tool `say` may answer. A human decides all others.
    pub may_say: bool,
    /// The link for a human's decision; absent if the deployment creates no links.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link: Option<String>,
}

/// Words about a run that has no answer, for the model that called the tool.
#[derive(Clone)]
pub struct McpWords(Arc<WriteWords>);

type WriteWords = dyn Fn(&McpOutcome, Language) -> String + Send + Sync;

impl McpWords {
    /// Creates the words from a function of the run and a language.
    pub fn new(write: impl Fn(&McpOutcome, Language) -> String + Send + Sync + 'static) -> Self {
        Self(Arc::new(write))
    }
}

impl fmt::Debug for McpWords {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("McpWords")
    }
}

impl McpOutcome {
    /// Creates the state of a run without an answer.
    #[must_use]
    pub fn new(run: String, session: String, status: RunStatus) -> Self {
        let files = Vec::new();
        let requests = Vec::new();
        Self { run, session, status, answer: None, files, requests, failure: None }
    }

    /// Returns the result of a tool: texts, links to files, and the same as JSON with the sources of the answer.
    #[must_use]
    pub fn to_result(&self, words: &McpWords, language: Language) -> Value {
        let answer = self.answer.iter().filter(|answer| !answer.is_empty()).cloned();
        let words = (words.0)(self, language);
        let texts = answer.chain(Some(words).filter(|words| !words.is_empty()));
        let texts = texts.map(|text| json!({"type": "text", "text": text}));
        let files = self.files.iter().map(|file| {
            json!({
                "type": "resource_link", "uri": file.url, "name": file.name, "description": file.description,
                "mimeType": file.media_type,
            })
        });
        let content: Vec<Value> = texts.chain(files).collect();
        let is_error = self.status == RunStatus::Failed;
        let mut state = json!(self);
        let citations = PublicCitation::list(self.answer.as_deref().unwrap_or_default());
        if let (false, Some(fields)) = (citations.is_empty(), state.as_object_mut()) {
            fields.insert("citations".to_owned(), json!(citations));
        }
        json!({"content": content, "structuredContent": state, "isError": is_error})
    }
}
