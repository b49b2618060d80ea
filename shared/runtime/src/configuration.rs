//! The parts of a deployment that can change at run time: settings, models, agents and prompts.

use std::sync::Arc;
use std::time::Duration;

use djinn_outside::HttpTool;

use crate::content::ContentPolicy;
use crate::port::tool::{BoxFuture, OfferedAgents, Tool, ToolAudience};
use crate::prompt::Prompts;
use crate::settings::Settings;

/// Looks up a setting by the name of its environment variable, also later.
pub type Variables = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// The settings, models, agents and prompts of one moment.
pub struct Configuration<M> {
    /// The prompts, which never change.
    pub prompts: Arc<Prompts>,
    /// The models with the settings of the same moment.
    pub model: Arc<M>,
    /// The agents, modes included.
    pub agents: Arc<[Arc<dyn Tool>]>,
    /// The tools that are files, disabled tools included, in the order of their names.
    pub tools: Arc<[ConfiguredTool]>,
    /// The settings of `djinn.toml`; `None` before the first read.
    pub settings: Option<Arc<ConfiguredSettings>>,
    /// The problems with the texts, as sentences for clients too.
    pub problems: Arc<[String]>,
}

/// A tool that is a file.
#[derive(Clone)]
pub struct ConfiguredTool {
    /// The definition in the file.
    pub definition: Arc<HttpTool>,
    /// The tool for models.
    pub tool: Arc<dyn Tool>,
}

/// The reason why a run is not offered a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OfferProblem {
    /// The file says `enabled = false`.
    Disabled,
    /// The file names other tenants.
    Tenant,
    /// The file names other modes.
    Mode,
}

impl ConfiguredTool {
    /// Checks that the tool is offered to the runs of an audience.
    ///
    /// # Errors
    /// Returns the reason why no run of the audience is offered the tool.
    pub fn check_audience(&self, audience: &ToolAudience) -> Result<(), OfferProblem> {
        let offer = &self.definition.offer;
        let excludes =
            |names: &[String], name: &str| !names.is_empty() && names.iter().all(|own| own != name);
        if !self.definition.is_enabled {
            Err(OfferProblem::Disabled)
        } else if excludes(&offer.tenants, audience.user.tenant.as_str()) {
            Err(OfferProblem::Tenant)
        } else if excludes(&offer.modes, &audience.mode) {
            Err(OfferProblem::Mode)
        } else {
            Ok(())
        }
    }
}

/// The settings of a moment that count for a process already at work.
pub struct ConfiguredSettings {
    /// The environment, and below it the fields of `djinn.toml`.
    pub variables: Variables,
    /// The periods and limits of drivers, of which [`Settings::apply_configured`] takes those that may change.
    pub settings: Settings,
    /// The policy for incoming and outgoing texts.
    pub content: Arc<ContentPolicy>,
    /// The agents offered to users' runs.
    pub offered_agents: OfferedAgents,
}

/// Reads a configuration folder again. A broken file keeps its last valid version, which is logged.
pub trait ConfigurationSource<M>: Send + Sync {
    /// Reads changed files, unless the last read is within `fresh`. Of several concurrent callers one reads,
    /// and the others wait.
    fn update(&self, now_ms: i64, fresh: Duration) -> BoxFuture<'_, ()>;

    /// Returns false while the settings were never read, so that their limits and content rules are unknown.
    fn is_ready(&self) -> bool;

    /// Returns the configuration of the last read.
    fn current(&self) -> Arc<Configuration<M>>;
}
