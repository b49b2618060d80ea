//! Calls that are held back until a person answers.

use serde_json::Value;

use super::open::completed;
use super::{AgentLoop, Observed, Stage};
use crate::feedback::{
    ASK_USER, About, Answer, Ask, Estimate, Interrupt, Why, digest, reasons, risk,
};
use crate::id::{CallId, FeedbackId};
use crate::input::Finish;
use crate::settings::RunSettings;
use crate::tool::{Arguments, Call, FailReason, Observation, OfferedTool, Outcome, Risk, Shown};

impl AgentLoop {
    /// What the model said before it asked for the open turn's calls.
    #[must_use]
    pub fn words(&self) -> &str {
        match &self.stage {
            Stage::Acting(turn) => &turn.text,
            Stage::Thinking(_) => "",
        }
    }

    /// Whether it has read text that anybody may have written.
    #[must_use]
    pub fn is_tainted(&self) -> bool {
        self.tainted
    }

    /// It is told text that anybody may have written.
    pub fn taint(&mut self) {
        self.tainted = true;
    }

    /// Holds back the calls of the open turn that need somebody's consent.
    pub(super) fn hold(&mut self, offered: &[OfferedTool], settings: &RunSettings) -> Vec<Ask> {
        let (settings, tainted) = (&settings.feedback, self.tainted);
        let Stage::Acting(turn) = &mut self.stage else { return Vec::new() };
        let tool_of = |call: &Call| offered.iter().find(|tool| tool.name == call.tool);
        let due = turn.calls.iter().filter(|open| open.is_due());
        let planned = due.filter_map(|open| tool_of(&open.call)).map(|tool| tool.declared.estimate);
        let planned = planned.reduce(Estimate::and).unwrap_or_default();
        let costs = settings.enabled && settings.cost.is_exceeded_by(&planned);
        let mut asks = Vec::new();
        for open in turn.calls.iter_mut().filter(|open| open.is_due()) {
            let Some(tool) = tool_of(&open.call) else { continue };
            let Arguments::Parsed(arguments) = &open.call.arguments else { continue };
            let mut why = reasons(settings, tool, arguments, tainted);
            if costs && !settings.confirms_itself(&tool.name) {
                why.push(Why::Cost);
            }
            let Some(id) = FeedbackId::new(open.call.id.as_str()).ok().filter(|_| !why.is_empty())
            else {
                continue;
            };
            let ask = Ask {
                id,
                task: None,
                risk: risk(settings, tool, arguments),
                why,
                estimate: tool.declared.estimate,
                digest: digest(&tool.name, arguments),
                expires_at_ms: None,
                about: About::Call {
                    call: open.call.id.clone(),
                    tool: tool.name.clone(),
                    arguments: arguments.clone(),
                },
            };
            open.held = Some(ask.id.clone());
            asks.push(ask);
        }
        asks
    }

    /// A call of the open turn that has no outcome.
    #[must_use]
    pub fn open(&self, call: &CallId) -> Option<&Call> {
        let Stage::Acting(turn) = &self.stage else { return None };
        let open = turn.calls.iter().find(|open| open.call.id == *call && open.is_due())?;
        Some(&open.call)
    }

    /// A tool stopped in the middle of a call: what a person is asked, or nothing if nobody waits for
    /// that call.
    pub fn interrupted(&mut self, call: &CallId, interrupt: &Interrupt) -> Option<Ask> {
        let open = self.open_call(call).filter(|open| open.is_due())?;
        let Arguments::Parsed(arguments) = &open.call.arguments else { return None };
        open.round += 1;
        (open.started, open.crashes) = (false, 0);
        let ask = Ask {
            id: FeedbackId::new(format!("{call}.again{}", open.round)).ok()?,
            task: None,
            risk: Risk::Low,
            why: Vec::new(),
            estimate: Estimate::default(),
            digest: digest(&open.call.tool, arguments),
            expires_at_ms: None,
            about: About::CallInterrupted {
                call: open.call.id.clone(),
                tool: open.call.tool.clone(),
                arguments: arguments.clone(),
                interrupt: interrupt.clone(),
            },
        };
        open.held = Some(ask.id.clone());
        Some(ask)
    }

    /// Takes an answer about a call, which is made now, or has an outcome. `None` if nobody waits for
    /// it. The model is told of a change, and what the `comment` says of it.
    pub fn answered(
        &mut self,
        feedback: &FeedbackId,
        answer: &Answer,
        comment: &str,
    ) -> Option<Observed> {
        let Stage::Acting(turn) = &mut self.stage else { return None };
        let open = turn.calls.iter_mut().find(|open| open.held.as_ref() == Some(feedback))?;
        open.held = None;
        let mut observed = Observed::default();
        let asks_user = open.call.tool == ASK_USER;
        let outcome = match answer {
            // To a question, consent is an answer, and so is whatever was filled in.
            Answer::Confirm if asks_user => user_answer("yes"),
            Answer::Modify { arguments } if asks_user => {
                user_answer(&Value::Object(arguments.clone()).to_string())
            }
            Answer::Say { words } if asks_user => user_answer(words),
            Answer::Confirm => return Some(observed),
            Answer::Modify { arguments } => {
                open.call.arguments = Arguments::Parsed(arguments.clone());
                open.call.changed = Some(comment.to_owned());
                return Some(observed);
            }
            // A stopped run answers it itself.
            Answer::Skip | Answer::Stop => {
                Outcome::Failed { reason: FailReason::Skipped, detail: String::new() }
            }
            Answer::Say { words } => {
                Outcome::Failed { reason: FailReason::Answered, detail: words.clone() }
            }
        };
        observed.events.push(completed(&open.call, &outcome));
        open.outcome = Some(outcome);
        self.close_if_answered(Finish::Done, &mut observed);
        Some(observed)
    }
}

/// What a question of the model's comes to.
fn user_answer(words: &str) -> Outcome {
    Outcome::Done(Observation { shown: Shown::UserAnswer, ..Observation::text(words) })
}
