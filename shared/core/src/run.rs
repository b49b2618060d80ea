//! The state machine of a run: the effect of each input, and the due effects of each state.
//!
//! A run consists of parts, each in its own file with private state. The work differs between modes
//! (`run/work.rs`); all other parts are the same. [`Run::due`] lists the effects of all parts.
//!
//! Each input goes to the part that waits for the input (`run/transition.rs`). A single file defines the next
//! action after each step of the work (`run/transition/follow_up.rs`). A new part beside the work implements
//! `Concern` (`run/concern.rs`) and has a line in `run/concerns.rs`.

mod answer_file;
mod child;
mod child_stops;
mod closing;
mod compaction;
mod concern;
mod concerns;
mod conversation_size;
mod employees;
mod ending;
mod files;
mod final_state;
mod human_requests;
mod ledger;
mod phase;
mod plan_file;
mod plan_solve;
mod progress;
mod react;
mod review;
mod taint;
mod time_limit;
mod tool_sets;
mod transition;
mod url_placeholders;
mod user_messages;
mod view;
mod work;
mod workflow;

use std::sync::Arc;

pub use answer_file::answer_file_name;
use child_stops::ChildStops;
use compaction::Compaction;
use concerns::Concerns;
use files::RunFiles;
use human_requests::HumanRequests;
use ledger::Ledger;
use phase::Phase;
pub use plan_file::PLAN_FILE;
use review::Review;
use taint::is_tainted_at_start;
use tool_sets::ToolSets;
use transition::Transition;
use url_placeholders::UrlPlaceholders;
use user_messages::PendingMessages;

use crate::agent_loop::{AgentLoop, AgentPosition};
use crate::conversation::Conversation;
use crate::crash::isolate_suspect;
use crate::effect::{Effect, Limit};
use crate::entry::{Entry, Event};
use crate::id::{EntryId, Path};
use crate::input::{FinishReason, Input, RunSpec, WindowUsage};

/// Maximum handoffs of a run from one invocation to the next. Lambda itself stops a chain after about 16
/// unless the function allows recursion, so the run counts.
pub const MAX_HOPS: u32 = 1_000;

/// A run: the fold of its journal.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    /// Shared among the states of the run.
    spec: Arc<RunSpec>,
    started_at_ms: i64,
    /// The phase, with the work until its end.
    phase: Phase,
    conversation: Conversation,
    files: RunFiles,
    ledger: Ledger,
    compaction: Compaction,
    urls: UrlPlaceholders,
    tool_sets: ToolSets,
    human_requests: HumanRequests,
    messages: PendingMessages,
    child_stops: ChildStops,
    /// The parts beside the work: the digital employees of a task, the plan's file.
    concerns: Concerns,
    review: Review,
    /// True if text that none of the run's agents read has tainted the run.
    tainted: bool,
    /// True if the run ever waited for a provider for longer than an invocation.
    has_delayed: bool,
    /// The finish reason of the newest reply with text.
    last_finish: FinishReason,
}

impl Run {
    /// Starts the run of a question, and returns the run with the entries about its start.
    #[must_use]
    pub fn start(spec: RunSpec, at_ms: i64) -> (Self, Vec<Entry>) {
        let urls = UrlPlaceholders::of(&spec);
        let mut run = Self {
            started_at_ms: at_ms,
            phase: Phase::first(&spec, AgentPosition::default()),
            conversation: Conversation {
                compacted: spec.earlier.clone(),
                history: spec.history.clone(),
                question: spec.question.clone(),
                items: Vec::new(),
            },
            files: RunFiles::of(&spec.files),
            ledger: Ledger::default(),
            compaction: Compaction::of(&urls.compress_spec(&spec)),
            urls,
            tool_sets: ToolSets::default(),
            human_requests: HumanRequests::new(spec.child.is_some()),
            messages: PendingMessages::default(),
            child_stops: ChildStops::default(),
            concerns: Concerns::of(&spec),
            review: Review::of(&spec),
            tainted: false,
            has_delayed: false,
            last_finish: FinishReason::Done,
            spec: Arc::new(spec),
        };
        if is_tainted_at_start(&run.spec) {
            run.taint();
        }
        run.compact_if_due();
        // Viewers see the start of a child in the run above.
        let start = (EntryId::start(), Event::run_started(&run.spec));
        let start = (!run.is_child()).then_some(start);
        let first_events = Transition::at(at_ms, &mut run).begin();
        let entry = |(id, event)| Entry { id, path: Path::default(), at_ms, event };
        let entries = start.into_iter().chain(first_events).map(entry).collect();
        (run, entries)
    }

    /// Stores a model's limit from a reply's record, if the provider rejected larger requests.
    fn learn_limit(&mut self, window: Option<&WindowUsage>) {
        if let Some(WindowUsage { limit, learned_for: Some(model), .. }) = window {
            let settings = &mut Arc::make_mut(&mut self.spec).settings;
            settings.context.learned_limits.insert(model.clone(), *limit);
        }
    }

    /// Processes an input and returns the entries for viewers. Returns `None` if no effect is due for the
    /// input, or if the input was processed before: then the run is unchanged and nothing is recorded.
    pub fn apply_input(&mut self, input: &Input, at_ms: i64) -> Option<Vec<Entry>> {
        let known_urls = self.urls.urls().len();
        self.urls.register_input(input);
        let whole = self.tool_sets.restore_tools(input);
        let Some(events) = Transition::at(at_ms, self).apply(&whole) else {
            self.urls.truncate(known_urls);
            return None;
        };
        self.tool_sets.add_set_of(input);
        let entry = |(id, event)| Entry { id, path: Path::default(), at_ms, event };
        Some(events.into_iter().map(entry).collect())
    }

    /// Returns all due effects, in a stable order.
    #[must_use]
    pub fn due(&self) -> Vec<Effect> {
        let beside = self.concerns.due();
        let mut due = self.child_stops.due();
        match (&self.phase, self.compaction.due_call()) {
            // An ended run keeps its alarm until its tasks have received their stops and its plan is saved.
            // The alarm's removal is the phase's only due effect; the alarm restarts the run.
            (Phase::Ended(_), _) if !due.is_empty() || !beside.is_empty() => {}
            // The next turn waits for room in the window.
            (_, Some(compaction)) => due.push(compaction),
            (phase, None) => due.extend(phase.due()),
        }
        let mut due: Vec<Effect> = due
            .into_iter()
            .map(|effect| self.choose_tools(effect))
            .filter(|effect| !self.ledger.is_held(effect))
            .filter_map(|effect| self.human_requests.filter_effect(effect))
            .collect();
        due.extend(self.human_requests.due());
        // Parts beside the work send no human requests.
        due.extend(beside);
        // A single wait is due, until the next limit of any kind, under the name of the last limit.
        let wait = |(_, until_ms)| Effect::Wait { limit: Limit::WallTime, until_ms };
        due.extend(self.next_limit().map(wait));
        isolate_suspect(&mut due);
        due
    }

    /// Sets the tool choice of an agent's turn.
    fn choose_tools(&self, effect: Effect) -> Effect {
        let Effect::CallModel(mut call) = effect else { return effect };
        if let (Some(work), Some(turn)) = (self.phase.work(), call.message.turn_number()) {
            let remaining_steps = self.ledger.remaining(&self.spec).steps;
            call.tool_choice = work.tool_choice(turn, remaining_steps, &self.spec);
        }
        Effect::CallModel(call)
    }

    /// Opens the call for a summary of older turns, if the next turn needs the summary.
    fn compact_if_due(&mut self) {
        if let Some(next) = self.phase.next_turn() {
            let settings = &self.spec.settings.context;
            self.compaction.open_before(&next, &self.conversation, &self.urls, settings);
        }
    }

    /// Marks the run as having read text that anybody may have written.
    fn taint(&mut self) {
        self.tainted = true;
        self.phase.agent_mut().into_iter().for_each(AgentLoop::taint);
    }

    /// Keeps the taint of the agents after the end of their work.
    fn freeze_taint(&mut self) {
        self.tainted = self.is_tainted();
    }
}
