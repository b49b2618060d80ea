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
    /// The deployment's settings, read once at start.
    pub settings: Settings,
}

/// The agent as shared by the routes.
pub type SharedAgent<P> = Arc<Agent<P>>;
