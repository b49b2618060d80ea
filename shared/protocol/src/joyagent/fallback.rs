//! Notices about a fallback model, a delayed call or a verdict.

use super::{AgentResponse, Translator};
use djinn_core::entry::{Entry, Event};
use djinn_core::input::ModelChanged;
use djinn_core::verdict::{EnsembleVerdict, MAX_SCORE};
use djinn_messages::Wording;

impl Translator {
    /// Announces a fallback model and the reason as a thought, because the protocol has no other place. Each
    /// reason is announced once instead of before every message.
    pub(super) fn announce_fallback(
        &mut self,
        entry: &Entry,
        changed: &ModelChanged,
    ) -> Vec<AgentResponse> {
        let ModelChanged { message, from, to, failure } = changed;
        // Compaction calls are not shown.
        if message.is_compaction() || !self.announced_fallbacks.insert((from.clone(), failure.code))
        {
            return Vec::new();
        }
        let why = failure.sentence(self.language);
        let values = [("to", to.as_str()), ("from", from), ("why", &why)];
        let text = Wording::FallbackAnswers.fill(self.language, &values);
        // The message id contains the task, if any.
        vec![self.lane_thought(&entry.path, &entry.id.to_string(), &text, entry.at_ms)]
    }

    /// Shows a verdict as a thought: each letter with its score and reason, and the choice.
    pub(super) fn verdict_event(&self, entry: &Entry, verdict: &EnsembleVerdict) -> AgentResponse {
        let chosen = verdict.chosen.as_ref();
        let lines = verdict.scores.iter().map(|score| {
            let mark = if chosen == Some(&score.child) { " ✓" } else { "" };
            format!("- {}: {}/{MAX_SCORE}{mark} {}", score.letter, score.score, score.reason)
        });
        let lines = lines.collect::<Vec<_>>().join("\n");
        let wording =
            if chosen.is_some() { Wording::VerdictChosen } else { Wording::VerdictMerged };
        let text = format!("{}\n{lines}", wording.text(self.language));
        self.lane_thought(&entry.path, &entry.id.to_string(), &text, entry.at_ms)
    }

    /// Announces a delayed call as a thought, with the reason and the time of the next attempt.
    pub(super) fn announce_delay(&self, entry: &Entry) -> Vec<AgentResponse> {
        let Event::ModelDelayed { until_ms, failure, .. } = &entry.event else { return Vec::new() };
        let seconds = (until_ms.saturating_sub(entry.at_ms) + 500).div_euclid(1000).to_string();
        let why = failure.sentence(self.language);
        let values = [("why", why.as_str()), ("seconds", &seconds)];
        let text = Wording::ModelDelayed.fill(self.language, &values);
        vec![self.lane_thought(&entry.path, &entry.id.to_string(), &text, entry.at_ms)]
    }
}
