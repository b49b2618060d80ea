//! Digital employees: roles for a child's tools, so that viewers see a team at work.
//!
//! One model call names a role for each tool. The call is made beside the child's turns and only for display.
//! The child continues without its result, and does not wait for the call at its end.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::concern::{Concern, Taken};
use crate::agent_loop::Attempts;
use crate::crash::ActiveEffects;
use crate::effect::{Effect, ToolChoice};
use crate::entry::Event;
use crate::id::{EntryId, EntryName, MessageId};
use crate::input::{AttemptFailed, Input, ModelChanged, ModelReplied, RunSpec};
use crate::settings::Role;

/// Maximum bytes of a role's name: about 13 characters in Chinese, and 40 in English.
const MAX_ROLE_NAME: usize = 40;

/// Maximum tools with a role.
const MAX_ROLES: usize = 64;

/// The call that names the roles, while it is due.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Employees {
    open: Option<Attempts>,
}

impl Employees {
    /// Creates the call of a child that works on a step, if its settings enable roles.
    pub(super) fn of(spec: &RunSpec) -> Self {
        let is_task = spec.child.is_some() && spec.agent().is_none();
        let has_employees = is_task && spec.settings.plan.employees;
        Self { open: has_employees.then(Attempts::default) }
    }

    fn on_attempt_failed(&mut self, failed: &AttemptFailed) -> Taken {
        let open = self.open.as_mut().filter(|open| open.next_number() == failed.attempt);
        let Some(attempts) = open else { return Taken::default() };
        attempts.record_failures(failed);
        self.open.take_if(|open| failed.counts_as_crash && open.is_suspect());
        Taken { usage: Some(failed.usage), ..Taken::silently_if(true) }
    }

    fn on_model_changed(&mut self, changed: &ModelChanged) -> Taken {
        let attempts = self.open.as_mut();
        let switch = attempts
            .and_then(|attempts| attempts.switch_to_fallback(&changed.to, &changed.failure));
        Taken::silently_if(switch.is_some())
    }

    fn on_model_replied(&mut self, replied: &ModelReplied) -> Taken {
        if self.open.take().is_none() {
            return Taken::default();
        }
        let roles = parse_roles(replied);
        let usage = replied.reply.usage;
        let event = (!roles.is_empty()).then(|| {
            (
                EntryId::of_message(&replied.message, EntryName::Message),
                Event::EmployeesNamed { roles, usage },
            )
        });
        Taken { is_awaited: true, usage: Some(usage), event }
    }
}

impl Concern for Employees {
    fn take_input(&mut self, input: &Input) -> Option<Taken> {
        input.model_message().filter(|message| message.is_employees())?;
        Some(if let Input::AttemptFailed(failed) = input {
            self.on_attempt_failed(failed)
        } else if let Input::ModelChanged(changed) = input {
            self.on_model_changed(changed)
        } else if let Input::ModelReplied(replied) = input {
            self.on_model_replied(replied)
        } else {
            // The work continues without roles after a permanent failure or an interrupt.
            Taken::silently_if(self.open.take().is_some())
        })
    }

    fn due(&self) -> Option<Effect> {
        let attempts = self.open.as_ref()?;
        Some(Effect::CallModel(attempts.to_call(
            MessageId::employees(),
            Role::Employees,
            ToolChoice::None,
        )))
    }

    /// Gives the call up before it would run alone, because the work must not wait for the call.
    fn on_resumed(&mut self, ran: &ActiveEffects) {
        if ran.has_message(&MessageId::employees()) {
            self.open.take_if(|open| {
                open.record_crash();
                open.is_suspect()
            });
        }
    }

    fn close(&mut self) {
        self.open = None;
    }
}

/// Parses the roles of a reply by tool name. Ignores names of other tools and all other text.
fn parse_roles(replied: &ModelReplied) -> BTreeMap<String, String> {
    let is_tool = |name: &String| replied.offered.iter().any(|tool| tool.name == *name);
    let roles = parse_object(&replied.reply.text).into_iter().filter_map(|(tool, role)| {
        let role = role.as_str()?.trim();
        (is_tool(&tool) && is_role_name(role)).then(|| (tool, role.to_owned()))
    });
    roles.take(MAX_ROLES).collect()
}

/// Parses the JSON object in a text: the first JSON block, or the text between the outer braces.
fn parse_object(text: &str) -> Map<String, Value> {
    let code_block = text.split_once("```json").map(|(_, rest)| rest);
    let text = code_block.map_or(text, |rest| rest.split("```").next().unwrap_or(rest));
    let object = text.find('{').zip(text.rfind('}'));
    let object = object.and_then(|(start, end)| text.get(start..=end)).unwrap_or_default();
    serde_json::from_str(object).unwrap_or_default()
}

fn is_role_name(role: &str) -> bool {
    (1..=MAX_ROLE_NAME).contains(&role.len()) && !role.contains(char::is_control)
}
