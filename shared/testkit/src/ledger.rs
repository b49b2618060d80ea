//! Tools that write down what they did to the world.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use djinn_core::agent::AgentSpec;
use djinn_core::human::Interrupt;
use djinn_core::language::Language;
use djinn_core::tool::{EffectClass, ToolOutput, ToolPolicy, ToolSpec};
use djinn_runtime::port::tool::{BoxFuture, Tool, ToolContext, ToolError, Toolbox};
use serde_json::{Map, Value, json};

use crate::point::Points;

/// What happened in the world, one line an effect: the tool and its idempotency key.
#[derive(Debug, Clone, Default)]
pub struct Ledger(Arc<Mutex<Vec<String>>>);

impl Ledger {
    /// The lines, in order.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// How often this happened.
    #[must_use]
    pub fn count(&self, line: &str) -> usize {
        self.lines().iter().filter(|known| known.as_str() == line).count()
    }

    fn add_line(&self, line: String) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(line);
    }
}

/// A tool that takes its time and writes into a ledger.
pub struct LedgerTool {
    /// What it is called.
    pub name: &'static str,
    /// What a repeat does.
    pub effect: EffectClass,
    /// How long it takes.
    pub duration: Duration,
    /// What it says of its calls.
    pub declared: ToolPolicy,
    /// Whether it writes down its arguments too.
    pub logs_arguments: bool,
    /// How often it interrupts each call.
    pub interrupts: u32,
    /// Milliseconds it may take.
    pub timeout_ms: u64,
    /// The answer is the same text for every call that is not interrupted.
    pub answer: String,
    /// The ledger gets a line for each call that takes effect, before the call is answered.
    pub ledger: Ledger,
    /// Where it may die.
    pub points: Points,
}

impl LedgerTool {
    /// A tool that answers at once.
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
                }));
            }
            let with = match self.logs_arguments {
                true => format!(" {}", Value::Object(arguments.clone())),
                false => String::new(),
            };
            self.ledger.add_line(format!("{} {call}{with}", self.name));
            self.points.pass(format!("after tool {call}")).await;
            Ok(ToolOutput::from_text(self.answer.clone()))
        })
    }

    fn check_arguments(&self, _arguments: &Map<String, Value>) -> Result<(), String> {
        Ok(())
    }
}

/// A tool as one process runs it.
struct ProcessTool {
    tool: Arc<dyn Tool>,
    points: Points,
}

/// The tools of a process, which may die while they run. What sources answered is another's to know.
pub(crate) fn tools_of_process(tools: &Toolbox, points: &Points) -> Toolbox {
    let own = tools.own_tools().fold(Toolbox::default(), |own, tool| {
        own.with_tool(ProcessTool { tool: Arc::clone(tool), points: points.clone() })
    });
    let own = own.with_offered_agents(tools.offered_agents().clone());
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
}
