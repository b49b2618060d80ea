//! Human requests, with the fields of the JoyAgent design's `HumanFeedbackRequest` and
//! `ParameterModificationRequest`.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::{AgentResponse, Translator, lane_of};
use crate::open_requests::changeable_parameters;
use djinn_core::entry::Entry;
use djinn_core::estimate::Estimate;
use djinn_core::human::{HumanRequest, HumanResponse, ResponseRecord, Subject};
use djinn_core::language::Language;
use djinn_core::tool::Risk;
use djinn_messages::Wording;

/// A look-up of the JSON Schema of a tool's arguments, with a description of each.
#[derive(Clone)]
pub struct ToolSchemas(Arc<FindSchema>);

type FindSchema = dyn Fn(&str, Language) -> Option<Value> + Send + Sync;

impl ToolSchemas {
    /// Creates the look-up from `find`, a function of the tool's name and a language.
    pub fn new(find: impl Fn(&str, Language) -> Option<Value> + Send + Sync + 'static) -> Self {
        Self(Arc::new(find))
    }
}

impl Translator {
    /// Returns an event for each human request, so that users can respond to each; for a call also with the
    /// changeable arguments.
    pub(super) fn request_events(
        &mut self,
        entry: &Entry,
        reasoning: &str,
        risk: Risk,
        estimate: Estimate,
        requests: &[HumanRequest],
    ) -> Vec<AgentResponse> {
        let mut events = Vec::with_capacity(requests.len() * 2);
        for human_request in requests {
            self.open_requests.add(human_request, None);
            let call = human_request.subject.call().map(|(call, ..)| call);
            let turn = call.and_then(|call| call.message().turn_number()).unwrap_or_default();
            // The other requests of the group have separate events.
            let others = requests.iter().filter(|other| other.id != human_request.id);
            let others = others.map(|other| json!({"feedbackId": other.id}));
            let planned_actions: Vec<Value> =
                planned_action(human_request).into_iter().chain(others).collect();
            let mut request = json!({
                "type": "human_feedback_required",
                "feedbackId": human_request.id,
                "requestId": self.question_label,
                "agentName": agent_name(human_request),
                "currentStep": turn,
                "requestType": request_type(&human_request.subject),
                "requestData": {
                    "plannedActions": planned_actions,
                    "reasoning": reasoning,
                    "riskLevel": risk,
                    "estimatedCost": cost_to_json(estimate),
                    "interrupt": human_request.subject.interrupt(),
                    "digest": human_request.digest,
                },
                "options": self.option_labels(&human_request.subject),
                "timestamp": entry.at_ms,
                "timeout": human_request.expires_at_ms.map_or(0, |until_ms| until_ms - entry.at_ms),
                "agentType": self.agent_type(),
            });
            let link = self.links.response_link(human_request, entry.at_ms);
            if let (Some(members), Some(link)) = (request.as_object_mut(), link) {
                members.insert("link".to_owned(), link.into());
            }
            let id = format!("{}.ask", human_request.id);
            let lane = human_request.child.as_ref().and_then(|_| lane_of(human_request.id.path()));
            let event = self.new_event(&id, "human_feedback_request", entry.at_ms);
            events.push(AgentResponse { result_map: request, lane: lane.clone(), ..event });
            if let Some(parameters) = changeable_parameters(&human_request.subject) {
                let id = format!("{}.parameters", human_request.id);
                let event = self.new_event(&id, "parameter_modification_request", entry.at_ms);
                let result_map = self.modification_body(human_request, &parameters);
                events.push(AgentResponse { result_map, lane, ..event });
            }
        }
        events
    }

    /// Returns the event for a resolved request, by any user or by timeout.
    pub(super) fn response_event(
        &mut self,
        entry: &Entry,
        response: &ResponseRecord,
    ) -> AgentResponse {
        self.open_requests.remove(&response.request);
        let mut answer = json!({
            "type": "human_feedback_answered",
            "feedbackId": response.request,
            "requestId": self.question_label,
            "feedback": response.answer.as_str(),
            "by": response.by,
            "comment": response.comment,
            "timestamp": entry.at_ms,
            "agentType": self.agent_type(),
        });
        let more = match &response.answer {
            HumanResponse::Modify { arguments } => Some(("parameters", json!(arguments))),
            HumanResponse::Say { text: words } => Some(("words", json!(words))),
            HumanResponse::Confirm | HumanResponse::Skip | HumanResponse::Stop => None,
        };
        if let (Some(members), Some((name, value))) = (answer.as_object_mut(), more) {
            members.insert(name.to_owned(), value);
        }
        let event = self.new_event(&entry.id.to_string(), "human_feedback_answered", entry.at_ms);
        AgentResponse { result_map: answer, ..event }
    }

    fn modification_body(
        &self,
        human_request: &HumanRequest,
        arguments: &Map<String, Value>,
    ) -> Value {
        let tool = human_request.subject.call().map(|(_, tool, _)| tool);
        let schema = tool.and_then(|tool| (self.schemas.as_ref()?.0)(tool, self.language));
        let schema = schema.unwrap_or_default();
        let fields = arguments.iter().map(|(name, value)| {
            let of_schema = schema.get("properties").and_then(|members| members.get(name));
            let says = |word| of_schema.and_then(|of_schema| of_schema.get(word)?.as_str());
            let type_of_schema = says("type");
            let description = says("description");
            json!({
                "name": name,
                "type": type_of_schema.unwrap_or_else(|| json_type(value)),
                "currentValue": value,
                "description": description.unwrap_or_else(|| parameter_description(name, self.language)),
            })
        });
        json!({
            "type": "parameter_modification",
            "feedbackId": human_request.id,
            "requestId": self.question_label,
            "currentParameters": arguments,
            "modifiableFields": fields.collect::<Vec<_>>(),
            "agentType": self.agent_type(),
        })
    }

    fn option_labels(&self, about: &Subject) -> Value {
        let [confirm, modify, skip, stop, keep, reword, more, amount, sum_up] = [
            Wording::OptionConfirm,
            Wording::OptionModify,
            Wording::OptionSkip,
            Wording::OptionStop,
            Wording::OptionKeep,
            Wording::OptionReword,
            Wording::OptionMore,
            Wording::OptionAmount,
            Wording::OptionSumUp,
        ]
        .map(|option| option.text(self.language));
        match about {
            Subject::Call { .. } | Subject::StepReview { .. } => {
                json!({"confirm": confirm, "modify": modify, "skip": skip, "stop": stop})
            }
            Subject::ResultReview { .. } => {
                json!({"confirm": keep, "modify": reword, "stop": stop})
            }
            Subject::BudgetExtension { .. } => {
                json!({"confirm": more, "modify": amount, "skip": sum_up, "stop": stop})
            }
            Subject::CallInterrupt { .. } | Subject::ModelInterrupt { .. } => {
                json!({"confirm": confirm, "skip": skip, "stop": stop})
            }
        }
    }
}

fn planned_action(ask: &HumanRequest) -> Option<Value> {
    let parameters = ask.subject.parameters()?;
    let (tool, step) = match &ask.subject {
        Subject::Call { tool, .. } | Subject::CallInterrupt { tool, .. } => (Some(tool), None),
        Subject::StepReview { step, details } | Subject::ResultReview { step, details, .. } => {
            (None, Some((step.to_string(), details)))
        }
        Subject::ModelInterrupt { .. } | Subject::BudgetExtension { .. } => (None, None),
    };
    let mut action = json!({
        "toolName": tool, "parameters": parameters, "risk": ask.risk, "feedbackId": ask.id,
        "estimatedCost": cost_to_json(ask.estimate), "why": ask.reasons,
    });
    if let (Some((step, details)), Value::Object(members)) = (step, &mut action) {
        members.insert("step".to_owned(), step.into());
        members.insert("description".to_owned(), details.as_str().into());
    }
    Some(action)
}

/// Returns the design's three figures and ours; money only if a price is known.
fn cost_to_json(estimate: Estimate) -> Value {
    let mut cost = json!({
        "tokenCost": estimate.tokens,
        "timeCost": estimate.ms.div_ceil(1_000),
        "apiCost": estimate.calls,
        "tokenCostP95": estimate.tokens_p95,
        "timeCostP95": estimate.ms_p95.div_ceil(1_000),
        "samples": estimate.samples,
    });
    if let (Some(money), Value::Object(members)) = (estimate.micro_usd, &mut cost) {
        members.insert("moneyCost".to_owned(), money.into());
    }
    cost
}

fn agent_name(ask: &HumanRequest) -> &'static str {
    match &ask.subject {
        Subject::StepReview { .. } | Subject::ResultReview { .. } => "planning",
        _ if ask.child.is_some() => "executor",
        Subject::Call { .. }
        | Subject::CallInterrupt { .. }
        | Subject::ModelInterrupt { .. }
        | Subject::BudgetExtension { .. } => "react",
    }
}

fn request_type(about: &Subject) -> &'static str {
    match about {
        Subject::Call { .. } => "tool_execution_confirmation",
        Subject::CallInterrupt { .. } => "tool_interrupted",
        Subject::ModelInterrupt { .. } => "model_interrupted",
        Subject::StepReview { .. } => "step_confirmation",
        Subject::ResultReview { .. } => "result_confirmation",
        Subject::BudgetExtension { .. } => "budget_used_up",
    }
}

fn json_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// Returns the description of a parameter of a request that is not a call.
fn parameter_description(name: &str, language: Language) -> &'static str {
    let description = match name {
        "details" => Wording::ParameterDetails,
        "text" => Wording::ParameterText,
        "tokens" => Wording::ParameterTokens,
        "micro_usd" => Wording::ParameterMicroUsd,
        _ => return "",
    };
    description.text(language)
}
