//! The parts of a deployment that can change at run time: settings, models, agents and prompts.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use djinn_core::human::NeededKey;
use djinn_core::id::TenantId;
use djinn_outside::{OutsideDefinition, ToolOffer, WithheldTool};

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
    /// The tools that are files.
    pub tools: ConfiguredTools,
    /// The settings of `djinn.toml`; `None` before the first read.
    pub settings: Option<Arc<ConfiguredSettings>>,
    /// The problems with the texts, as sentences for clients too.
    pub problems: Arc<[String]>,
}

/// The tools that are files.
#[derive(Clone, Default)]
pub struct ConfiguredTools {
    /// The tools that can be called, disabled tools included.
    pub callable: Arc<[ConfiguredTool]>,
    /// The tools of servers that no run is offered, because of the lock file.
    pub withheld: Arc<[WithheldTool]>,
    /// The tools that their servers no longer have.
    pub gone: Arc<GoneTools>,
}

impl ConfiguredTools {
    /// Returns true if the tool's server no longer has the tool, as a call of this process found.
    #[must_use]
    pub fn is_gone(&self, tool: &ConfiguredTool) -> bool {
        self.gone.contains(tool.definition.name(), tool.definition.sha256())
    }

    /// Returns a warning, for clients too, about each enabled tool that its server no longer has. Other tenants' tools
    /// are left out.
    #[must_use]
    pub fn warn_of_gone_tools(&self, tenant: &TenantId) -> Vec<String> {
        let is_affected = |tool: &&ConfiguredTool| {
            let terms = tool.definition.terms();
            let offer = &terms.offer;
            terms.is_enabled && includes(&offer.tenants, tenant.as_str()) && self.is_gone(tool)
        };
        let gone = self.callable.iter().filter(is_affected);
        gone.filter_map(|tool| match &tool.definition {
            OutsideDefinition::Http(_) => None,
            OutsideDefinition::Mcp(tool) => Some(format!(
                "the server `{server}` no longer has the tool `{name}` that was locked: run `cargo xtask tools lock \
                 {server}`",
                server = tool.server,
                name = tool.own_name,
            )),
        })
        .collect()
    }
}

/// The tools that their servers no longer have, as the calls of this process found. A new definition of a tool, or a
/// successful call, ends the entry.
#[derive(Debug, Default)]
pub struct GoneTools {
    /// The definitions by the name of the tool.
    definitions: Mutex<BTreeMap<String, String>>,
}

impl GoneTools {
    /// Records that the server of a tool no longer has the tool with this definition.
    pub fn record(&self, tool: &str, definition: &str) {
        self.lock().insert(tool.to_owned(), definition.to_owned());
    }

    /// Removes the entry of a tool that was called.
    pub fn remove(&self, tool: &str) {
        self.lock().remove(tool);
    }

    fn contains(&self, tool: &str, definition: &str) -> bool {
        self.lock().get(tool).is_some_and(|gone| gone == definition)
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, String>> {
        self.definitions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A tool that is a file.
#[derive(Clone)]
pub struct ConfiguredTool {
    /// The definition in the file.
    pub definition: OutsideDefinition,
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
    /// Returns the caller's key that the tool needs.
    #[must_use]
    pub fn needed_key(&self) -> Option<NeededKey> {
        self.definition.needed_key()
    }

    /// Checks that the tool is offered to the runs of an audience.
    ///
    /// # Errors
    /// Returns the reason why no run of the audience is offered the tool.
    pub fn check_audience(&self, audience: &ToolAudience) -> Result<(), OfferProblem> {
        let terms = self.definition.terms();
        if terms.is_enabled {
            check_offer(&terms.offer, audience)
        } else {
            Err(OfferProblem::Disabled)
        }
    }
}

/// Checks that an offer includes the runs of an audience.
///
/// # Errors
/// Returns the reason why the offer includes no run of the audience.
pub fn check_offer(offer: &ToolOffer, audience: &ToolAudience) -> Result<(), OfferProblem> {
    if !includes(&offer.tenants, audience.user.tenant.as_str()) {
        Err(OfferProblem::Tenant)
    } else if !includes(&offer.modes, &audience.mode) {
        Err(OfferProblem::Mode)
    } else {
        Ok(())
    }
}

/// Returns true for no names, which stand for all, and for a name among them.
fn includes(names: &[String], name: &str) -> bool {
    names.is_empty() || names.iter().any(|own| own == name)
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
