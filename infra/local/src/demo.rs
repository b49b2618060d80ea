//! The scripted demo model, for a laptop without a model: it knows one kind of question, and says so.

use std::time::Duration;

use djinn_scripted::{Script, ScriptedModel};

use crate::system::SystemError;

/// Between two pieces of what it says, so that streaming can be seen.
const PACE: Duration = Duration::from_millis(30);

/// The variables that name a model of the user's own.
const MODELS: [&str; 3] = ["DJINN_MODELS", "OPENAI_API_KEY", "ANTHROPIC_API_KEY"];

/// Starts it, unless a model is configured.
pub(crate) async fn start_if_needed(
    var: &(dyn Fn(&str) -> Option<String> + Send + Sync),
) -> Result<Option<ScriptedModel>, SystemError> {
    if MODELS.iter().any(|name| var(name).is_some_and(|value| !value.trim().is_empty())) {
        return Ok(None);
    }
    let scripted = ScriptedModel::start_with(Script::demo().with_delay(PACE)).await;
    scripted.map(Some).map_err(SystemError::Demo)
}

/// The variables that lead to it.
pub(crate) fn model_variables(base_url: &str) -> [(&'static str, String); 3] {
    [
        // Not a word that it says: keys are blotted out of what providers say.
        ("OPENAI_API_KEY", "scripted-demo-key".to_owned()),
        ("OPENAI_BASE_URL", base_url.to_owned()),
        ("OPENAI_MODEL", "scripted-demo".to_owned()),
    ]
}
