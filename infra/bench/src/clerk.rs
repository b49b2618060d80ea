//! An agent for calls by other agents, with the note tool and itself as tools.

use djinn_core::agent::{AgentContext, AgentSpec, AnswerFormat, ToolChoiceRule};
use djinn_core::language::Language;
use djinn_core::settings::{Machine, Role};
use djinn_core::tool::{EffectClass, Risk, ToolFailure, ToolOutput, ToolPolicy, ToolSpec};
use djinn_runtime::port::tool::{BoxFuture, OfferedAgents, Tool, ToolContext, ToolError, Toolbox};
use serde_json::{Map, Value, json};

use crate::note::{self, NoteTool};

/// The name of the agent, used by the scripted model.
pub(crate) const NAME: &str = "clerk";

/// An agent without a model of its own: calls use the model of tasks.
struct Clerk;

/// Returns read-only notes and the agent, for runs with nested agents.
pub(crate) fn offer_clerk() -> Toolbox {
    let tools = Toolbox::default().with_tool(NoteTool(EffectClass::Read)).with_tool(Clerk);
    tools.with_offered_agents(OfferedAgents::All)
}

fn parameters() -> Value {
    json!({"type": "object", "properties": {"task": {"type": "string"}}})
}

impl Tool for Clerk {
    fn spec(&self, _: Language) -> ToolSpec {
        ToolSpec {
            name: NAME.to_owned(),
            description: "Does a part of the work.".to_owned(),
            schema: parameters(),
            effect: EffectClass::Agent,
            policy: ToolPolicy::default(),
            timeout_ms: u64::MAX,
            visible: true,
        }
    }

    fn run<'a>(
        &'a self,
        _: &'a ToolContext,
        _: &'a Map<String, Value>,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        // The caller's driver starts a run for the call.
        let reason = ToolFailure::Changed;
        let detail = String::new();
        Box::pin(async move { Err(ToolError::Failed { reason, detail }) })
    }

    fn check_arguments(&self, _: &Map<String, Value>) -> Result<(), String> {
        Ok(())
    }

    fn agent(&self, _: Language) -> Option<AgentSpec> {
        Some(AgentSpec {
            name: NAME.to_owned(),
            description: "Does a part of the work.".to_owned(),
            prompt: "Do your part of the work.".to_owned(),
            parameters: parameters(),
            tools: vec![note::NAME.to_owned(), NAME.to_owned()],
            model: Role::Executor,
            machine: Machine::default(),
            max_steps: 1_000,
            max_calls: None,
            max_result_chars: None,
            first_tool: None,
            before: Vec::new(),
            after: None,
            answer: AnswerFormat::Text,
            context: AgentContext::None,
            risk: Risk::Low,
            entry: false,
            title: None,
            agent_type: None,
            tool_choice: ToolChoiceRule::Auto,
            stop_at: Vec::new(),
            hands_over: Vec::new(),
            review: None,
            workflow: None,
        })
    }
}
