//! What the rounds of a search leave to the next one, and to whoever cites.

use djinn_core::tool::ToolState;
use djinn_core::tool::search::QueryFindings;
use djinn_runtime::port::file::Files;
use djinn_runtime::port::tool::ToolContext;
use serde::{Deserialize, Serialize};

/// What was found so far.
#[derive(Debug, Default, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct SearchState {
    /// The pages that were read, in the order of their numbers: the first is `[1]`.
    pub(crate) sources: Vec<Source>,
    /// What was found, query by query, of all rounds.
    pub(crate) findings: Vec<QueryFindings>,
}

/// A page that was read and may be cited.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Source {
    pub(crate) title: String,
    pub(crate) url: String,
}

impl SearchState {
    /// What earlier rounds of this run left; nothing where it cannot be read.
    pub(crate) async fn load<F: Files>(files: &F, context: &ToolContext) -> Self {
        let Some(state) = &context.state else { return Self::default() };
        let read = files.read_state(&context.session, state).await;
        let read = read.inspect_err(|error| tracing::warn!(%error, "what was found is not read"));
        read.ok().and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default()
    }

    /// Keeps it for the next.
    pub(crate) async fn keep<F: Files>(
        &self,
        files: &F,
        context: &ToolContext,
    ) -> Option<Box<ToolState>> {
        let bytes = serde_json::to_vec(self).ok()?;
        let kept = files.write_state(&context.session, &bytes).await;
        kept.inspect_err(|error| tracing::warn!(%error, "what was found is not kept"))
            .ok()
            .map(Box::new)
    }

    /// The number of a page that was read; from 1.
    pub(crate) fn number_of(&self, url: &str) -> Option<usize> {
        self.sources.iter().position(|source| source.url == url).map(|at| at + 1)
    }

    /// Takes a page that was read. Its number, from 1.
    pub(crate) fn add_source(&mut self, source: Source) -> usize {
        if let Some(number) = self.number_of(&source.url) {
            return number;
        }
        self.sources.push(source);
        self.sources.len()
    }
}
