//! The scripted demo model, for a laptop without a model: it knows one kind of question, and says so.

use std::time::Duration;

use djinn_scripted::{Script, ScriptedModel};
use djinn_settings::table::model::{
    ANTHROPIC_API_KEY, MODELS, OPENAI_API_KEY, OPENAI_BASE_URL, OPENAI_MODEL,
};

use crate::system::SystemError;

/// Between two pieces of what it says, so that streaming can be seen.
const PACE: Duration = Duration::from_millis(30);

/// Starts it, unless a model is configured.
pub(crate) async fn start_if_needed(
    var: &(dyn Fn(&str) -> Option<String> + Send + Sync),
) -> Result<Option<ScriptedModel>, SystemError> {
    let own = [&MODELS, &OPENAI_API_KEY, &ANTHROPIC_API_KEY];
    if own.iter().any(|setting| setting.find_text(var).is_some()) {
        return Ok(None);
    }
    let scripted = ScriptedModel::start_with(Script::demo().with_delay(PACE)).await;
    scripted.map(Some).map_err(SystemError::Demo)
}

/// The variables that lead to it.
pub(crate) fn model_variables(base_url: &str) -> [(&'static str, String); 3] {
    [
        // Not a word that it says: keys are blotted out of what providers say.
        OPENAI_API_KEY.pair("scripted-demo-key"),
        OPENAI_BASE_URL.pair(base_url),
        OPENAI_MODEL.pair("scripted-demo"),
    ]
}
