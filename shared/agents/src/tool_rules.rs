//! The keys that decide when the agent calls tools: `tool_choice` and `stop_at`.

use djinn_core::agent::ToolChoiceRule;

use crate::fields::{Fields, NamesWithLines};
use crate::problem::Fault;

const RULES: [(&str, ToolChoiceRule); 4] = [
    ("auto", ToolChoiceRule::Auto),
    ("required", ToolChoiceRule::Required),
    ("none", ToolChoiceRule::None),
    ("smart", ToolChoiceRule::Smart),
];

/// The rules of an agent's tool calls.
pub(crate) struct ToolRules {
    pub(crate) tool_choice: ToolChoiceRule,
    pub(crate) stop_at: NamesWithLines,
}

impl ToolRules {
    /// Reads the rules. Rejects rules that contradict each other or another key.
    pub(crate) fn read(fields: &Fields) -> Result<Self, Fault> {
        let choice = fields.read_word("tool_choice", &RULES)?.unwrap_or_default();
        let stop_at = fields.read_names("stop_at")?;
        let is_set = |key: &str| fields.find_entry(key).is_some();
        let must_call = matches!(choice, ToolChoiceRule::Required | ToolChoiceRule::Smart);
        let word = RULES.iter().find(|(_, rule)| *rule == choice).map_or("", |(word, _)| *word);
        if must_call && !is_set("tools") {
            let rule = format!("`tool_choice` is `{word}`, but the agent has no `tools`");
            return Err(Fault::new(fields.line_of("tool_choice"), rule));
        }
        let needs_calls = ["first_tool", "stop_at"].into_iter().find(|key| is_set(key));
        if let Some(key) = needs_calls.filter(|_| choice == ToolChoiceRule::None) {
            let rule = format!("`{key}` is not allowed with `tool_choice: none`");
            return Err(Fault::new(fields.line_of(key), rule));
        }
        // The results are the answer: a text that no schema checks and no further tool receives.
        if is_set("stop_at") && is_set("after") {
            let rule = "`stop_at` is not allowed with `after`";
            return Err(Fault::new(fields.line_of("stop_at"), rule));
        }
        Ok(Self { tool_choice: choice, stop_at })
    }
}
