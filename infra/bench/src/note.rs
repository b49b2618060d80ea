//! A tool that touches no store, so that all requests are the journal's.

use djinn_core::settings::Language;
use djinn_core::tool::{Declared, EffectClass, Observation, Shown, ToolSpec};
use djinn_runtime::port::tool::{BoxFuture, Tool, ToolContext, ToolFailure};
use serde_json::{Map, Value, json};

/// Takes a note.
pub(crate) struct Note(pub(crate) EffectClass);

/// Its name.
pub(crate) const NAME: &str = "note";

/// The arguments of its nth call.
pub(crate) fn arguments(nth: usize) -> Value {
    json!({"text": format!("Note {nth}: {}", "what was found, and where. ".repeat(8))})
}

impl Tool for Note {
    fn spec(&self, _: Language) -> ToolSpec {
        ToolSpec {
            name: NAME.to_owned(),
            description: "Takes a note".to_owned(),
            schema: json!({"type": "object", "properties": {"text": {"type": "string"}}}),
            effect: self.0,
            declared: Declared::default(),
            timeout_ms: 10_000,
            visible: false,
        }
    }

    fn run<'a>(
        &'a self,
        _: &'a ToolContext,
        _: &'a Map<String, Value>,
    ) -> BoxFuture<'a, Result<Observation, ToolFailure>> {
        Box::pin(async {
            Ok(Observation {
                text: "It is noted. ".repeat(16),
                whole: None,
                shown: Shown::Text,
                files: Vec::new(),
            })
        })
    }

    fn check(&self, _: &Map<String, Value>) -> Result<(), String> {
        Ok(())
    }
}
