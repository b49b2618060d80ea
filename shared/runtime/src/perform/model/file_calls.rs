//! The tool calls listed in an agent's file, as if requested by a model.

use std::collections::BTreeSet;

use djinn_core::agent::{ANSWER_ARGUMENT, CallBefore, TASK_ARGUMENT};
use djinn_core::id::MessageId;
use djinn_core::input::{Input, ModelReplied, Reply, RequestedCall};
use djinn_core::settings::ModelChoice;
use djinn_core::tool::{ToolArguments, ToolSetRef, ToolSpec};
use serde_json::{Map, Value};

use super::ModelExecution;
use crate::estimates::estimate_tools;
use crate::port::model::Model;
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
        let (file_calls, text) = self.find_file_calls();
        let names: BTreeSet<&str> = file_calls.iter().map(CallBefore::name).collect();
        let specs: Vec<ToolSpec> =
            names.iter().filter_map(|name| Some(tools.find_tool(name)?.spec(language))).collect();
        let arguments = self.collect_arguments(&text);
        let calls: Vec<RequestedCall> = file_calls
            .iter()
            .map(|call| {
                let spec = specs.iter().find(|spec| spec.name == call.name());
                let arguments = spec.map_or_else(Map::new, |spec| pick_known(&arguments, spec));
                let tool = call.name().to_owned();
                let arguments = ToolArguments::Parsed(arguments);
                RequestedCall { tool, arguments, model: call.model() }
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

    /// Returns the calls that the file defines at this point, and the answer if there is one. An agent with the
    /// model of a role is left out if the deployment has no model for the role.
    fn find_file_calls(&self) -> (Vec<CallBefore>, String) {
        let Some(agent) = self.run.spec().agent() else { return (Vec::new(), String::new()) };
        if self.call.message == MessageId::after() {
            let answer = self.run.conversation().final_text();
            return (agent.after.iter().cloned().map(CallBefore::Name).collect(), answer);
        }
        let has_model = |call: &&CallBefore| {
            let role = call.model();
            role.is_none_or(|role| self.ports.model().name(role, ModelChoice::Primary).is_some())
        };
        (agent.before.iter().filter(has_model).cloned().collect(), String::new())
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
