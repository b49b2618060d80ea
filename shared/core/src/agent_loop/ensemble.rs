//! The agent that judges the answers of the agents in `before` of its file.

use super::{AgentLoop, TurnUpdate};
use crate::file::ProductFile;
use crate::id::CallId;
use crate::input::ChildEnded;
use crate::tool::{ToolCall, ToolResult};
use crate::verdict::{Candidate, Ensemble, EnsembleVerdict, VERDICT_TOOL};

/// A verdict in a complete turn.
#[derive(Debug, Clone, PartialEq)]
pub struct GivenVerdict {
    /// The call with the verdict.
    pub call: CallId,
    /// The verdict.
    pub verdict: EnsembleVerdict,
    /// The files of the chosen child; empty if the agent merges the answers.
    pub files: Vec<ProductFile>,
}

impl AgentLoop {
    /// Returns the loop of an agent that judges the answers of this ensemble.
    #[must_use]
    pub fn with_ensemble(self, ensemble: Option<Ensemble>) -> Self {
        Self { ensemble: ensemble.map(Box::new), ..self }
    }

    /// Returns the answers that the agent judges. `None` for every other agent.
    #[must_use]
    pub fn ensemble(&self) -> Option<&Ensemble> {
        self.ensemble.as_deref()
    }

    /// Forgets the verdict of the newest turn, because the agent must read a user's message first.
    pub fn void_verdict(&mut self) {
        self.ensemble.iter_mut().for_each(|ensemble| ensemble.void_verdict());
    }

    /// Answers a call with the verdict; returns `None` for other calls.
    pub(super) fn judge(&mut self, call: &ToolCall) -> Option<ToolResult> {
        self.ensemble.as_mut()?.judge(call)
    }

    /// Adds the answer of a child that completed its work.
    pub(super) fn add_candidate(&mut self, ended: &ChildEnded) {
        let Some(ensemble) = &mut self.ensemble else { return };
        if !ended.report.done || !ended.report.child.is_before() {
            return;
        }
        ensemble.add(Candidate {
            child: ended.report.child.clone(),
            answer: ended.report.text.clone(),
            files: ended.files.iter().filter(|file| !file.internal).cloned().collect(),
            evidence: ended.evidence.clone(),
        });
    }

    /// Adds the verdict of a complete turn to its update. The chosen answer is the agent's answer.
    pub(super) fn add_verdict(&self, calls: &[(ToolCall, ToolResult)], update: &mut TurnUpdate) {
        let is_verdict = |(call, result): &&(ToolCall, ToolResult)| {
            call.tool == VERDICT_TOOL && matches!(result, ToolResult::Done(_))
        };
        let Some(ensemble) = &self.ensemble else { return };
        let Some((call, _)) = calls.iter().find(is_verdict) else { return };
        let Some(verdict) = ensemble.verdict().cloned() else { return };
        let chosen = ensemble.chosen();
        update.tool_answer = chosen.map(|own| own.answer.clone()).or(update.tool_answer.take());
        let files = chosen.map(|own| own.files.clone()).unwrap_or_default();
        update.verdict = Some(GivenVerdict { call: call.id.clone(), verdict, files });
    }
}
