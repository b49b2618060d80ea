//! The tools of the server, as clients list them.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

/// The default of the longest wait for an answer, in seconds: some clients give up after 60 seconds.
pub const DEFAULT_WAIT_S: u64 = 45;

/// The longest wait that a client may choose, in seconds.
pub const MAX_WAIT_S: u64 = 600;

/// A tool of the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum McpServerTool {
    /// Asks a question.
    Ask,
    /// Waits for the answer of a run.
    Look,
    /// Answers a question of a run, or sends a message to it.
    Say,
    /// Stops a run.
    Stop,
}

impl McpServerTool {
    /// All tools.
    pub const ALL: [Self; 4] = [Self::Ask, Self::Look, Self::Say, Self::Stop];

    /// Returns the name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Ask => "ask",
            Self::Look => "look",
            Self::Say => "say",
            Self::Stop => "stop",
        }
    }

    /// Returns the tool with this name.
    #[must_use]
    pub fn find(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tool| tool.name() == name)
    }

    /// Returns the definition for clients. `modes` are the modes that need only a question.
    #[must_use]
    pub fn definition(
        self,
        description: &str,
        parameters: &BTreeMap<String, String>,
        modes: &[String],
    ) -> Value {
        let wait = || ("wait_s", json!({"type": "integer", "minimum": 0, "maximum": MAX_WAIT_S}));
        let text = |name| (name, json!({"type": "string"}));
        let (fields, required) = match self {
            Self::Ask => {
                let mode = ("mode", json!({"type": "string", "enum": modes}));
                (vec![text("question"), mode, text("session"), wait()], vec!["question"])
            }
            Self::Look => (vec![text("run"), wait()], vec!["run"]),
            Self::Say => (vec![text("run"), text("text")], vec!["run", "text"]),
            Self::Stop => (vec![text("run")], vec!["run"]),
        };
        let properties = fields.into_iter().map(|(name, mut schema)| {
            let words = parameters.get(name).cloned().unwrap_or_default();
            if let Some(fields) = schema.as_object_mut() {
                fields.insert("description".to_owned(), words.into());
            }
            (name.to_owned(), schema)
        });
        let properties: Map<String, Value> = properties.collect();
        json!({
            "name": self.name(), "description": description,
            "inputSchema": {
                "type": "object", "properties": properties, "required": required, "additionalProperties": false,
            },
            "outputSchema": output_schema(),
            "annotations": {
                "readOnlyHint": self == Self::Look, "destructiveHint": self == Self::Stop,
                "idempotentHint": matches!(self, Self::Look | Self::Stop), "openWorldHint": true,
            },
        })
    }
}

/// Returns the schema of `structuredContent`.
fn output_schema() -> Value {
    let list = || json!({"type": "array", "items": {"type": "object"}});
    let text = || json!({"type": "string"});
    json!({
        "type": "object", "required": ["run", "status"],
        "properties": {
            "run": text(), "session": text(), "status": text(), "answer": text(), "failure": text(),
            "citations": list(), "files": list(), "requests": list(),
        },
    })
}
