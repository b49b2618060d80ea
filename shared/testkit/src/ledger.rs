//! Tools that record their effects.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use djinn_core::agent::AgentSpec;
use djinn_core::human::Interrupt;
use djinn_core::language::Language;
use djinn_core::tool::{EffectClass, ToolOutput, ToolPolicy, ToolSpec};
use djinn_runtime::port::tool::{BoxFuture, Tool, ToolContext, ToolError, Toolbox};
use serde_json::{Map, Value, json};

use crate::point::Points;

/// The effects of tools, one line each: the tool and its idempotency key.
#[derive(Debug, Clone, Default)]
pub struct Ledger(Arc<Mutex<Vec<String>>>);

impl Ledger {
    /// Returns the lines in order.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the number of equal lines.
    #[must_use]
    pub fn count(&self, line: &str) -> usize {
        self.lines().iter().filter(|entry| entry.as_str() == line).count()
    }
}

/// A tool with a duration that writes to a ledger.
pub struct LedgerTool {
    /// The name of the tool.
    pub name: &'static str,
    /// The effect class: the effect of a repeated call.
    pub effect: EffectClass,
    /// The duration of each call.
    pub duration: Duration,
    /// The declared policy of the tool.
    pub declared: ToolPolicy,
    /// True if the arguments are also written to the ledger.
    pub logs_arguments: bool,
    /// The number of interrupts of each call.
    pub interrupts: u32,
    /// The declared timeout in milliseconds.
    pub timeout_ms: u64,
    /// The output of every call without an interrupt.
    pub answer: String,
    /// The ledger for effects; each line is written before the call returns.
    pub ledger: Ledger,
    /// The points at which the process may die.
    pub points: Points,
}

impl LedgerTool {
    /// Creates a tool that returns at once.
    #[must_use]
    pub fn new(name: &'static str, effect: EffectClass, ledger: &Ledger, points: &Points) -> Self {
        Self {
            name,
            effect,
            duration: Duration::ZERO,
            declared: ToolPolicy::default(),
            logs_arguments: false,
            interrupts: 0,
            timeout_ms: 60_000,
            answer: format!("{name} is done"),
            ledger: ledger.clone(),
            points: points.clone(),
        }
    }
}

impl Tool for LedgerTool {
    fn spec(&self, _language: Language) -> ToolSpec {
        ToolSpec {
            name: self.name.to_owned(),
            description: format!("does {}", self.name),
            schema: json!({"type": "object"}),
            effect: self.effect,
            policy: self.declared.clone(),
            timeout_ms: self.timeout_ms,
            visible: true,
        }
    }

    fn run<'a>(
        &'a self,
        context: &'a ToolContext,
        arguments: &'a Map<String, Value>,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let call = context.call.clone().below(&context.path);
            self.points.pass(format!("before tool {call}")).await;
            tokio::time::sleep(self.duration).await;
            self.points.wait_until_alive().await;
            if context.interrupts < self.interrupts {
                return Err(ToolError::Interrupted(Interrupt {
                    code: "20006".to_owned(),
                    message: "Out of credits.".to_owned(),
                    key: None,
                }));
            }
            let with = if self.logs_arguments {
                format!(" {}", Value::Object(arguments.clone()))
            } else {
                String::new()
            };
            let line = format!("{} {call}{with}", self.name);
            self.ledger.0.lock().unwrap_or_else(PoisonError::into_inner).push(line);
            self.points.pass(format!("after tool {call}")).await;
            Ok(ToolOutput::from_text(self.answer.clone()))
        })
    }

    fn check_arguments(&self, _arguments: &Map<String, Value>) -> Result<(), String> {
        Ok(())
    }
}

/// A tool within one process.
struct ProcessTool {
    tool: Arc<dyn Tool>,
    points: Points,
}

/// Returns the tools of a process, which may die during a call. Tool sources are shared unchanged.
pub(crate) fn tools_of_process(tools: &Toolbox, points: &Points) -> Toolbox {
    let own = tools.own_tools().fold(Toolbox::default(), |own, tool| {
        own.with_tool(ProcessTool { tool: Arc::clone(tool), points: points.clone() })
    });
    let own = own.with_offered_agents(tools.offered_agents().clone());
    let own = own.with_agents(Arc::clone(tools.agents()));
    tools.sources().fold(own, |tools, source| tools.with_source(Arc::clone(source)))
}

impl Tool for ProcessTool {
    fn spec(&self, language: Language) -> ToolSpec {
        self.tool.spec(language)
    }

    fn run<'a>(
        &'a self,
        context: &'a ToolContext,
        arguments: &'a Map<String, Value>,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(self.points.run_within(self.tool.run(context, arguments)))
    }

    fn check_arguments(&self, arguments: &Map<String, Value>) -> Result<(), String> {
        self.tool.check_arguments(arguments)
    }

    fn agent(&self, language: Language) -> Option<AgentSpec> {
        self.tool.agent(language)
    }

    fn is_for_agents_only(&self) -> bool {
        self.tool.is_for_agents_only()
    }

    fn state_owner(&self) -> Option<String> {
        self.tool.state_owner()
    }
}
