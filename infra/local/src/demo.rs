//! The scripted demo model, for a laptop without a model: it knows one kind of question, and says so.

use std::io;
use std::time::Duration;

use djinn_scripted::{Script, Scripted};

/// Between two pieces of what it says, so that streaming can be seen.
const PACE: Duration = Duration::from_millis(30);

/// The variables that name a model of the user's own.
const MODELS: [&str; 3] = ["DJINN_MODELS", "OPENAI_API_KEY", "ANTHROPIC_API_KEY"];

/// Whether no model is configured.
pub(crate) fn is_needed(var: &dyn Fn(&str) -> Option<String>) -> bool {
    MODELS.iter().all(|name| var(name).is_none_or(|value| value.trim().is_empty()))
}

/// Starts it.
pub(crate) async fn start() -> io::Result<Scripted> {
    Scripted::start_with(Script::demo().paced(PACE)).await
}

/// The variables that lead to it.
pub(crate) fn variable(name: &str, base_url: &str) -> Option<String> {
    match name {
        "OPENAI_API_KEY" => Some("scripted".to_owned()),
        "OPENAI_BASE_URL" => Some(base_url.to_owned()),
        "OPENAI_MODEL" => Some("scripted-demo".to_owned()),
        _ => None,
    }
}
