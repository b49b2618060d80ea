//! Questions to the user for missing arguments.

use serde_json::{Map, Value, json};

use super::{WorkflowRun, to_progress};
use crate::agent_loop::TurnUpdate;
use crate::entry::Event;
use crate::error_code::{ErrorCode, Failure};
use crate::estimate::Estimate;
use crate::human::{
    ASK_USER, HumanRequest, HumanResponse, Reason, ResponseRecord, Subject, digest_call,
};
use crate::id::{CallId, EntryId, EntryName, HumanRequestId, MessageId};
use crate::run::progress::{Next, WorkUpdate};
use crate::settings::RunSettings;
use crate::tool::Risk;
use crate::workflow::parse_parameter;

/// Maximum questions for one argument.
const MAX_QUESTIONS: u32 = 3;

/// The questions of a workflow for its missing arguments, one at a time.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ParameterQuestions {
    /// The JSON Schemas of the parameters by name.
    properties: Map<String, Value>,
    required: Vec<String>,
    /// The parameter of the open question, and its request.
    open: Option<(String, HumanRequestId)>,
    /// The number of questions so far, and of those for the current parameter.
    count: u32,
    repeats: u32,
}

impl ParameterQuestions {
    /// Creates the questions for the parameters of a JSON Schema.
    pub(super) fn of(parameters: Option<&Value>) -> Self {
        let member = |name: &str| parameters.and_then(|schema| schema.get(name));
        let required = member("required").and_then(Value::as_array).into_iter().flatten();
        Self {
            properties: member("properties")
                .and_then(Value::as_object)
                .cloned()
                .unwrap_or_default(),
            required: required.filter_map(|name| name.as_str().map(str::to_owned)).collect(),
            open: None,
            count: 0,
            repeats: 0,
        }
    }

    /// Returns the names of the parameters.
    pub(super) fn parameters(&self) -> impl Iterator<Item = &str> {
        self.properties.keys().map(String::as_str)
    }

    /// Returns true if the workflow cannot begin without this parameter.
    pub(super) fn is_required(&self, name: &str) -> bool {
        self.required.iter().any(|own| own == name)
    }

    /// Returns the request for the first missing argument, if an argument is missing.
    ///
    /// # Errors
    /// Returns `parameter_missing` if the user may not be asked, or was asked too often.
    pub(super) fn next_missing(
        &mut self,
        arguments: &Map<String, Value>,
        may_ask: bool,
    ) -> Result<Option<Box<HumanRequest>>, Failure> {
        let missing = self.required.iter().find(|name| !arguments.contains_key(*name));
        let Some(name) = missing.cloned() else { return Ok(None) };
        if !may_ask || self.repeats >= MAX_QUESTIONS {
            return Err(Failure::new(ErrorCode::ParameterMissing, format!("`{name}`")));
        }
        self.count += 1;
        self.repeats += 1;
        let call = CallId::nth_of(&MessageId::before(), self.count as usize);
        let questions = json!({"questions": [self.question_about(&name)]});
        let arguments = questions.as_object().cloned().unwrap_or_default();
        let request = HumanRequest {
            id: HumanRequestId::of_call(&call),
            child: None,
            risk: Risk::Low,
            reasons: vec![Reason::Clarification],
            estimate: Estimate::default(),
            digest: digest_call(ASK_USER, &arguments),
            expires_at_ms: None,
            subject: Subject::Call { call, tool: ASK_USER.to_owned(), arguments },
        };
        self.open = Some((name, request.id.clone()));
        Ok(Some(Box::new(request)))
    }

    /// Returns the question about a parameter: its name, its description and its values.
    fn question_about(&self, name: &str) -> String {
        let schema = self.properties.get(name);
        let description = schema.and_then(|schema| schema.get("description")?.as_str());
        let values = schema.and_then(|schema| schema.get("enum")?.as_array());
        let values =
            values.map(|values| values.iter().map(ToString::to_string).collect::<Vec<_>>());
        let question =
            description.map_or_else(|| name.to_owned(), |text| format!("{name}: {text}"));
        match values {
            Some(values) => format!("{question} ({})", values.join(", ")),
            None => question,
        }
    }
}

impl WorkflowRun {
    /// Processes the response to the question for an argument. `None` if no such question is open.
    pub(super) fn resolve_parameter(
        &mut self,
        ask: &HumanRequest,
        response: &ResponseRecord,
        settings: &RunSettings,
    ) -> Option<WorkUpdate> {
        let (name, _) = self.questions.open.take_if(|(_, request)| *request == ask.id)?;
        let value = match &response.answer {
            HumanResponse::Say { text } => {
                parse_parameter(self.questions.properties.get(&name), text)
            }
            HumanResponse::Modify { arguments } => arguments.get(&name).cloned(),
            HumanResponse::Confirm | HumanResponse::Skip | HumanResponse::Stop => {
                let failure = Failure::new(ErrorCode::ParameterMissing, format!("`{name}`"));
                return Some(to_progress(TurnUpdate::default(), Next::Fail(failure)));
            }
        };
        if let Some(value) = value {
            self.arguments.insert(name, value);
            self.questions.repeats = 0;
        }
        let before = self.plan.clone();
        self.write_plan();
        let mut update = TurnUpdate::default();
        let next = self.ask_or_start(settings, &mut update);
        if self.plan != before
            && let Some(plan) = self.plan.clone()
            && let Some((call, _, _)) = ask.subject.call()
        {
            let id = EntryId::of_call(call, EntryName::CallPlan);
            update.events.insert(0, (id, Event::PlanChanged { plan }));
        }
        Some(to_progress(update, next))
    }
}
