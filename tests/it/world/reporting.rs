//! A tool that says how far it is, as far as a test lets it.

use std::sync::Arc;

use djinn_core::language::Language;
use djinn_core::tool::{EffectClass, ToolOutput, ToolPolicy, ToolSpec};
use djinn_runtime::port::tool::{BoxFuture, Tool, ToolContext, ToolError};
use serde_json::{Map, Value, json};
use tokio::sync::Semaphore;

/// A tool that reports a part of its lines, then waits to be let go on, until it has reported all.
#[derive(Clone)]
pub(crate) struct Reporting {
    pub(crate) parts: Vec<Vec<String>>,
    pub(crate) go_on: Arc<Semaphore>,
}

impl Reporting {
    pub(crate) fn new(parts: impl IntoIterator<Item = Vec<String>>) -> Self {
        Self { parts: parts.into_iter().collect(), go_on: Arc::new(Semaphore::new(0)) }
    }
}

impl Tool for Reporting {
    fn spec(&self, _: Language) -> ToolSpec {
        ToolSpec {
            name: "crawl".to_owned(),
            description: "Reads page after page.".to_owned(),
            schema: json!({"type": "object"}),
            effect: EffectClass::Read,
            policy: ToolPolicy::default(),
            timeout_ms: 60_000,
            visible: true,
        }
    }

    fn run<'a>(
        &'a self,
        context: &'a ToolContext,
        _: &'a Map<String, Value>,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            for lines in &self.parts {
                for line in lines {
                    context.progress.report(line);
                    tokio::task::yield_now().await;
                }
                self.go_on.acquire().await.unwrap().forget();
            }
            Ok(ToolOutput::from_text("Read."))
        })
    }

    fn check_arguments(&self, _: &Map<String, Value>) -> Result<(), String> {
        Ok(())
    }
}
