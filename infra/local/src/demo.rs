//! The scripted demo model, for a laptop without a model. The model knows a few kinds of questions, and says
//! so. Also the demo site, searched on a laptop without an engine.

use std::path::Path;
use std::time::Duration;

use agent::DEMO_MODEL;
use djinn_scripted::{Script, ScriptedModel};
use djinn_settings::table::model::{
    ANTHROPIC_API_KEY, MODELS, OPENAI_API_KEY, OPENAI_BASE_URL, OPENAI_MODEL,
};

use djinn_settings::table::web::{EGRESS_ORIGINS, SEARCH};
use serde_json::json;

use crate::demo_search::DemoSite;
use crate::system::SystemError;

/// Delay between two pieces of a response, to make streaming visible.
const PACE: Duration = Duration::from_millis(30);

/// Starts the demo model, unless a model is configured.
pub(crate) async fn start_if_needed(
    var: &(dyn Fn(&str) -> Option<String> + Send + Sync),
) -> Result<Option<ScriptedModel>, SystemError> {
    let own = [&MODELS, &OPENAI_API_KEY, &ANTHROPIC_API_KEY];
    if own.iter().any(|setting| setting.find_text(var).is_some()) {
        return Ok(None);
    }
    let model = ScriptedModel::start_with(Script::demo().with_delay(PACE)).await;
    model.map(Some).map_err(SystemError::Demo)
}

/// Returns the variables for connecting to the demo model, which is its own second model.
pub(crate) fn model_variables(base_url: &str) -> [(&'static str, String); 4] {
    let model = json!({
        "provider": "openai", "model": DEMO_MODEL, "base_url": base_url,
        "key": format!("env:{}", OPENAI_API_KEY.name),
    });
    let models = json!({"models": {"default": model}, "roles": {"second": "default"}});
    [
        MODELS.pair(models.to_string()),
        // Must not be a word of the model's texts: keys are removed from provider responses.
        OPENAI_API_KEY.pair("scripted-demo-key"),
        OPENAI_BASE_URL.pair(base_url),
        OPENAI_MODEL.pair(DEMO_MODEL),
    ]
}

/// Starts the demo site in this folder, unless an engine is configured.
pub(crate) async fn start_site_if_needed(
    var: &(dyn Fn(&str) -> Option<String> + Send + Sync),
    folder: Option<&Path>,
) -> Result<Option<DemoSite>, SystemError> {
    let Some(folder) = folder.filter(|_| SEARCH.find_text(var).is_none()) else { return Ok(None) };
    DemoSite::start(folder).await.map(Some).map_err(SystemError::Site)
}

/// Returns the variable for reaching the demo site, besides the configured `origins`.
pub(crate) fn site_variable(base_url: &str, origins: Option<String>) -> (&'static str, String) {
    let origins: Vec<String> = origins.into_iter().chain([base_url.to_owned()]).collect();
    EGRESS_ORIGINS.pair(origins.join(","))
}

/// Returns the engine of the demo site, as the text of the setting.
pub(crate) fn site_engines(base_url: &str) -> String {
    json!([{"engine": "searxng", "url": format!("{base_url}/search")}]).to_string()
}
