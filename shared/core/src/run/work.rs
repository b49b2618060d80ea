//! The ways of working on a question: the part of a run that differs between modes.
//!
//! Each way has its own file, and one line in `Phase::first`.

#[cfg(test)]
mod tests;

use std::any::Any;
use std::collections::BTreeSet;
use std::fmt::Debug;

use super::child::ChildContext;
use super::progress::WorkUpdate;
use crate::agent::AgentSpec;
use crate::agent_loop::{AgentLoop, TurnUpdate};
use crate::budget::BudgetShare;
use crate::conversation::ConversationItem;
use crate::crash::ActiveEffects;
use crate::effect::{Effect, ToolChoice};
use crate::entry::Event;
use crate::error_code::Failure;
use crate::human::{HumanRequest, ResponseRecord};
use crate::id::{ChildId, EntryId};
use crate::input::{ChildEnded, ModelReplied, RunSpec};
use crate::plan::Plan;
use crate::settings::{RunSettings, SummaryPolicy};
use crate::tool::ToolPolicy;

/// Work on a question, until a summary, an answer or a failure ends the work.
///
/// Each method has a default: the agent that must act next, if any, processes the input. An input is not for
/// this work (`None`) while no agent must act.
pub(super) trait Work: WorkValue {
    /// Returns the agent that must act next; `None` while only children or users act.
    fn agent(&self) -> Option<&AgentLoop>;

    /// Returns the agent that must act next, to be changed.
    fn agent_mut(&mut self) -> Option<&mut AgentLoop>;

    /// Begins the work at the start of the run. `None` for work whose first effect is due from the start.
    fn begin(&mut self, _settings: &RunSettings) -> Option<WorkUpdate> {
        None
    }

    /// Continues work that waits for the plan's file.
    fn on_plan_saved(&mut self) -> Option<WorkUpdate> {
        None
    }

    /// Returns true if a further turn could read a user's message.
    fn reads_messages(&self) -> bool {
        true
    }

    /// Returns the due effects of the work.
    fn due(&self) -> Vec<Effect> {
        self.agent().map(AgentLoop::due).unwrap_or_default()
    }

    /// Returns the tool choice in the agent's turn, counted from 1, with this number of remaining turns.
    fn tool_choice(&self, _turn: u32, _steps_left: u32, _spec: &RunSpec) -> ToolChoice {
        ToolChoice::Auto
    }

    /// Returns the condition for a closing call that writes the answer. `None` if there is no such call: a
    /// child answers with its agent's last message, and so does an agent whose answer has a form.
    fn summary_policy(&self, spec: &RunSpec) -> Option<SummaryPolicy> {
        summary_policy_of(spec)
    }

    /// Returns true if an agent has read text that anybody may have written.
    fn is_tainted(&self) -> bool {
        self.agent().is_some_and(AgentLoop::is_tainted)
    }

    /// Returns the reason for a human request, in the words of the agent.
    fn request_reasoning(&self) -> &str {
        self.agent().map_or("", AgentLoop::open_turn_text)
    }

    /// Returns the failure of an agent that has used up its own turns.
    fn turns_failure(&self, _settings: &RunSettings) -> Option<Failure> {
        None
    }

    /// Returns the plan, with the progress of its steps.
    fn plan(&self) -> Option<&Plan> {
        None
    }

    /// Returns the plan if a user may edit the plan now.
    fn editable_plan(&self) -> Option<&Plan> {
        None
    }

    /// Replaces the plan after a user's edit, with this entry id.
    fn replace_plan(
        &mut self,
        _plan: Plan,
        _entry_id: EntryId,
        _settings: &RunSettings,
    ) -> Option<WorkUpdate> {
        None
    }

    /// Returns the children that may be at work.
    fn running_children(&self) -> Vec<ChildId> {
        self.agent().map(|agent| agent.running_agents().collect()).unwrap_or_default()
    }

    /// Returns the named agent of a child. For an agent that its caller was offered, also returns the SHA-256
    /// of the offered parameters, and the policy.
    fn child_agent(&self, child: &ChildId) -> Option<(&str, Option<(&str, &ToolPolicy)>)> {
        let (call, _, as_offered) = self.agent()?.find_agent_call(child)?;
        Some((&call.tool, Some(as_offered)))
    }

    /// Returns the spec of a child that is due, with its share of the remaining budget.
    fn child_spec(&self, child: &ChildId, context: ChildContext<'_>) -> Option<RunSpec> {
        context.spec_of_call(child, self.agent()?)
    }

    /// Gives every child that can begin its share of the remaining budget, and returns the events for
    /// viewers.
    fn allocate_shares(&mut self, remaining: BudgetShare, spec: &RunSpec) -> Vec<(EntryId, Event)> {
        let agent = self.agent_mut();
        agent.map(|agent| agent.allocate_shares(remaining, spec.places())).unwrap_or_default()
    }

    /// Resets the detection of repeats after a user's message to the agent.
    fn forget_hint(&mut self) {
        self.agent_mut().into_iter().for_each(AgentLoop::forget_hint);
    }

    /// Processes a crash, which `ran` may have caused. `None` if the agent's own call is given up.
    fn on_resumed(&mut self, ran: &ActiveEffects) -> Option<TurnUpdate> {
        let no_update = Some(TurnUpdate::default());
        self.agent_mut().map_or(no_update, |agent| agent.on_resumed(ran))
    }

    /// Processes the agent's reply. Makes at most the first `max_calls` calls.
    fn on_model_replied(
        &mut self,
        replied: &ModelReplied,
        settings: &RunSettings,
        max_calls: u32,
        known_urls: &BTreeSet<String>,
    ) -> Option<WorkUpdate> {
        let agent = self.agent_mut()?;
        let no_answer = |_: &_| None;
        Some(agent.on_model_replied(replied, settings, max_calls, known_urls, no_answer).into())
    }

    /// Processes the end of a child. `None` if the work does not wait for the child.
    fn on_child_ended(&mut self, ended: &ChildEnded, settings: &RunSettings) -> Option<WorkUpdate> {
        self.agent_mut()?.on_child_ended(ended, settings).map(WorkUpdate::from)
    }

    /// Processes a response. `None` if the work does not wait for the response.
    fn resolve_request(
        &mut self,
        request: &HumanRequest,
        response: &ResponseRecord,
        _settings: &RunSettings,
    ) -> Option<WorkUpdate> {
        let agent = self.agent_mut()?;
        agent.resolve_request(&request.id, response).map(WorkUpdate::from)
    }

    /// Ends the work early, and returns the completed work and the ends of open work.
    fn abandon(&mut self) -> AbandonedWork {
        AbandonedWork {
            events: self.agent().map(AgentLoop::abandon_open_calls).unwrap_or_default(),
            items: Vec::new(),
            running: self.running_children(),
        }
    }
}

/// Returns the condition for a closing call that the run's settings and its agent's file define.
pub(super) fn summary_policy_of(spec: &RunSpec) -> Option<SummaryPolicy> {
    let policy = spec.settings.summary_policy.unwrap_or(SummaryPolicy::Always);
    let is_formed = spec.agent().is_some_and(AgentSpec::is_answer_formed);
    (spec.child.is_none() && !is_formed).then_some(policy)
}

/// The remains of work that ended early.
#[derive(Debug, Default)]
pub(super) struct AbandonedWork {
    /// The ends of open calls and children.
    pub(super) events: Vec<(EntryId, Event)>,
    /// The items of the conversation that the work still held.
    pub(super) items: Vec<ConversationItem>,
    /// The children that may be at work.
    pub(super) running: Vec<ChildId>,
}

/// Clones and compares work of any kind.
pub(super) trait WorkValue: Any + Debug + Send + Sync {
    fn clone_boxed(&self) -> Box<dyn Work>;
    fn is_equal(&self, other: &dyn Any) -> bool;
}

impl<W: Work + Clone + PartialEq> WorkValue for W {
    fn clone_boxed(&self) -> Box<dyn Work> {
        Box::new(self.clone())
    }

    fn is_equal(&self, other: &dyn Any) -> bool {
        other.downcast_ref() == Some(self)
    }
}

impl Clone for Box<dyn Work> {
    fn clone(&self) -> Self {
        (**self).clone_boxed()
    }
}

impl PartialEq for dyn Work {
    fn eq(&self, other: &Self) -> bool {
        self.is_equal(other)
    }
}
