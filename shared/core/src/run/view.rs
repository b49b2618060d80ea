//! Read access to a run.

use std::borrow::Cow;
use std::sync::Arc;

use super::child::ChildContext;
use super::time_limit::TimeLimits;
use djinn_text::deliverables::Deliverables;

use super::transition::url_origins;
use super::work::Work;
use super::{Phase, Run};
use crate::agent::AnswerFormat;
use crate::budget::{Budget, Spending};
use crate::conversation::{CompactionRange, Conversation, ConversationItem, Nudge};
use crate::effect::{Delivery, Effect, Limit};
use crate::file::FileList;
use crate::human::{HumanRequest, Resolution, ResponseError, ResponseRecord};
use crate::id::{CallId, ChildId, HumanRequestId};
use crate::input::{ChildEnded, ChildRequest, PlanEdit, RunSpec};
use crate::plan::{Plan, PlanError};
use crate::settings::SummaryPolicy;
use crate::status::RunStatus;
use crate::tool::{ToolPolicy, ToolSetHash};
use crate::verdict::Ensemble;
use djinn_text::images::TextForm;
use djinn_text::urls::Urls;

impl Run {
    /// Returns the question and everything fixed at the start of the run.
    #[must_use]
    pub fn spec(&self) -> &RunSpec {
        &self.spec
    }

    /// Returns the time of the question, Unix milliseconds.
    #[must_use]
    pub fn started_at_ms(&self) -> i64 {
        self.started_at_ms
    }

    /// Returns the current status of the run.
    #[must_use]
    pub fn status(&self) -> RunStatus {
        match &self.phase {
            Phase::Ended(ended) => ended.status,
            _ if self.human_requests.pause().is_paused() => RunStatus::Paused,
            Phase::Working(_) | Phase::Closing(_) => RunStatus::Running,
        }
    }

    /// Returns the tool of a call that is due.
    #[must_use]
    pub fn owed_tool(&self, call: &CallId) -> Option<String> {
        self.due().into_iter().find_map(|effect| {
            let Effect::RunTool(run) = effect else { return None };
            (run.call.id == *call).then_some(run.call.tool)
        })
    }

    /// Returns true if the whole URL appeared in the user's words, or in a result before a model of the run
    /// wrote it. A request for a known URL reveals nothing that the run has read.
    #[must_use]
    pub fn knows_url(&self, url: &str) -> bool {
        url_origins(self, &[]).is_known(url)
    }

    /// Returns the form of the models' texts. An agent whose answer is a document or a value writes source.
    #[must_use]
    pub fn text_form(&self) -> TextForm {
        match self.spec.agent().map(|agent| &agent.answer) {
            None | Some(AnswerFormat::Text) => TextForm::Message,
            Some(AnswerFormat::File | AnswerFormat::Json(_)) => TextForm::Source,
        }
    }

    /// Returns true if the next reply continues a text that was cut off.
    #[must_use]
    pub fn continues_text(&self) -> bool {
        let last = self.conversation.items.last();
        matches!(last, Some(ConversationItem::Nudge(Nudge::CutOff)))
    }

    /// Returns true if a record of the journal holds this tool set.
    #[must_use]
    pub fn has_tool_set(&self, hash: &ToolSetHash) -> bool {
        self.tool_sets.contains(hash)
    }

    /// Returns the conversation so far; [`Self::model_view`] returns the model's form.
    #[must_use]
    pub fn conversation(&self) -> &Conversation {
        &self.conversation
    }

    /// Returns the part of the conversation that is being summed up.
    #[must_use]
    pub fn compaction_range(&self) -> Option<CompactionRange> {
        self.compaction.range()
    }

    /// Returns the run as its model sees it. [`Self::urls`] expands the placeholders in the model's output.
    #[must_use]
    pub fn model_view(&self) -> Cow<'_, Self> {
        if self.urls().is_empty() {
            return Cow::Borrowed(self);
        }
        let mut view = self.clone();
        view.spec = Arc::new(self.urls.compress_spec(&self.spec).into_owned());
        view.conversation = self.urls.compress_conversation(&self.conversation).into_owned();
        view.files = self.files.with_view(|files| self.urls.compress_files(files));
        Cow::Owned(view)
    }

    /// Returns the long URLs that have placeholders in the model view.
    #[must_use]
    pub fn urls(&self) -> &Urls {
        self.urls.urls()
    }

    /// Returns true if the run has read text that anybody may have written. Sources of such text are: a tool;
    /// names and descriptions of other writers' files; another user's question in the session and its answer;
    /// an answer that depends on such text.
    #[must_use]
    pub fn is_tainted(&self) -> bool {
        self.tainted || self.phase.work().is_some_and(Work::is_tainted)
    }

    /// Returns every file that the agent can read.
    #[must_use]
    pub fn files(&self) -> &FileList {
        self.files.readable()
    }

    /// Returns the files that this run wrote.
    #[must_use]
    pub fn produced_files(&self) -> &FileList {
        self.files.produced()
    }

    /// Returns the names of the run's files.
    #[must_use]
    pub fn deliverables(&self) -> Deliverables {
        self.files.deliverables()
    }

    /// Returns the spending so far.
    #[must_use]
    pub fn spending(&self) -> &Spending {
        self.ledger.spending()
    }

    /// Returns the budget of the run and its tasks, including top-ups.
    #[must_use]
    pub fn budget(&self) -> Budget {
        self.ledger.budget(&self.spec)
    }

    /// Returns the time at which the wall-time budget is used up, Unix milliseconds.
    #[must_use]
    pub fn wall_time_deadline_ms(&self) -> i64 {
        self.time_limits().wall_ms()
    }

    /// Returns the next limit and its time, Unix milliseconds. `None` for an ended run.
    #[must_use]
    pub fn next_limit(&self) -> Option<(Limit, i64)> {
        let limits = self.time_limits();
        let (limit, at_ms) = match &self.phase {
            Phase::Ended(_) => return None,
            _ if self.summary_policy().is_some() => (Limit::WorkTime, limits.work_ms()),
            Phase::Working(_) | Phase::Closing(_) => (Limit::WallTime, limits.wall_ms()),
        };
        // The clock stands still while the run only waits for users.
        let is_paused = self.human_requests.pause().is_paused();
        Some((limit, if is_paused { i64::MAX } else { at_ms }))
    }

    /// Returns the time of the first repeated call that waits for a provider, Unix milliseconds.
    #[must_use]
    pub fn next_retry_ms(&self) -> Option<i64> {
        Effect::next_retry_ms(&self.due())
    }

    fn time_limits(&self) -> TimeLimits {
        let paused_ms = self.human_requests.pause().ended_ms();
        TimeLimits::of(&self.spec, &self.budget(), self.started_at_ms, paused_ms)
    }

    /// Returns the used wall time of a run that has not ended, until `at_ms`, in milliseconds. Excludes
    /// pauses, in which the run only waited for users.
    #[must_use]
    pub fn wall_ms(&self, at_ms: i64) -> u64 {
        let took_ms = at_ms.saturating_sub(self.started_at_ms).max(0).unsigned_abs();
        took_ms.saturating_sub(self.human_requests.pause().total_ms(at_ms))
    }

    /// Returns the condition for a closing call that writes the answer. `None` if no such call may follow.
    #[must_use]
    pub(super) fn summary_policy(&self) -> Option<SummaryPolicy> {
        self.phase.work()?.summary_policy(&self.spec)
    }

    /// Returns true for a run below another run.
    #[must_use]
    pub fn is_child(&self) -> bool {
        self.spec.child.is_some()
    }

    /// Returns the spec of a child that is due, with its share of the remaining budget. `None` for other
    /// children. [`RunSpec::with_agent`] adds the child's agent.
    #[must_use]
    pub fn child_spec(&self, child: &ChildId) -> Option<RunSpec> {
        let context = ChildContext {
            spec: &self.spec,
            conversation: &self.conversation,
            files: self.files.list_for_child(),
            deadline_ms: self.time_limits().children_ms(),
            tainted: self.is_tainted(),
        };
        self.phase.work()?.child_spec(child, context)
    }

    /// Returns the named agent of a child. For an agent that its caller was offered, also returns the SHA-256
    /// of the offered parameters, and the policy.
    #[must_use]
    pub fn agent_of(&self, child: &ChildId) -> Option<(&str, Option<(&str, &ToolPolicy)>)> {
        self.phase.work()?.child_agent(child)
    }

    /// Returns the answers that the agent at work judges. `None` if the agent judges no answers.
    #[must_use]
    pub fn ensemble(&self) -> Option<&Ensemble> {
        self.phase.work()?.agent()?.ensemble()
    }

    /// Returns the children that may be at work.
    #[must_use]
    pub fn running_children(&self) -> Vec<ChildId> {
        self.phase.work().map(Work::running_children).unwrap_or_default()
    }

    /// Returns the result that an ended task owes its run.
    #[must_use]
    pub fn child_result(&self) -> Option<&ChildEnded> {
        let Phase::Ended(ended) = &self.phase else { return None };
        ended.child_result.as_deref()
    }

    /// Returns the plan for the plan's file.
    #[must_use]
    pub fn plan(&self) -> Option<&Plan> {
        self.concerns.plan_file.plan()
    }

    /// Returns the plan's version: the number of changes, not counting the progress of its steps.
    #[must_use]
    pub fn plan_version(&self) -> u32 {
        self.concerns.plan_file.version()
    }

    /// Returns the current plan, with the progress of its steps.
    #[must_use]
    pub fn current_plan(&self) -> Option<&Plan> {
        self.phase.plan().or_else(|| self.plan())
    }

    /// Returns the plan after an edit. `None` if no plan can be edited now: during the planner's turn, only
    /// the planner can change the plan.
    #[must_use]
    pub fn edited_plan(&self, edit: &PlanEdit) -> Option<Result<Plan, PlanError>> {
        // A reply of the planner that is on its way does not know the edit and could undo it.
        let plan = self.phase.work()?.editable_plan()?;
        let max_steps = self.spec.settings.plan.max_steps as usize;
        // A workflow's plan may have more steps than a planner may write.
        let max_steps = max_steps.max(plan.steps().len());
        Some(plan.with_edits(&edit.title, &edit.steps, max_steps))
    }

    /// Returns true if the run has another turn, and room, for a user's message.
    #[must_use]
    pub fn accepts_messages(&self) -> bool {
        let reads_messages = self.phase.work().is_some_and(Work::reads_messages);
        reads_messages && !self.is_child() && self.messages.has_room()
    }

    /// Returns true if the run has received this message or change.
    #[must_use]
    pub fn has_seen_id(&self, id: &str) -> bool {
        self.messages.has_seen(id)
    }

    /// Returns texts that users wrote into the plan: titles, stages and steps, including removed texts.
    pub fn user_plan_texts(&self) -> impl Iterator<Item = &str> {
        self.messages.plan_texts()
    }

    /// Returns the open human requests.
    pub fn pending_requests(&self) -> impl Iterator<Item = &HumanRequest> {
        self.human_requests.pending()
    }

    /// Returns the response to a request. `None` while the request is open, and if it is no longer relevant.
    #[must_use]
    pub fn resolution(&self, request: &HumanRequestId) -> Option<&Resolution> {
        self.human_requests.resolution(request)
    }

    /// Returns true if the run may have a timer, because it has sent a human request or waited for a
    /// provider.
    #[must_use]
    pub fn may_have_timer(&self) -> bool {
        self.has_delayed || self.human_requests.has_ever_requested()
    }

    /// Returns the requests that a response would resolve.
    ///
    /// # Errors
    /// Returns [`ResponseError`] if no open request matches, or if the request was resolved before.
    pub fn match_response(
        &self,
        response: &ResponseRecord,
    ) -> Result<Vec<HumanRequest>, ResponseError> {
        self.human_requests.match_response(response)
    }

    /// Returns true if this response resolved a request.
    #[must_use]
    pub fn is_resolved_by(&self, answer_id: &str) -> bool {
        self.human_requests.is_resolved_by(answer_id)
    }

    /// Returns the request that expires first, with its expiry in Unix milliseconds.
    #[must_use]
    pub fn next_expiry(&self) -> Option<(&HumanRequestId, i64)> {
        let expiring =
            self.pending_requests().filter_map(|open| Some((&open.id, open.expires_at_ms?)));
        expiring.min_by_key(|(_, at_ms)| *at_ms)
    }

    /// Returns this task's human requests for its run.
    #[must_use]
    pub fn child_request(&self) -> Option<ChildRequest> {
        let child = &self.spec.child.as_ref()?.child;
        Some(self.human_requests.to_child_request(child, self.phase.request_reasoning()))
    }

    /// Returns a response that is owed to a task, with the task's own request id.
    #[must_use]
    pub fn response_for_child(
        &self,
        request: &HumanRequestId,
    ) -> Option<(&ChildId, ResponseRecord)> {
        let (child, response) = self.human_requests.response_for_child(request)?;
        let request = request.within_child(child)?;
        Some((child, ResponseRecord { request, ..response.clone() }))
    }

    /// Returns true if only users' responses are due.
    pub(super) fn is_awaiting_humans(&self) -> bool {
        if self.human_requests.pending().next().is_none() || self.status() == RunStatus::Failed {
            return false;
        }
        self.due().iter().all(|effect| match effect {
            Effect::AwaitHuman(_) | Effect::Wait { .. } => true,
            Effect::RunChild(dispatch) => dispatch.waits,
            // A task that tells its run about its wait does no work.
            Effect::Deliver(delivery) => matches!(delivery, Delivery::ChildRequest(_)),
            _ => false,
        })
    }
}
