//! The keys of front matter: Djinn's keys, and keys of other products.

use djinn_text::near_miss::find_near_miss;

use crate::problem::{Fault, quote};
use crate::yaml::KeyEntry;

/// The keys of an agent.
pub(crate) const KEYS: [&str; 23] = [
    "name",
    "description",
    "tools",
    "model",
    "parameters",
    "mode",
    "max_steps",
    "calls",
    "max_result",
    "first_tool",
    "before",
    "after",
    "answer",
    "answer_schema",
    "context",
    "risk",
    "entry",
    "title",
    "agent_type",
    "tool_choice",
    "stop_at",
    "hands_over",
    "review",
];

/// Keys of other products' agent files. Some are only two letters away from one of Djinn's keys.
const FOREIGN_KEYS: [&str; 41] = [
    "agents",
    "allowed-tools",
    "alwaysApply",
    "argument-hint",
    "author",
    "background",
    "category",
    "color",
    "date",
    "disable",
    "disable-model-invocation",
    "disallowedTools",
    "effort",
    "globs",
    "handoffs",
    "hidden",
    "hooks",
    "icon",
    "infer",
    "initialPrompt",
    "isolation",
    "kind",
    "license",
    "max_turns",
    "maxTurns",
    "mcp-servers",
    "mcpServers",
    "memory",
    "metadata",
    "permission",
    "permissionMode",
    "prompt",
    "readonly",
    "role",
    "skills",
    "tags",
    "target",
    "temperature",
    "top_p",
    "user-invocable",
    "version",
];

/// Separates Djinn's entries from other entries, and returns warnings about the others. Rejects a key that
/// looks like a misspelled key of Djinn.
pub(crate) fn sort_keys(entries: Vec<KeyEntry>) -> Result<(Vec<KeyEntry>, Vec<Fault>), Fault> {
    let (ours, others): (Vec<_>, Vec<_>) =
        entries.into_iter().partition(|entry| KEYS.contains(&entry.key.as_str()));
    let mut warnings = Vec::new();
    for KeyEntry { key, line, .. } in others {
        let quoted_key = quote(&key);
        if !FOREIGN_KEYS.contains(&key.as_str())
            && let Some(near_miss) = find_near_miss(&key, KEYS)
        {
            let rule =
                format!("{quoted_key} is not a key of an agent: did you mean `{near_miss}`?");
            return Err(Fault::new(line, rule));
        }
        warnings.push(Fault::new(
            line,
            format!("{quoted_key} is not a key of an agent and is ignored"),
        ));
    }
    Ok((ours, warnings))
}
