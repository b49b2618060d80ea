//! What the rounds of a search leave to the next one, and to whoever cites.

use djinn_core::tool::ToolState;
use djinn_core::tool::search::{QueryFindings, SearchedPage};
use djinn_runtime::port::file::Files;
use djinn_runtime::port::tool::ToolContext;
use serde::{Deserialize, Serialize};

/// What was found so far.
#[derive(Debug, Default, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct SearchState {
    /// The pages that were read, in the order of their numbers: the first is `[1]`.
    pub(crate) sources: Vec<Source>,
    /// What was found, query by query, of all rounds, with the texts of the pages that were read.
    pub(crate) findings: Vec<QueryFindings>,
    /// What the engines named besides, which nobody was told.
    #[serde(default)]
    pub(crate) others: Vec<OtherFindings>,
}

/// The most bytes of the pages that were found besides and are kept.
const MAX_OTHER_BYTES: usize = 16_000_000;

/// What engines named for a query beyond what was wanted of them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct OtherFindings {
    pub(crate) found: QueryFindings,
    /// Whether there was still more, which is not kept.
    pub(crate) is_cut: bool,
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

    /// Takes what engines named besides, as far as there is room.
    pub(crate) fn add_others(&mut self, mut others: OtherFindings) {
        let count =
            |page: &SearchedPage| page.title.len() + page.url.len() + page.excerpt.len() + 50;
        let known = self.others.iter().flat_map(|others| &others.found.pages);
        let mut room = MAX_OTHER_BYTES.saturating_sub(known.map(count).sum());
        let fits = others.found.pages.iter().take_while(|page| {
            let bytes = count(page);
            let has_room = bytes <= room;
            room = room.saturating_sub(bytes);
            has_room
        });
        let kept = fits.count();
        others.is_cut |= kept < others.found.pages.len();
        others.found.pages.truncate(kept);
        if others.is_cut || kept > 0 {
            self.others.push(others);
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_what_was_found_besides_there_is_room_for_so_much() {
        let others = |pages: usize| {
            let page = |nth| SearchedPage {
                title: String::new(),
                url: format!("https://a.test/{nth}"),
                excerpt: "s".repeat(100_000),
            };
            let pages = (0..pages).map(page).collect();
            OtherFindings { found: QueryFindings { query: "q".to_owned(), pages }, is_cut: false }
        };
        let mut state = SearchState::default();
        for pages in [0, 100, 100] {
            state.add_others(others(pages));
        }
        let kept: Vec<_> =
            state.others.iter().map(|it| (it.found.pages.len(), it.is_cut)).collect();
        assert_eq!(kept, [(100, false), (59, true)]);
        let older: SearchState =
            serde_json::from_str(r#"{"sources": [], "findings": []}"#).unwrap();
        assert_eq!(older, SearchState::default());
    }
}
