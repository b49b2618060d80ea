//! A way of working that no mode has: it needs its own file alone.

use serde_json::json;

use super::*;
use crate::budget::Usage;
use crate::effect::{EffectId, Limit};
use crate::id::{CallId, MessageId};
use crate::input::{FinishReason, Input, Reply};
use crate::run::progress::Next;
use crate::run::{Phase, Run};
use crate::settings::Role;
use crate::status::RunStatus;
use crate::tool::{ToolOutput, ToolResult};

/// An agent that reconsiders its first answer.
#[derive(Debug, Clone, PartialEq)]
struct SecondThoughts {
    agent: AgentLoop,
    has_draft: bool,
}

impl Work for SecondThoughts {
    fn agent(&self) -> Option<&AgentLoop> {
        Some(&self.agent)
    }

    fn agent_mut(&mut self) -> Option<&mut AgentLoop> {
        Some(&mut self.agent)
    }

    fn on_model_replied(
        &mut self,
        replied: &ModelReplied,
        settings: &RunSettings,
        max_calls: u32,
        known_urls: &BTreeSet<String>,
    ) -> Option<WorkUpdate> {
        let mut progress =
            Work::on_model_replied(&mut self.agent, replied, settings, max_calls, known_urls)?;
        let is_draft = progress.next == Next::Answer && !self.has_draft;
        if is_draft {
            self.has_draft = true;
            progress.next = Next::Continue;
        }
        Some(progress)
    }
}

/// Work without an agent.
#[derive(Debug, Clone, PartialEq)]
struct Nothing;

impl Work for Nothing {
    fn agent(&self) -> Option<&AgentLoop> {
        None
    }

    fn agent_mut(&mut self) -> Option<&mut AgentLoop> {
        None
    }
}

fn start(work: impl Work) -> Run {
    let spec = json!({
        "tenant": "local", "user": "you", "session": "s1", "request": "r1", "body_hash": "0",
        "question": "why?", "settings": RunSettings::default(),
    });
    let (mut run, _) = Run::start(serde_json::from_value(spec).unwrap(), 0);
    run.phase = Phase::Working(Box::new(work));
    run
}

fn reconsidering() -> Run {
    start(SecondThoughts { agent: AgentLoop::new(Role::React, 0), has_draft: false })
}

fn says(turn: u32, text: &str) -> Input {
    let reply = Reply {
        text: text.to_owned(),
        reasoning: None,
        calls: Vec::new(),
        usage: Usage::default(),
        finish: FinishReason::Done,
    };
    Input::ModelReplied(Box::new(ModelReplied {
        message: MessageId::for_turn(turn),
        reply,
        offered: Vec::new(),
        window: None,
        dropped: None,
        tool_set: None,
        answer_problem: None,
    }))
}

fn owes(run: &Run) -> Vec<String> {
    let due = run.due().into_iter().filter(|effect| !matches!(effect, Effect::Wait { .. }));
    due.map(|effect| effect.id().to_string()).collect()
}

#[test]
fn third_way_of_working_decides_what_follows_a_reply() {
    let mut run = reconsidering();
    assert_eq!(owes(&run), ["model:t1"]);
    run.apply_input(&says(1, "A draft."), 1).unwrap();
    assert_eq!(owes(&run), ["model:t2"]);
    let copy = run.clone();
    assert_eq!(run, copy);
    let entries = run.apply_input(&says(2, "The answer."), 2).unwrap();
    assert_ne!(run, copy);
    let Some(Event::RunEnded(result)) = entries.last().map(|entry| &entry.event) else {
        panic!("{entries:?}")
    };
    assert_eq!((result.status, result.answer.as_str()), (RunStatus::Finished, "The answer."));
}

#[test]
fn third_way_of_working_has_limits_crashes_and_summaries_like_every_other() {
    let mut run = reconsidering();
    for epoch in 2..4 {
        let resumed = Input::Resumed { epoch, lost_usage: None, isolated: true };
        run.apply_input(&resumed, 1).unwrap();
        assert_eq!(owes(&run), ["model:t1"]);
    }
    run.apply_input(&Input::LimitReached { limit: Limit::WorkTime }, 2).unwrap();
    assert_eq!(owes(&run), [EffectId::Model(MessageId::summary()).to_string()]);
}

#[test]
fn inputs_for_an_agent_are_not_for_work_without_one() {
    let mut run = start(Nothing);
    assert!(owes(&run).is_empty());
    let call = CallId::nth_of(&MessageId::for_turn(1), 1);
    let result = ToolResult::Done(ToolOutput::from_text("found"));
    for input in [
        says(1, "It is 4."),
        Input::ToolStarted { call: call.clone() },
        Input::ToolStalled { call: call.clone(), attempt: 1 },
        Input::ToolReturned { call, result, took_ms: 1 },
    ] {
        assert_eq!(run.apply_input(&input, 1), None);
    }
    let work = Nothing;
    assert_eq!(work.plan(), None);
    assert!(work.running_children().is_empty() && !work.is_tainted());
}
