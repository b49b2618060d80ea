//! A tool that a test holds.

use std::sync::Arc;

use djinn_core::language::Language;
use djinn_core::tool::{EffectClass, ToolOutput, ToolPolicy, ToolSpec};
use djinn_runtime::port::tool::{BoxFuture, Tool, ToolContext, ToolError};
use serde_json::{Map, Value, json};
use tokio::sync::Semaphore;

/// A tool that works until it is let go.
#[derive(Clone)]
pub(crate) struct Slow {
    pub(crate) started: Arc<Semaphore>,
    pub(crate) go_on: Arc<Semaphore>,
}

impl Slow {
    pub(crate) fn new() -> Self {
        Self { started: Arc::new(Semaphore::new(0)), go_on: Arc::new(Semaphore::new(0)) }
    }
}

impl Tool for Slow {
    fn spec(&self, _: Language) -> ToolSpec {
        ToolSpec {
            name: "slow".to_owned(),
            description: "Works for long.".to_owned(),
            schema: json!({"type": "object"}),
            effect: EffectClass::Read,
            policy: ToolPolicy::default(),
            timeout_ms: 60_000,
            visible: true,
        }
    }

    fn run<'a>(
        &'a self,
        _: &'a ToolContext,
        _: &'a Map<String, Value>,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            self.started.add_permits(1);
            self.go_on.acquire().await.unwrap().forget();
            Ok(ToolOutput::from_text("It worked."))
        })
    }

    fn check_arguments(&self, _: &Map<String, Value>) -> Result<(), String> {
        Ok(())
    }
}
