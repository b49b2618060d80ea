//! A tool that touches no store, so that all requests are the journal's.

use djinn_core::language::Language;
use djinn_core::tool::{EffectClass, ToolOutput, ToolPolicy, ToolSpec};
use djinn_runtime::port::tool::{BoxFuture, Tool, ToolContext, ToolError};
use serde_json::{Map, Value, json};

/// The tool answers every call with the same text; its effect class is the one it is given.
pub(crate) struct NoteTool(pub(crate) EffectClass);

/// The scripted model calls [`NoteTool`] by this name.
pub(crate) const NAME: &str = "note";

/// The arguments of its nth call.
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
