//! The tool calls listed in an agent's file, as if requested by a model.

use djinn_core::agent::{ANSWER_ARGUMENT, TASK_ARGUMENT};
use djinn_core::id::MessageId;
use djinn_core::input::{Input, ModelReplied, Reply, RequestedCall};
use djinn_core::tool::{ToolArguments, ToolSetRef, ToolSpec};
use serde_json::{Map, Value};

use super::ModelExecution;
use crate::estimates::estimate_tools;
use crate::world::Ports;

impl<P: Ports> ModelExecution<P> {
    /// Returns the input of a call without a model request: the calls of an agent's file, or a change to the
    /// fallback.
    pub(super) async fn decide_without_model(&self) -> Option<Input> {
        if self.call.message.is_of_agent_file() {
            Some(self.ask_for_file_calls().await)
        } else {
            self.skip_primary()
        }
    }

    /// Builds the reply with the listed calls. An unknown tool is answered like an invented tool of a model.
    async fn ask_for_file_calls(&self) -> Input {
        let tools = self.list_tools().await;
        let language = self.run.spec().settings.language;
        let (names, text) = self.find_file_calls();
        let specs: Vec<ToolSpec> =
            names.iter().filter_map(|name| Some(tools.find_tool(name)?.spec(language))).collect();
        let arguments = self.collect_arguments(&text);
        let calls: Vec<RequestedCall> = names
            .iter()
            .map(|name| {
                let spec = specs.iter().find(|spec| spec.name == *name);
                let arguments = spec.map_or_else(Map::new, |spec| pick_known(&arguments, spec));
                RequestedCall { tool: name.clone(), arguments: ToolArguments::Parsed(arguments) }
            })
            .collect();
        let offers: Vec<_> = specs.iter().map(ToolSpec::to_offered).collect();
        let estimates = estimate_tools(&self.ports, &tools, &self.run, None, &offers, &calls).await;
        let tool_set = ToolSetRef::of(&offers, estimates);
        let message = self.call.message.clone();
        let reply = Reply { text, calls, ..Reply::default() };
        let model_reply = ModelReplied {
            message,
            reply,
            offered: offers,
            tool_set,
            dropped: None,
            window: None,
            answer_problem: None,
        };
        Input::ModelReplied(Box::new(model_reply))
    }

    /// Returns the tools listed in the file for this call, and the answer if there is one.
    fn find_file_calls(&self) -> (Vec<String>, String) {
        let Some(agent) = self.run.spec().agent() else { return (Vec::new(), String::new()) };
        if self.call.message == MessageId::after() {
            let answer = self.run.conversation().final_text();
            return (agent.after.iter().cloned().collect(), answer);
        }
        (agent.before.clone(), String::new())
    }

    fn collect_arguments(&self, answer: &str) -> Map<String, Value> {
        let spec = self.run.spec();
        let mut arguments = spec.arguments.clone();
        arguments.extend(spec.argument(TASK_ARGUMENT).map(|task| (TASK_ARGUMENT.to_owned(), task)));
        if !answer.is_empty() {
            arguments.insert(ANSWER_ARGUMENT.to_owned(), answer.into());
        }
        arguments
    }
}

/// Returns the arguments that the tool declares.
fn pick_known(arguments: &Map<String, Value>, spec: &ToolSpec) -> Map<String, Value> {
    let properties = spec.schema.get("properties").and_then(Value::as_object);
    let is_known =
        |name: &String| properties.is_some_and(|properties| properties.contains_key(name));
    let parameters = arguments.iter().filter(|(name, _)| is_known(name));
    parameters.map(|(name, value)| (name.clone(), value.clone())).collect()
}
