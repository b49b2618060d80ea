//! The keys that decide when the agent calls tools and ends: `tool_choice`, `stop_at` and `hands_over`.

use djinn_core::agent::ToolChoiceRule;

use crate::fields::{Fields, NamesWithLines};
use crate::problem::Fault;

const RULES: [(&str, ToolChoiceRule); 4] = [
    ("auto", ToolChoiceRule::Auto),
    ("required", ToolChoiceRule::Required),
    ("none", ToolChoiceRule::None),
    ("smart", ToolChoiceRule::Smart),
];

/// The keys with which the answer is not the agent's last message.
pub(crate) const ENDS: [&str; 2] = ["stop_at", "hands_over"];

/// The rules of an agent's tool calls.
pub(crate) struct ToolRules {
    pub(crate) tool_choice: ToolChoiceRule,
    pub(crate) stop_at: NamesWithLines,
    pub(crate) hands_over: NamesWithLines,
}

impl ToolRules {
    /// Reads the rules. Rejects rules that contradict each other or another key.
    pub(crate) fn read(fields: &Fields) -> Result<Self, Fault> {
        let choice = fields.read_word("tool_choice", &RULES)?.unwrap_or_default();
        let stop_at = fields.read_names("stop_at")?;
        let hands_over = fields.read_names("hands_over")?;
        let is_set = |key: &str| fields.find_entry(key).is_some();
        let must_call = matches!(choice, ToolChoiceRule::Required | ToolChoiceRule::Smart);
        let word = RULES.iter().find(|(_, rule)| *rule == choice).map_or("", |(word, _)| *word);
        if must_call && !is_set("tools") && !is_set("hands_over") {
            let rule = format!("`tool_choice` is `{word}`, but the agent has no `tools`");
            return Err(Fault::new(fields.line_of("tool_choice"), rule));
        }
        let needs_calls =
            ["first_tool", "stop_at", "hands_over"].into_iter().find(|key| is_set(key));
        if let Some(key) = needs_calls.filter(|_| choice == ToolChoiceRule::None) {
            let rule = format!("`{key}` is not allowed with `tool_choice: none`");
            return Err(Fault::new(fields.line_of(key), rule));
        }
        // The answer is then a text that no further tool receives.
        if let Some(key) = ENDS.into_iter().find(|key| is_set(key)).filter(|_| is_set("after")) {
            let rule = format!("`{key}` is not allowed with `after`");
            return Err(Fault::new(fields.line_of(key), rule));
        }
        Ok(Self { tool_choice: choice, stop_at, hands_over })
    }
}
