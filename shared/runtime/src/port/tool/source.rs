//! Where tools come from that are not a deployment's own.

use std::sync::Arc;

use djinn_core::input::RunSpec;
use djinn_core::settings::{Mode, OutputStyle};

use super::{BoxFuture, Tool};
use crate::port::UserKey;

/// Whom tools are offered to. A run and its children have the same from beginning to end.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ToolAudience {
    /// Who asked, in their tenant.
    pub user: UserKey,
    /// How the run works on the question.
    pub mode: Mode,
    /// The form that the answer is to take, if one was named.
    pub output_style: Option<OutputStyle>,
}

impl ToolAudience {
    /// The audience that a run is, or the run of a child.
    #[must_use]
    pub fn of(spec: &RunSpec) -> Self {
        let (mode, output_style) = (spec.settings.mode, spec.output_style);
        Self { user: UserKey::of(spec), mode, output_style }
    }
}

/// Why a source lists no tools. Its text is for logs, never for users.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ToolSourceError(pub String);

/// Lists tools for an audience: those of a server, of a tenant's catalogue, of a user's accounts.
///
/// It is asked before each turn and each call, at most every five seconds for each audience, or for all of
/// them together. What takes longer than that to answer counts as failed; the last good answer holds then. A
/// tool that has another schema, effect class or policy than a turn was offered is not run by a call of that
/// turn.
pub trait ToolSource: Send + Sync {
    /// What logs call it by.
    fn name(&self) -> &str;

    /// The tools that this audience is offered.
    fn list_tools<'a>(
        &'a self,
        audience: &'a ToolAudience,
    ) -> BoxFuture<'a, Result<Vec<Arc<dyn Tool>>, ToolSourceError>>;

    /// Whether every audience is offered the same, so that one answer holds for all of them.
    fn is_same_for_all(&self) -> bool {
        false
    }

    /// What was wrong when it was last asked with what its tools are made of, in sentences for clients too.
    /// `None` for a source that tells of nothing: it is not asked for that when a run starts.
    fn list_problems(&self) -> Option<Vec<String>> {
        None
    }
}
