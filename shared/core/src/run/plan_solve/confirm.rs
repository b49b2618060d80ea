//! Steps that a person lets begin, and what came of them, which a person looks at.

use super::stage::{Before, Stage, Task};
use super::{Done, PlanSolve, Then};
use crate::agent_loop::Observed;
use crate::entry::Event;
use crate::feedback::{About, Answer, Ask, Estimate, Why, digest};
use crate::id::FeedbackId;
use crate::input::{Redo, TaskEnded, TaskReport};
use crate::settings::RunSettings;
use crate::tool::Risk;

impl PlanSolve {
    /// Takes a person's answer about a step or its result. `None` if nobody waits for it.
    pub(in crate::run) fn step_answered(
        &mut self,
        ask: &Ask,
        answer: &Answer,
        settings: &RunSettings,
    ) -> Option<(Observed, Then)> {
        let place = self.tasks.iter().position(|task| asked_about(task, ask))?;
        let mut task = self.tasks.remove(place);
        let stage = std::mem::replace(&mut task.stage, Stage::Waiting);
        let mut observed = Observed::default();
        let then = match (stage, answer) {
            (Stage::Judged(ended), answer) => {
                self.judged(&task, *ended, (ask, answer), place, settings, &mut observed)
            }
            (_, Answer::Confirm) => {
                observed.events.push(task.started());
                self.tasks.insert(place, task);
                Then::GoOn
            }
            (_, Answer::Modify { arguments }) => {
                if let Ok(details) = ask.about.new_text(arguments)
                    && let Some(plan) = &mut self.plan
                {
                    plan.reword(task.step, &details);
                    task.words = details;
                    let event = Event::PlanChanged { plan: plan.clone() };
                    observed.events.push((format!("{}.plan", ask.id), event));
                }
                observed.events.push(task.started());
                self.tasks.insert(place, task);
                Then::GoOn
            }
            (_, Answer::Skip | Answer::Stop) => {
                self.left_out(&task, String::new(), settings, &mut observed)
            }
            (_, Answer::Say { words }) => {
                self.left_out(&task, words.clone(), settings, &mut observed)
            }
        };
        Some((observed, then))
    }

    /// A step is not carried out.
    fn left_out(
        &mut self,
        task: &Task,
        text: String,
        settings: &RunSettings,
        observed: &mut Observed,
    ) -> Then {
        let report = TaskReport {
            task: task.id.clone(),
            words: task.words.clone(),
            text,
            files: Vec::new(),
            done: false,
            left_out: true,
            cut: false,
        };
        self.step_ended(Done { report, turns: Vec::new() }, settings, observed)
    }

    /// A person has looked at what came of a step.
    fn judged(
        &mut self,
        of: &Task,
        mut ended: TaskEnded,
        (ask, answer): (&Ask, &Answer),
        place: usize,
        settings: &RunSettings,
        observed: &mut Observed,
    ) -> Then {
        match answer {
            // Done work is not lost because nobody looked at it.
            Answer::Confirm | Answer::Skip | Answer::Stop => {}
            Answer::Modify { arguments } => {
                if let Ok(text) = ask.about.new_text(arguments) {
                    ended.report.text = text;
                }
            }
            Answer::Say { words } => {
                let redo = Redo { result: ended.report.text, words: words.clone() };
                let before = Before { failed: None, redo: Some(redo) };
                let again = self.task(of.step, &of.words, before);
                observed.events.push(again.started());
                self.tasks.insert(place, again);
                return Then::GoOn;
            }
        }
        self.step_ended(Done::of(&ended), settings, observed)
    }
}

/// Whether a task waits for what was asked: to begin, or to be judged.
fn asked_about(task: &Task, ask: &Ask) -> bool {
    match &task.stage {
        Stage::Held => about_step(task).is_some_and(|of| of.id == ask.id),
        Stage::Judged(ended) => about_result(task, ended).is_some_and(|of| of.id == ask.id),
        Stage::Waiting | Stage::AtWork(_) => false,
    }
}

/// Whether a step may begin.
pub(super) fn about_step(task: &Task) -> Option<Ask> {
    let about = About::Step { step: task.step, details: task.words.clone() };
    ask(FeedbackId::new(format!("steps.{}", task.step)).ok()?, Why::Step, about)
}

/// Whether what came of a step is what was wanted.
pub(super) fn about_result(task: &Task, ended: &TaskEnded) -> Option<Ask> {
    let about = About::Result {
        step: task.step,
        details: task.words.clone(),
        text: ended.report.text.clone(),
        files: ended.report.files.clone(),
    };
    ask(FeedbackId::new(format!("{}.result", task.id)).ok()?, Why::Result, about)
}

fn ask(id: FeedbackId, why: Why, about: About) -> Option<Ask> {
    Some(Ask {
        digest: digest(id.as_str(), &about.parameters()?),
        id,
        task: None,
        about,
        risk: Risk::Low,
        why: vec![why],
        estimate: Estimate::default(),
        expires_at_ms: None,
    })
}
