//! The agent: the state shared by all routes.

use std::sync::Arc;

use djinn_runtime::port::file_url::FileUrls;
use djinn_runtime::port::stream::Streams;
use djinn_runtime::world::Ports;

use crate::settings::Settings;

/// The world of the routes: a driver's world with file URLs and stream permits.
pub trait AgentPorts: Ports<Store: FileUrls + Streams> {}

impl<P: Ports<Store: FileUrls + Streams>> AgentPorts for P {}

/// The state of the routes.
pub struct Agent<P> {
    /// The world of the runs.
    pub ports: P,
    /// The deployment's settings.
    pub settings: Settings,
}

impl<P: Ports> Agent<P> {
    /// Returns the agent with the deployment's current settings, prompts and models. Without a configuration
    /// folder, nothing changes. Identities, the keys and URL of links, and stream slots stay as they were at the start.
    pub(crate) async fn refresh(self: &Arc<Self>) -> Arc<Self> {
        let ports = self.ports.refresh().await;
        if Arc::ptr_eq(ports.variables(), self.ports.variables()) {
            return Arc::clone(self);
        }
        // The settings were checked when they were read.
        let settings = Settings::from_vars(&**ports.variables());
        let settings = settings.unwrap_or_else(|_| self.settings.clone());
        Arc::new(Self { ports, settings })
    }
}

/// The agent as shared by the routes.
pub type SharedAgent<P> = Arc<Agent<P>>;
