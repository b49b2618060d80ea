//! A tool without store requests, so all requests belong to the journal.

use djinn_core::language::Language;
use djinn_core::tool::{EffectClass, ToolOutput, ToolPolicy, ToolSpec};
use djinn_runtime::port::tool::{BoxFuture, Tool, ToolContext, ToolError};
use serde_json::{Map, Value, json};

/// A tool with the same text for every call and the given effect class.
pub(crate) struct NoteTool(pub(crate) EffectClass);

/// The name of [`NoteTool`], used by the scripted model.
pub(crate) const NAME: &str = "note";

/// Returns the arguments of the nth call.
pub(crate) fn nth_arguments(nth: usize) -> Value {
    json!({"text": format!("Note {nth}: {}", "what was found, and where. ".repeat(8))})
}

impl Tool for NoteTool {
    fn spec(&self, _: Language) -> ToolSpec {
        ToolSpec {
            name: NAME.to_owned(),
            description: "Takes a note".to_owned(),
            schema: json!({"type": "object", "properties": {"text": {"type": "string"}}}),
            effect: self.0,
            policy: ToolPolicy::default(),
            timeout_ms: 10_000,
            visible: false,
        }
    }

    fn run<'a>(
        &'a self,
        _: &'a ToolContext,
        _: &'a Map<String, Value>,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async { Ok(ToolOutput::from_text("It is noted. ".repeat(16))) })
    }

    fn check_arguments(&self, _: &Map<String, Value>) -> Result<(), String> {
        Ok(())
    }
}
