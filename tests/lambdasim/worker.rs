//! The agent and the executor of a deployment whose tools leave a mark on the
//! world: a line in the file `DJINN_LEDGER`, written at once. Which of the two it is, it is told by
//! Lambda.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use djinn_core::language::Language;
use djinn_core::tool::{EffectClass, ToolOutput, ToolPolicy, ToolSpec};
use djinn_runtime::port::tool::{BoxFuture, Tool, ToolContext, ToolError};
use djinn_wiring::Djinn;
use serde_json::{Map, Value, json};

/// The tools, and what a repeat of each does.
const TOOLS: [(&str, EffectClass); 4] = [
    ("read", EffectClass::Read),
    ("put", EffectClass::Idempotent),
    ("post", EffectClass::Once),
    (DEADLY, EffectClass::Read),
];

/// The tool that takes its process down, at once and with all that goes on in it.
const DEADLY: &str = "die";

/// How long a tool takes before it leaves its mark, and again after.
const HALF: Duration = Duration::from_millis(40);

/// A tool that leaves its mark.
struct Marking {
    name: &'static str,
    effect: EffectClass,
    ledger: PathBuf,
}

impl Marking {
    /// One line with the name and the idempotency key, in one write: it is there or it is not.
    fn mark(&self, context: &ToolContext) -> std::io::Result<()> {
        let line = format!("{} {}\n", self.name, context.idempotency_key());
        OpenOptions::new().append(true).open(&self.ledger)?.write_all(line.as_bytes())
    }
}

impl Tool for Marking {
    fn spec(&self, _language: Language) -> ToolSpec {
        ToolSpec {
            name: self.name.to_owned(),
            description: format!("does {}", self.name),
            schema: json!({"type": "object"}),
            effect: self.effect,
            policy: ToolPolicy::default(),
            timeout_ms: 20_000,
            visible: true,
        }
    }

    fn run<'a>(
        &'a self,
        context: &'a ToolContext,
        _arguments: &'a Map<String, Value>,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            if self.name == DEADLY {
                std::process::abort();
            }
            tokio::time::sleep(HALF).await;
            self.mark(context).map_err(|error| ToolError::from_detail(error.to_string()))?;
            tokio::time::sleep(HALF).await;
            Ok(ToolOutput::from_text(format!("{} is done", self.name)))
        })
    }

    fn check_arguments(&self, _arguments: &Map<String, Value>) -> Result<(), String> {
        Ok(())
    }
}

fn main() -> Result<(), agent::FunctionError> {
    #[allow(clippy::disallowed_methods, reason = "the one place that reads the environment")]
    let var = |name: &str| std::env::var(name).ok();
    let ledger = PathBuf::from(var("DJINN_LEDGER").ok_or("there is no ledger")?);
    let djinn = TOOLS.into_iter().fold(Djinn::new(), |djinn, (name, effect)| {
        djinn.with_dyn_tool(Arc::new(Marking { name, effect, ledger: ledger.clone() }))
    });
    match var("AWS_LAMBDA_FUNCTION_NAME").as_deref() {
        Some("agent") => agent::run_function(&djinn),
        Some(_) | None => executor::run_function(&djinn),
    }
}
