//! What of a run others read.

use std::borrow::Cow;

use super::child::ChildContext;
use super::time_limit::TimeLimits;
use djinn_text::deliverables::Deliverables;

use super::transition::url_origins;
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
use crate::settings::Mode;
use crate::status::RunStatus;
use crate::tool::{ToolPolicy, ToolSetHash};
use djinn_text::images::TextForm;
use djinn_text::urls::Urls;

impl Run {
    /// The question, and all that was fixed when the run started.
    #[must_use]
    pub fn spec(&self) -> &RunSpec {
        &self.spec
    }

    /// When it was asked, Unix milliseconds.
    #[must_use]
    pub fn started_at_ms(&self) -> i64 {
        self.started_at_ms
    }

    /// Where the run stands.
    #[must_use]
    pub fn status(&self) -> RunStatus {
        match &self.phase {
            Phase::Ended(ended) => ended.status,
            _ if self.human_requests.pause().is_paused() => RunStatus::Paused,
            Phase::Reacting(_)
            | Phase::PlanSolving(_)
            | Phase::Summarizing(_)
            | Phase::SavingAnswer(_) => RunStatus::Running,
        }
    }

    /// The tool of a call that is owed.
    #[must_use]
    pub fn owed_tool(&self, call: &CallId) -> Option<String> {
        self.due().into_iter().find_map(|effect| {
            let Effect::RunTool(run) = effect else { return None };
            (run.call.id == *call).then_some(run.call.tool)
        })
    }

    /// Returns true if a URL stood whole in the user's words or in a result before a model of the run wrote it, so that
    /// loading it tells nobody what the run has read.
    #[must_use]
    pub fn knows_url(&self, url: &str) -> bool {
        url_origins(self, &[]).is_known(url)
    }

    /// The form of what its models say: an agent whose answer is a document or a value writes its source.
    #[must_use]
    pub fn text_form(&self) -> TextForm {
        match self.spec.agent().map(|agent| &agent.answer) {
            None | Some(AnswerFormat::Text) => TextForm::Message,
            Some(AnswerFormat::File | AnswerFormat::Json(_)) => TextForm::Source,
        }
    }

    /// Returns true if the next reply continues the text of one that was cut off.
    #[must_use]
    pub fn continues_text(&self) -> bool {
        let last = self.conversation.items.last();
        matches!(last, Some(ConversationItem::Nudge(Nudge::CutOff)))
    }

    /// Whether a record of its journal holds this set of tools.
    #[must_use]
    pub fn has_tool_set(&self, hash: &ToolSetHash) -> bool {
        self.tool_sets.contains(hash)
    }

    /// The conversation so far; [`Self::model_view`] is what a model sees of it.
    #[must_use]
    pub fn conversation(&self) -> &Conversation {
        &self.conversation
    }

    /// What of the conversation is being summed up.
    #[must_use]
    pub fn compaction_range(&self) -> Option<CompactionRange> {
        self.compaction.range()
    }

    /// The run as its model sees it. What a model makes of it is expanded with [`Self::urls`].
    #[must_use]
    pub fn model_view(&self) -> Cow<'_, Self> {
        if self.urls().is_empty() {
            return Cow::Borrowed(self);
        }
        let mut view = self.clone();
        view.spec = self.urls.compress_spec(&self.spec).into_owned();
        view.conversation = self.urls.compress_conversation(&self.conversation).into_owned();
        view.files = self.files.with_view(|files| self.urls.compress_files(files));
        Cow::Owned(view)
    }

    /// The long URLs that its model sees placeholders for, and that it means by them.
    #[must_use]
    pub fn urls(&self) -> &Urls {
        self.urls.urls()
    }

    /// Whether it has been shown text that anybody may have written: by a tool, in the names and
    /// descriptions of files that it did not write, in a question of the session that somebody else asked
    /// and its answer, or in an answer that came of such text.
    #[must_use]
    pub fn is_tainted(&self) -> bool {
        self.tainted || self.phase.is_tainted()
    }

    /// Every file the agent can read.
    #[must_use]
    pub fn files(&self) -> &FileList {
        self.files.readable()
    }

    /// The files this run wrote.
    #[must_use]
    pub fn produced_files(&self) -> &FileList {
        self.files.produced()
    }

    /// The names of its files.
    #[must_use]
    pub fn deliverables(&self) -> Deliverables {
        self.files.deliverables()
    }

    /// What it has used up.
    #[must_use]
    pub fn spending(&self) -> &Spending {
        self.ledger.spending()
    }

    /// What it may use up, its tasks included: its budget, and what people gave it besides.
    #[must_use]
    pub fn budget(&self) -> Budget {
        self.ledger.budget(&self.spec)
    }

    /// When its wall-time budget is used up, Unix milliseconds.
    #[must_use]
    pub fn wall_time_deadline_ms(&self) -> i64 {
        self.time_limits().wall_ms()
    }

    /// The next moment that limits it, Unix milliseconds. `None` for an ended run.
    #[must_use]
    pub fn next_limit(&self) -> Option<(Limit, i64)> {
        let limits = self.time_limits();
        let (limit, at_ms) = match &self.phase {
            Phase::Ended(_) => return None,
            Phase::Reacting(_) | Phase::PlanSolving(_) if self.sums_up() => {
                (Limit::WorkTime, limits.work_ms())
            }
            Phase::Reacting(_)
            | Phase::PlanSolving(_)
            | Phase::Summarizing(_)
            | Phase::SavingAnswer(_) => (Limit::WallTime, limits.wall_ms()),
        };
        // While it waits for people, no time passes.
        let is_paused = self.human_requests.pause().is_paused();
        Some((limit, if is_paused { i64::MAX } else { at_ms }))
    }

    /// The moment at which the first call that waits for a provider is made again, Unix milliseconds.
    #[must_use]
    pub fn next_retry_ms(&self) -> Option<i64> {
        self.due().iter().filter_map(Effect::delayed_until_ms).min()
    }

    fn time_limits(&self) -> TimeLimits {
        let paused_ms = self.human_requests.pause().ended_ms();
        TimeLimits::of(&self.spec, &self.budget(), self.started_at_ms, paused_ms)
    }

    /// What a run that has not ended has used up of its wall time until `at_ms`, in milliseconds: the time
    /// in which it waited for people alone is left out.
    #[must_use]
    pub fn wall_ms(&self, at_ms: i64) -> u64 {
        let took_ms = at_ms.saturating_sub(self.started_at_ms).max(0).unsigned_abs();
        took_ms.saturating_sub(self.human_requests.pause().total_ms(at_ms))
    }

    /// Whether a closing call may write its answer: that of a run below another one is its agent's last
    /// words, unless it plans.
    #[must_use]
    pub(super) fn sums_up(&self) -> bool {
        !self.is_child() || self.spec.work_mode() == Mode::PlanSolve
    }

    /// Whether this is a run below another one.
    #[must_use]
    pub fn is_child(&self) -> bool {
        self.spec.child.is_some()
    }

    /// What a child that is owed is started with: its share of what is left. `None` for any other. Its agent,
    /// if it has one, is put in by [`RunSpec::with_agent`].
    #[must_use]
    pub fn child_spec(&self, child: &ChildId) -> Option<RunSpec> {
        let context = ChildContext {
            spec: &self.spec,
            conversation: &self.conversation,
            files: self.files.list_for_child(),
            deadline_ms: self.time_limits().children_ms(),
            tainted: self.is_tainted(),
        };
        match (&self.phase, child) {
            (Phase::Reacting(agent), _) => context.spec_of_call(child, agent),
            (Phase::PlanSolving(solving), ChildId::Task(task)) => {
                context.spec_of_task(task, solving)
            }
            _ => None,
        }
    }

    /// The agent that a child is to be worked on by, if one is named. Of one that was offered to who called
    /// it, SHA-256 of the parameters it had then, and its policy.
    #[must_use]
    pub fn agent_of(&self, child: &ChildId) -> Option<(&str, Option<(&str, &ToolPolicy)>)> {
        match (&self.phase, child) {
            (Phase::Reacting(agent), _) => agent
                .find_agent_call(child)
                .map(|(call, _, as_offered)| (call.tool.as_str(), Some(as_offered))),
            (Phase::PlanSolving(solving), ChildId::Task(task)) => {
                Some((solving.agent_of(task)?, None))
            }
            _ => None,
        }
    }

    /// The children that somebody may be working on.
    #[must_use]
    pub fn running_children(&self) -> Vec<ChildId> {
        self.phase.running_children()
    }

    /// What an ended task owes its run.
    #[must_use]
    pub fn child_result(&self) -> Option<&ChildEnded> {
        let Phase::Ended(ended) = &self.phase else { return None };
        ended.child_result.as_deref()
    }

    /// The plan as its file is to hold it.
    #[must_use]
    pub fn plan(&self) -> Option<&Plan> {
        self.concerns.plan_file.plan()
    }

    /// The plan's version: how often it was made or changed, but for what became of its steps.
    #[must_use]
    pub fn plan_version(&self) -> u32 {
        self.concerns.plan_file.version()
    }

    /// The plan as it stands, with what became of its steps.
    #[must_use]
    pub fn current_plan(&self) -> Option<&Plan> {
        match &self.phase {
            Phase::PlanSolving(solving) => solving.plan(),
            Phase::Reacting(_)
            | Phase::Summarizing(_)
            | Phase::SavingAnswer(_)
            | Phase::Ended(_) => self.plan(),
        }
    }

    /// The plan as it would be after a change; `None` if there is none that can be changed now: while the
    /// planner has the word, it is the planner's.
    #[must_use]
    pub fn edited_plan(&self, edit: &PlanEdit) -> Option<Result<Plan, PlanError>> {
        // A word of the planner's that is on its way does not know of it, and could undo it.
        let solving = self.phase.plan_solve().filter(|solving| solving.is_in_round())?;
        let max_steps = self.spec.settings.plan.max_steps as usize;
        Some(solving.plan()?.with_edits(&edit.title, &edit.steps, max_steps))
    }

    /// Whether it has a further turn, and room, for a person's words.
    #[must_use]
    pub fn accepts_messages(&self) -> bool {
        self.phase.is_working() && !self.is_child() && self.messages.has_room()
    }

    /// Whether this message or change has reached the run.
    #[must_use]
    pub fn has_seen_id(&self, id: &str) -> bool {
        self.messages.has_seen(id)
    }

    /// What people wrote into the plan: titles, stages and steps, whatever became of them.
    pub fn user_plan_texts(&self) -> impl Iterator<Item = &str> {
        self.messages.plan_texts()
    }

    /// What people are asked and have not answered.
    pub fn pending_requests(&self) -> impl Iterator<Item = &HumanRequest> {
        self.human_requests.pending()
    }

    /// How something that it asked was answered; `None` while it was not, and if nobody asks it any
    /// more.
    #[must_use]
    pub fn resolution(&self, request: &HumanRequestId) -> Option<&Resolution> {
        self.human_requests.resolution(request)
    }

    /// Returns true if it may have a timer: it has asked people, or waited for a provider.
    #[must_use]
    pub fn may_have_timer(&self) -> bool {
        self.has_delayed || self.human_requests.has_ever_requested()
    }

    /// What an answer would change: what it is about, or why it changes nothing.
    ///
    /// # Errors
    /// [`ResponseError`] when nothing like it is asked, or was answered before.
    pub fn match_response(
        &self,
        response: &ResponseRecord,
    ) -> Result<Vec<HumanRequest>, ResponseError> {
        self.human_requests.match_response(response)
    }

    /// Whether this answer decided anything.
    #[must_use]
    pub fn is_resolved_by(&self, answer_id: &str) -> bool {
        self.human_requests.is_resolved_by(answer_id)
    }

    /// When the first of what is asked is answered by default, Unix milliseconds.
    #[must_use]
    pub fn next_expiry(&self) -> Option<(&HumanRequestId, i64)> {
        let expiring =
            self.pending_requests().filter_map(|open| Some((&open.id, open.expires_at_ms?)));
        expiring.min_by_key(|(_, at_ms)| *at_ms)
    }

    /// What this task asks, as its run is told.
    #[must_use]
    pub fn child_request(&self) -> Option<ChildRequest> {
        let child = &self.spec.child.as_ref()?.child;
        Some(self.human_requests.to_child_request(child, self.phase.request_reasoning()))
    }

    /// An answer that is owed to a task, with the name that it has there.
    #[must_use]
    pub fn response_for_child(
        &self,
        request: &HumanRequestId,
    ) -> Option<(&ChildId, ResponseRecord)> {
        let (child, response) = self.human_requests.response_for_child(request)?;
        let request = request.within_child(child)?;
        Some((child, ResponseRecord { request, ..response.clone() }))
    }

    /// Whether all that is owed is a person's answer.
    pub(super) fn is_awaiting_humans(&self) -> bool {
        if self.human_requests.pending().next().is_none() || self.status() == RunStatus::Failed {
            return false;
        }
        self.due().iter().all(|effect| match effect {
            Effect::AwaitHuman(_) | Effect::Wait { .. } => true,
            Effect::RunChild(dispatch) => dispatch.waits,
            // A task tells its run that it waits: that is no work.
            Effect::Deliver(delivery) => matches!(delivery, Delivery::ChildRequest(_)),
            Effect::CallModel(_)
            | Effect::RunTool(_)
            | Effect::SavePlan { .. }
            | Effect::SaveAnswer(_) => false,
        })
    }
}
