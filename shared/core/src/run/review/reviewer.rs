//! The review at work: a child that judges the answer.

use serde_json::Map;

use crate::agent::ANSWER_ARGUMENT;
use crate::agent_loop::{AgentLoop, TurnUpdate};
use crate::budget::BudgetShare;
use crate::conversation::MAX_REPORT;
use crate::crash::ActiveEffects;
use crate::effect::{ChildDispatch, Effect};
use crate::entry::Event;
use crate::error_code::{ErrorCode, Failure};
use crate::id::{ChildId, EntryId, EntryName};
use crate::input::{ChildEnded, ChildSpec, RunSpec};
use crate::review::{QUESTION_ARGUMENT, ReviewVerdict};
use crate::run::child::ChildContext;
use crate::run::progress::{Next, WorkUpdate};
use crate::run::work::{AbandonedWork, Work};
use crate::settings::{RunSettings, SummaryPolicy};
use crate::status::RunStatus;
use crate::tool::ToolPolicy;
use djinn_text::truncate::truncate_text;

/// Maximum characters of the question and of the answer for a reviewer.
const MAX_REVIEWED: usize = 20_000;

/// The line in place of the middle of a long text.
const OMISSION: &str = "\n\n[…]\n\n";

/// Minimum for the maximum characters of a verdict.
const MIN_VERDICT: u32 = 50_000;

/// Maximum bytes of the description of a review.
const MAX_DESCRIPTION: usize = 200;

/// Maximum turns of a reviewer.
const MAX_TURNS: u32 = 20;

/// The child that judges an answer.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::run) struct Reviewer {
    child: ChildId,
    agent: String,
    description: String,
    /// The answer that is judged.
    answer: String,
    /// The share of the budget; `None` until the review can begin.
    share: Option<BudgetShare>,
    crashes: u32,
    /// True if the reviewer has read text that anybody may have written.
    tainted: bool,
}

impl Reviewer {
    /// Creates the review with this number of an answer to a question, by the named agent.
    pub(in crate::run) fn new(number: u32, agent: &str, question: &str, answer: &str) -> Self {
        let line = question.split_whitespace().collect::<Vec<_>>().join(" ");
        Self {
            child: ChildId::Review(number),
            agent: agent.to_owned(),
            description: truncate_text(&line, MAX_DESCRIPTION),
            answer: answer.to_owned(),
            share: None,
            crashes: 0,
            tainted: false,
        }
    }

    /// Returns the event for the start of the review.
    pub(in crate::run) fn start_event(&self) -> (EntryId, Event) {
        let child = self.child.clone();
        let agent = self.agent.clone();
        let description = self.description.clone();
        let event = Event::ChildStarted { child, description, agent };
        (EntryId::of_child(self.child.clone(), EntryName::Start), event)
    }
}

impl Work for Reviewer {
    fn agent(&self) -> Option<&AgentLoop> {
        None
    }

    fn agent_mut(&mut self) -> Option<&mut AgentLoop> {
        None
    }

    fn due(&self) -> Vec<Effect> {
        let child = self.child.clone();
        let crashes = self.crashes;
        let dispatch = ChildDispatch { child, alone: true, crashes, waits: false };
        self.share.map(|_| Effect::RunChild(dispatch)).into_iter().collect()
    }

    /// The answer is written.
    fn summary_policy(&self, _spec: &RunSpec) -> Option<SummaryPolicy> {
        None
    }

    fn reads_messages(&self) -> bool {
        false
    }

    fn is_tainted(&self) -> bool {
        self.tainted
    }

    fn running_children(&self) -> Vec<ChildId> {
        self.share.map(|_| self.child.clone()).into_iter().collect()
    }

    fn child_agent(&self, child: &ChildId) -> Option<(&str, Option<(&str, &ToolPolicy)>)> {
        (*child == self.child).then_some((&self.agent, None))
    }

    fn child_spec(&self, child: &ChildId, context: ChildContext<'_>) -> Option<RunSpec> {
        let share = self.share.filter(|_| *child == self.child)?;
        let spec = context.spec;
        let arguments = Map::from_iter([
            (QUESTION_ARGUMENT.to_owned(), shorten_middle(&spec.question).into()),
            (ANSWER_ARGUMENT.to_owned(), shorten_middle(&self.answer).into()),
        ]);
        let child = ChildSpec {
            // The deployment offers the agent that a file or the request names.
            tools: Some(vec![self.agent.clone()]),
            needs_agent: true,
            keeps_answer: false,
            ..context.child_spec(child, self.description.clone(), (1, spec.places()))
        };
        let mut spec = RunSpec { arguments, ..context.into_spec(child, share) };
        let max_chars = &mut spec.settings.max_result_chars;
        *max_chars = (*max_chars).max(MIN_VERDICT);
        Some(spec)
    }

    /// Gives the reviewer half of the remaining budget. The rest is for a better answer.
    fn allocate_shares(
        &mut self,
        remaining: BudgetShare,
        _spec: &RunSpec,
    ) -> Vec<(EntryId, Event)> {
        self.share.get_or_insert(remaining.equal_part(2, MAX_TURNS));
        Vec::new()
    }

    /// Counts a crash of the driver. The child continues from its own journal.
    fn on_resumed(&mut self, ran: &ActiveEffects) -> Option<TurnUpdate> {
        self.crashes += u32::from(ran.has_child(&self.child));
        Some(TurnUpdate::default())
    }

    fn on_child_ended(
        &mut self,
        ended: &ChildEnded,
        _settings: &RunSettings,
    ) -> Option<WorkUpdate> {
        if ended.report.child != self.child || self.share.take().is_none() {
            return None;
        }
        self.tainted |= ended.tainted;
        let end = EntryId::of_child(self.child.clone(), EntryName::End);
        let events = vec![(end, Event::child_ended(ended))];
        let update = TurnUpdate { events, ..TurnUpdate::default() };
        // A reviewer is only stopped together with its run, whose stop follows.
        let is_stopped = ended.status == RunStatus::Stopped;
        let next = if is_stopped { Next::Wait } else { Next::Judged(read_verdict(ended)) };
        Some(WorkUpdate { next, ..WorkUpdate::going_on(update) })
    }

    fn abandon(&mut self) -> AbandonedWork {
        let running = self.running_children();
        let end = |child: &ChildId| {
            let id = EntryId::of_child(child.clone(), EntryName::End);
            (id, Event::child_stopped(child.clone()))
        };
        AbandonedWork { events: running.iter().map(end).collect(), items: Vec::new(), running }
    }
}

fn read_verdict(ended: &ChildEnded) -> Result<ReviewVerdict, Failure> {
    if let Some(failure) = &ended.report.failure {
        return Err(failure.clone());
    }
    let text = &ended.report.text;
    ReviewVerdict::parse(text)
        .ok_or_else(|| Failure::new(ErrorCode::BadAnswer, truncate_text(text, MAX_REPORT)))
}

/// Returns a text with at most [`MAX_REVIEWED`] characters: its beginning and its end.
fn shorten_middle(text: &str) -> String {
    let count = text.chars().count();
    if count <= MAX_REVIEWED {
        return text.to_owned();
    }
    let half = (MAX_REVIEWED - OMISSION.chars().count()) / 2;
    let beginning = text.chars().take(half);
    let end = text.chars().skip(count - half);
    beginning.chain(OMISSION.chars()).chain(end).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_answer_keeps_its_beginning_and_its_end() {
        assert_eq!(shorten_middle("short"), "short");
        let long = format!("北{}南", "x".repeat(30_000));
        let short = shorten_middle(&long);
        assert!(short.chars().count() <= MAX_REVIEWED, "{}", short.chars().count());
        assert!(short.starts_with("北xx") && short.ends_with("xx南") && short.contains("[…]"));
    }
}
