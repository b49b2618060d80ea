//! A model that answers in another's place.

use super::{AgentResponse, Translator};
use crate::entry::Entry;
use crate::input::ModelChanged;
use crate::settings::{Language, Mode};

impl Translator {
    /// Says that a fallback answers, and why, as a thought: the protocol has no other place for it. It is
    /// said once for each reason, and not again before every message.
    pub(super) fn model_changed(
        &mut self,
        entry: &Entry,
        changed: &ModelChanged,
    ) -> Vec<AgentResponse> {
        let ModelChanged { message, from, to, failure } = changed;
        // Nobody is shown the call that sums up older turns.
        if message.is_compaction() || !self.replaced.insert((from.clone(), failure.code)) {
            return Vec::new();
        }
        let why = failure.sentence(self.language);
        let text = match self.language {
            Language::En => format!("The model {to} answers in place of {from}. {why}"),
            Language::Zh => format!("改由模型 {to} 代替 {from} 回答。{why}"),
        };
        let is_planner = entry.within.is_none() && self.mode == Mode::PlanSolve;
        let text = Some(text);
        // Its id names its task, where there is one.
        vec![if is_planner {
            let event = self.event(&entry.id, "plan_thought", entry.at_ms);
            AgentResponse { plan_thought: text, ..event }
        } else {
            let event = self.event(&entry.id, "tool_thought", entry.at_ms);
            AgentResponse { tool_thought: text, ..event }
        }]
    }
}
