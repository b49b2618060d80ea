//! Sources of tools besides a deployment's own tools.

use std::sync::Arc;

use djinn_core::input::RunSpec;
use djinn_core::settings::OutputStyle;

use super::{BoxFuture, Tool};
use crate::port::UserKey;

/// The audience of offered tools: the same for a run and its children, from start to end.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ToolAudience {
    /// The user who started the run.
    pub user: UserKey,
    /// The name of the mode at the root of the run's tree.
    pub mode: String,
    /// The requested form of the answer, if any.
    pub output_style: Option<OutputStyle>,
}

impl ToolAudience {
    /// Returns the audience of a run or a child.
    #[must_use]
    pub fn of(spec: &RunSpec) -> Self {
        let mode = spec.settings.mode.clone();
        let output_style = spec.output_style;
        Self { user: UserKey::of(spec), mode, output_style }
    }
}

/// The reason for which a source lists no tools. The text is for logs, never for users.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ToolSourceError(pub String);

/// A source of tools for an audience: a server, a tenant's catalogue, a user's accounts.
///
/// The source is read before each turn and each call, at most every five seconds per audience, or for all
/// audiences together. An answer after more than five seconds counts as failed; the last good answer is then
/// used. A tool whose schema, effect class or policy has changed since a turn's offer is not run by a call of
/// that turn.
pub trait ToolSource: Send + Sync {
    /// Returns the name for logs.
    fn name(&self) -> &str;

    /// Returns the tools for this audience.
    fn list_tools<'a>(
        &'a self,
        audience: &'a ToolAudience,
    ) -> BoxFuture<'a, Result<Vec<Arc<dyn Tool>>, ToolSourceError>>;

    /// Returns true if every audience is offered the same tools, so that one cached answer is enough.
    fn is_same_for_all(&self) -> bool {
        false
    }

    /// Returns true if the source has a cache of its own: it is then read before each turn and each call.
    fn has_cache(&self) -> bool {
        false
    }
}
