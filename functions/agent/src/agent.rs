//! The agent: what its routes share.

use std::sync::Arc;

use crate::settings::Settings;

/// What the routes work with.
pub struct Agent<P> {
    /// The world that runs are driven in.
    pub ports: P,
    /// The settings hold for the whole deployment; its variables are read once, at the start.
    pub settings: Settings,
}

/// An agent as the routes share it.
pub type SharedAgent<P> = Arc<Agent<P>>;
