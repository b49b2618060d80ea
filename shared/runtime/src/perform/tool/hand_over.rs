//! The hand-over of a run to another agent: the current file of the agent, and its arguments.

use djinn_agents::{check_arguments, fill_arguments};
use djinn_core::agent::{TASK_ARGUMENT, to_hand_over};
use djinn_core::input::{AgentChanged, Input};
use djinn_core::tool::{ToolArguments, ToolFailure, ToolResult};

use super::ToolExecution;
use crate::port::tool::ToolError;
use crate::world::Ports;

impl<P: Ports> ToolExecution<P> {
    /// Returns the input with the next agent, or the failure of the call.
    pub(super) async fn hand_over(&self) -> Input {
        let call = self.invocation.call.id.clone();
        match self.find_next_agent().await {
            Ok(changed) => Input::AgentChanged(Box::new(changed)),
            Err(ToolError::Failed { reason, detail }) => {
                let result = ToolResult::Failed { reason, detail };
                Input::ToolReturned { call, result, took_ms: 0 }
            }
            Err(ToolError::Interrupted(interrupt)) => {
                let result =
                    ToolResult::Failed { reason: ToolFailure::Error, detail: interrupt.message };
                Input::ToolReturned { call, result, took_ms: 0 }
            }
        }
    }

    async fn find_next_agent(&self) -> Result<AgentChanged, ToolError> {
        let language = self.context.language;
        let failure = |reason, detail| ToolError::Failed { reason, detail };
        let tool = self.find_tool().await?;
        let agent = tool.agent(language);
        let agent = agent.ok_or_else(|| failure(ToolFailure::Changed, String::new()))?;
        let parameters = to_hand_over(tool.spec(language)).schema;
        let mut arguments = match &self.invocation.call.arguments {
            ToolArguments::Parsed(arguments) => arguments.clone(),
            ToolArguments::Malformed { .. } => Default::default(),
        };
        // A schema that allows more arguments does not make this one the next agent's.
        arguments.remove(TASK_ARGUMENT);
        check_arguments(&parameters, &arguments)
            .map_err(|detail| failure(ToolFailure::BadArguments, detail))?;
        let arguments = fill_arguments(&parameters, arguments);
        let call = self.invocation.call.id.clone();
        Ok(AgentChanged { call, agent: Box::new(agent), arguments })
    }
}
