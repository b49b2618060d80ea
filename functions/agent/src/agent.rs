//! The agent: what its routes share.

use std::sync::Arc;

use djinn_runtime::port::file_url::FileUrls;
use djinn_runtime::port::stream::Streams;
use djinn_runtime::world::Ports;

use crate::settings::Settings;

/// The world as the routes see it: a driver's, with URLs of files and with streams that are counted.
pub trait AgentPorts: Ports<Store: FileUrls + Streams> {}

impl<P: Ports<Store: FileUrls + Streams>> AgentPorts for P {}

/// What the routes work with.
pub struct Agent<P> {
    /// The world that runs are driven in.
    pub ports: P,
    /// The settings hold for the whole deployment; its variables are read once, at the start.
    pub settings: Settings,
}

/// An agent as the routes share it.
pub type SharedAgent<P> = Arc<Agent<P>>;
