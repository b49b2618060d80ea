//! Calls to agents. A run one level down answers each call, with a share of its caller's remaining budget.

use djinn_text::truncate::truncate_text;
use serde_json::Value;

use super::open_turn::{AgentShare, OpenCall, result_event};
use super::{AgentLoop, LoopStage, TurnUpdate};
use crate::budget::{BudgetShare, split_places};
use crate::entry::Event;
use crate::id::{ChildId, EntryId, EntryName};
use crate::input::{ChildEnded, FinishReason};
use crate::settings::{Role, RunSettings};
use crate::status::RunStatus;
use crate::tool::{ToolArguments, ToolCall, ToolFailure, ToolOutput, ToolPolicy, ToolResult};

/// The minimum number of parts into which the budget is split; the caller keeps one part.
const MIN_PARTS: u32 = 4;

/// Maximum bytes of the one-line description of an agent call.
const MAX_DESCRIPTION: usize = 500;

impl AgentLoop {
    /// Gives each agent that can begin its share of `remaining`, and returns the events of their
    /// starts. Other agents keep their shares until they end. The caller keeps a quarter, or an equal part if it
    /// is less: halves would leave nothing four levels down.
    pub fn allocate_shares(
        &mut self,
        remaining: BudgetShare,
        places: u32,
    ) -> Vec<(EntryId, Event)> {
        let LoopStage::Acting(turn) = &mut self.stage else { return Vec::new() };
        let open = || turn.calls.iter().filter(|open| open.child_id().is_some());
        let child_count = u32::try_from(open().count()).unwrap_or(u32::MAX);
        let shares = open().filter_map(|open| open.share);
        let holding = u32::try_from(shares.clone().count()).unwrap_or(u32::MAX);
        let mut free = shares.fold(remaining, |free, share| free.minus(share.budget));
        let (at_once, places) = split_places(places, child_count);
        let next = child_count.min(at_once).saturating_sub(holding);
        let reserve = free.equal_part((next + 1).max(MIN_PARTS), u32::MAX);
        let budget = free.minus(reserve).equal_part(next, u32::MAX);
        let share = AgentShare { budget, places, alone: at_once == 1 };
        let mut events = Vec::new();
        let waiting_calls = turn.calls.iter_mut().filter(|open| open.share.is_none());
        let waiting_calls = waiting_calls.filter_map(|open| Some((open.child_id()?, open)));
        for (child, open) in waiting_calls.take(next as usize) {
            if free.is_used_up() {
                break;
            }
            open.share = Some(share);
            free = free.minus(budget);
            events.push(start_event(child, &open.call));
        }
        events
    }

    /// Returns true if an agent call waits for a share.
    #[must_use]
    pub fn has_queued_agents(&self) -> bool {
        let is_queued = |open: &OpenCall| open.child_id().is_some() && open.share.is_none();
        self.open_calls().iter().any(is_queued)
    }

    /// Returns the runs that may be at work.
    pub fn running_agents(&self) -> impl Iterator<Item = ChildId> {
        let running = self.open_calls().iter().filter(|open| open.share.is_some());
        running.filter_map(OpenCall::child_id)
    }

    /// Returns the call that a run answers, if the run may begin, with its share. Also returns the SHA-256 of
    /// the parameters with which the agent was offered, and its policy.
    #[must_use]
    pub fn find_agent_call(
        &self,
        child: &ChildId,
    ) -> Option<(&ToolCall, AgentShare, (&str, &ToolPolicy))> {
        let open = self.open_calls().iter().find(|open| open.child_id().as_ref() == Some(child))?;
        Some((&open.call, open.share?, (&open.schema_hash, &open.policy)))
    }

    /// Returns the role whose model works as a child, in place of the agent's own role.
    #[must_use]
    pub fn child_model(&self, child: &ChildId) -> Option<Role> {
        self.open_calls().iter().find(|open| open.child_id().as_ref() == Some(child))?.model
    }

    /// Processes the end of a run that answers a call. `None` if no call waits for the run.
    pub fn on_child_ended(
        &mut self,
        ended: &ChildEnded,
        settings: &RunSettings,
    ) -> Option<TurnUpdate> {
        let LoopStage::Acting(turn) = &mut self.stage else { return None };
        let is_it = |open: &&mut OpenCall| open.child_id().as_ref() == Some(&ended.report.child);
        let open = turn.calls.iter_mut().find(is_it)?;
        let result = result_of(ended, settings);
        let end = EntryId::of_child(ended.report.child.clone(), EntryName::End);
        let mut update = TurnUpdate::default();
        update.events.push((end, Event::child_ended(ended)));
        update.events.push(result_event(&open.call, &result));
        open.result = Some(result);
        self.tainted |= ended.tainted;
        self.add_candidate(ended);
        self.close_turn_if_complete(FinishReason::Done, &mut update);
        Some(update)
    }

    fn open_calls(&self) -> &[OpenCall] {
        match &self.stage {
            LoopStage::Acting(turn) => &turn.calls,
            LoopStage::Thinking(_) => &[],
        }
    }
}

/// Returns the result of a run as the result of its call.
fn result_of(ended: &ChildEnded, settings: &RunSettings) -> ToolResult {
    if ended.status == RunStatus::Stopped {
        // The result equals that of a caller that was stopped before the run.
        return ToolResult::Failed { reason: ToolFailure::Stopped, detail: String::new() };
    }
    if !ended.report.done {
        let detail = ended.report.full_text(settings.language).into_owned();
        return ToolResult::Failed { reason: ToolFailure::Error, detail };
    }
    // The answer of a child that can be chosen may be longer than a result.
    let max_chars = settings.max_result_chars as usize;
    let text = ended.report.text.chars().take(max_chars).collect::<String>();
    ToolResult::Done(ToolOutput {
        full_output: ended.full_output.clone(),
        files: ended.files.iter().filter(|file| !file.internal).cloned().collect(),
        known_urls: ended.report.known_urls.as_slice().into(),
        ..ToolOutput::from_text(text)
    })
}

fn start_event(child: ChildId, call: &ToolCall) -> (EntryId, Event) {
    let id = EntryId::of_child(child.clone(), EntryName::Start);
    let description = describe_call(call);
    let agent = call.tool.clone();
    (id, Event::ChildStarted { child, description, agent })
}

/// Returns the work of an agent call in one line: the argument `task`, or all arguments.
pub(crate) fn describe_call(call: &ToolCall) -> String {
    let ToolArguments::Parsed(arguments) = &call.arguments else { return String::new() };
    let task = arguments.get("task").and_then(Value::as_str);
    let text = task.map_or_else(|| Value::Object(arguments.clone()).to_string(), str::to_owned);
    truncate_text(&text.split_whitespace().collect::<Vec<_>>().join(" "), MAX_DESCRIPTION)
}

/// Returns the end event of an agent call that has a result without a run; `None` for other calls.
pub(super) fn no_run_event(open: &OpenCall) -> Option<(EntryId, Event)> {
    let (id, event) = stop_event(open)?;
    Some((id, event.with_child_status(RunStatus::Failed)))
}

/// Returns the end event of a run that answers a call, for the end of its caller. `None` if viewers have not
/// seen the run's start.
pub(super) fn stop_event(open: &OpenCall) -> Option<(EntryId, Event)> {
    let child = open.child_id().filter(|_| open.share.is_some())?;
    let id = EntryId::of_child(child.clone(), EntryName::End);
    Some((id, Event::child_stopped(child)))
}
