//! Digital employees: who does what each tool does for a task, so that viewers see a team at work.
//!
//! One model call names a role for each tool. It is made beside the task's own turns and only for
//! show: whatever comes of it, the task goes on as it would without, and at its end nobody waits for
//! it.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::Run;
use crate::agent_loop::Attempts;
use crate::crash::{ActiveEffects, MAX_CRASHES};
use crate::effect::{Effect, ModelCall, ToolChoice};
use crate::entry::Event;
use crate::id::MessageId;
use crate::input::{ModelReplied, RunSpec};
use crate::settings::Role;

/// The most bytes of a role's name: about 13 characters in Chinese, and 40 in English.
const MAX_ROLE_NAME: usize = 40;

/// The most tools that have a role.
const MAX_ROLES: usize = 64;

/// The call that names the roles, while it is owed.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Employees {
    open: Option<Attempts>,
}

impl Employees {
    /// Only a task has them, and only where its settings say so.
    pub(super) fn new(asked: &RunSpec) -> Self {
        let wanted = asked.child.is_some() && asked.settings.plan.employees;
        Self { open: wanted.then(Attempts::default) }
    }

    pub(super) fn due_call(&self) -> Option<Effect> {
        self.open.as_ref().map(|attempts| {
            Effect::CallModel(ModelCall {
                message: MessageId::employees(),
                role: Role::Employees,
                attempt: attempts.next_number(),
                failures: attempts.failures,
                crashes: attempts.crashes,
                retries: attempts.retries(),
                fallback: attempts.fallback().cloned(),
                tool_choice: ToolChoice::None,
                interrupts: 0,
                waits: false,
            })
        })
    }

    /// The attempts at the call, while it is owed.
    pub(super) fn attempts(&mut self) -> Option<&mut Attempts> {
        self.open.as_mut()
    }

    /// Attempts failed, so many, the last perhaps while its process stood still. Whether that was the one
    /// that is owed.
    pub(super) fn on_attempt_failed(&mut self, attempt: u32, failed: (u32, bool)) -> bool {
        let open = self.attempts().filter(|open| open.next_number() == attempt);
        open.map(|open| open.record_failures(failed.0, failed.1)).is_some()
    }

    /// The driver died. The call is given up where others would be done by themselves: nobody is to
    /// wait for it.
    pub(super) fn on_resumed(&mut self, ran: &ActiveEffects) {
        if ran.has_message(&MessageId::employees()) {
            self.open.take_if(|open| {
                open.crashes += 1;
                open.crashes + 1 >= MAX_CRASHES
            });
        }
    }

    /// Nobody waits for the call any more. Whether somebody did.
    pub(super) fn close(&mut self) -> bool {
        self.open.take().is_some()
    }
}

impl Run {
    /// Takes the reply that names the roles. `None` if it is not waited for.
    pub(super) fn on_employees_named(
        &mut self,
        replied: &ModelReplied,
    ) -> Option<Vec<(String, Event)>> {
        self.employees.close().then_some(())?;
        let usage = replied.reply.usage;
        self.spending.add_model_call(&usage);
        let roles = parse_roles(replied);
        let named = (!roles.is_empty()).then_some(Event::EmployeesNamed { roles, usage });
        Some(named.map(|named| (replied.message.to_string(), named)).into_iter().collect())
    }
}

/// The roles that a reply gives the tools it was told of, by their tools. Of whatever else it says
/// nothing remains.
fn parse_roles(replied: &ModelReplied) -> BTreeMap<String, String> {
    let is_tool = |name: &String| replied.offered.iter().any(|tool| tool.name == *name);
    let named = parse_object(&replied.reply.text).into_iter().filter_map(|(tool, role)| {
        let role = role.as_str()?.trim();
        (is_tool(&tool) && is_role_name(role)).then(|| (tool, role.to_owned()))
    });
    named.take(MAX_ROLES).collect()
}

/// The JSON object in a text: what stands in its block of JSON, or what begins and ends with braces.
fn parse_object(text: &str) -> Map<String, Value> {
    let fenced = text.split_once("```json").map(|(_, rest)| rest);
    let text = fenced.map_or(text, |rest| rest.split("```").next().unwrap_or(rest));
    let object = text.find('{').zip(text.rfind('}'));
    let object = object.and_then(|(start, end)| text.get(start..=end)).unwrap_or_default();
    serde_json::from_str(object).unwrap_or_default()
}

fn is_role_name(role: &str) -> bool {
    (1..=MAX_ROLE_NAME).contains(&role.len()) && !role.contains(char::is_control)
}
