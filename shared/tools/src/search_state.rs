//! The state of a search between rounds, also used for citations.

use djinn_core::tool::ToolState;
use djinn_core::tool::search::{QueryFindings, SearchedPage};
use djinn_runtime::port::StoreError;
use djinn_runtime::port::file::Files;
use djinn_runtime::port::tool::{ToolContext, ToolError};
use djinn_runtime::prompt::{self, Prompts};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::job_files::render_error;

/// The name of the tool that keeps the state.
pub(crate) const SEARCH_TOOL: &str = "search_round";

/// The findings so far.
#[derive(Debug, Default, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct SearchState {
    /// The pages read, in order of their numbers: the first is `[1]`.
    pub(crate) sources: Vec<Source>,
    /// The findings of all rounds by query, with the texts of the pages read.
    pub(crate) findings: Vec<QueryFindings>,
    /// The engines' further results, not shown to the model.
    #[serde(default)]
    pub(crate) others: Vec<OtherFindings>,
}

/// Maximum bytes of further results kept.
const MAX_OTHER_BYTES: usize = 16_000_000;

/// An engine's results for a query beyond the requested number.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct OtherFindings {
    pub(crate) found: QueryFindings,
    /// True if more results were dropped.
    pub(crate) is_cut: bool,
}

/// A page read, available for citations.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Source {
    pub(crate) title: String,
    pub(crate) url: String,
}

impl SearchState {
    /// Loads the state of the run's earlier rounds.
    ///
    /// # Errors
    /// Returns an error for the model if the state is unreadable: a new state would assign numbers twice.
    pub(crate) async fn load<F: Files>(
        files: &F,
        prompts: &Prompts,
        context: &ToolContext,
    ) -> Result<Self, ToolError> {
        let Some(state) = &context.state else { return Ok(Self::default()) };
        let result = files.read_state(&context.session, state).await;
        let bytes = result.map_err(|error| {
            tracing::warn!(%error, "what was found is not read");
            render_error(prompts, context, prompt::FILE_UNAVAILABLE, json!({}))
        })?;
        Ok(serde_json::from_slice(&bytes).unwrap_or_default())
    }

    /// Stores the state for the next round.
    ///
    /// # Errors
    /// Returns an error for the model if the state is not stored, because citations of lost pages would be
    /// invalid.
    pub(crate) async fn keep<F: Files>(
        &self,
        files: &F,
        prompts: &Prompts,
        context: &ToolContext,
    ) -> Result<Box<ToolState>, ToolError> {
        let result = match serde_json::to_vec(self) {
            Ok(bytes) => files.write_state(&context.session, &bytes).await,
            Err(error) => Err(StoreError::Unreadable(error.to_string())),
        };
        result.map(Box::new).map_err(|error| {
            tracing::warn!(%error, "what was found is not kept");
            render_error(prompts, context, prompt::FILE_UNAVAILABLE, json!({}))
        })
    }

    /// Returns the number of a page read, from 1.
    pub(crate) fn number_of(&self, url: &str) -> Option<usize> {
        self.sources.iter().position(|source| source.url == url).map(|at| at + 1)
    }

    /// Adds further results, within the limit.
    pub(crate) fn add_others(&mut self, mut others: OtherFindings) {
        let count =
            |page: &SearchedPage| page.title.len() + page.url.len() + page.excerpt.len() + 50;
        let stored_pages = self.others.iter().flat_map(|others| &others.found.pages);
        let mut room = MAX_OTHER_BYTES.saturating_sub(stored_pages.map(count).sum());
        let fits = others.found.pages.iter().take_while(|page| {
            let bytes = count(page);
            let has_room = bytes <= room;
            room = room.saturating_sub(bytes);
            has_room
        });
        let page_count = fits.count();
        others.is_cut |= page_count < others.found.pages.len();
        others.found.pages.truncate(page_count);
        if others.is_cut || page_count > 0 {
            self.others.push(others);
        }
    }

    /// Adds a page read. Returns its number, from 1.
    pub(crate) fn add_source(&mut self, source: Source) -> usize {
        if let Some(number) = self.number_of(&source.url) {
            return number;
        }
        self.sources.push(source);
        self.sources.len()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use djinn_core::file::ProductFile;
    use djinn_core::id::{CallId, FileName, Path, RunId, SessionId, TenantId, UserId};
    use djinn_core::language::Language;
    use djinn_runtime::port::SessionKey;
    use djinn_runtime::port::file::NewFile;
    use djinn_runtime::port::tool_progress::ToolProgress;

    use super::*;

    /// A store with one state and no room for more.
    pub(crate) struct FullStore(pub(crate) Option<&'static str>);

    impl Files for FullStore {
        async fn write_file(
            &self,
            _: &SessionKey,
            _: &NewFile,
            _: &[u8],
        ) -> Result<ProductFile, StoreError> {
            unreachable!("no file is written")
        }

        async fn find_file(
            &self,
            _: &SessionKey,
            _: &FileName,
        ) -> Result<Option<ProductFile>, StoreError> {
            unreachable!("no file is looked for")
        }

        async fn find_arrived(
            &self,
            _: &SessionKey,
            _: &[ProductFile],
        ) -> Result<Vec<ProductFile>, StoreError> {
            unreachable!("no file is looked for")
        }

        async fn list_files(&self, _: &SessionKey) -> Result<Vec<ProductFile>, StoreError> {
            unreachable!("no file is looked for")
        }

        async fn write_state(&self, _: &SessionKey, _: &[u8]) -> Result<ToolState, StoreError> {
            Err(StoreError::Unavailable("it is full".to_owned()))
        }

        async fn read_state(&self, _: &SessionKey, _: &ToolState) -> Result<Vec<u8>, StoreError> {
            let state = self.0.map(|state| state.as_bytes().to_vec());
            state.ok_or_else(|| StoreError::Unavailable("it is gone".to_owned()))
        }

        async fn read_file(
            &self,
            _: &SessionKey,
            _: &ProductFile,
            _: u64,
        ) -> Result<Vec<u8>, StoreError> {
            unreachable!("no file is read")
        }
    }

    /// Returns the context of a call, in a run with or without a stored state.
    pub(crate) fn context(has_state: bool) -> ToolContext {
        let tenant = TenantId::new("t").unwrap();
        let owner = UserId::new("u").unwrap();
        ToolContext {
            run: RunId::new(format!("run_{}", "0".repeat(32))).unwrap(),
            path: Path::default(),
            user: owner.clone(),
            session: SessionKey { tenant, owner, session: SessionId::new("s").unwrap() },
            files: Vec::new(),
            call: CallId::new("t1.c1").unwrap(),
            attempt: 1,
            interrupts: 0,
            language: Language::En,
            time_zone: Default::default(),
            max_observe: 10_000,
            max_input_tokens: 0,
            state: has_state.then(|| ToolState { object: "o".to_owned(), size: 1, owner: None }),
            mask_pii: false,
            progress: ToolProgress::default(),
        }
    }

    #[tokio::test]
    async fn what_was_kept_and_cannot_be_read_is_not_as_if_there_were_none() {
        let prompts = Prompts::default();
        let one = r#"{"sources": [{"title": "T", "url": "u"}], "findings": []}"#;
        for (has_state, stored_state, sources) in [
            (false, None, Some(0)),
            (true, Some(one), Some(1)),
            (true, None, None),
            (true, Some("of another tool"), Some(0)),
        ] {
            let result =
                SearchState::load(&FullStore(stored_state), &prompts, &context(has_state)).await;
            assert_eq!(result.ok().map(|state| state.sources.len()), sources, "{stored_state:?}");
        }
        let state = SearchState::default();
        let error = state.keep(&FullStore(None), &prompts, &context(false)).await.unwrap_err();
        let ToolError::Failed { detail, .. } = error else { unreachable!("it asks nobody") };
        assert!(detail.contains("could not be reached"), "{detail}");
    }

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
        let page_counts: Vec<_> =
            state.others.iter().map(|it| (it.found.pages.len(), it.is_cut)).collect();
        assert_eq!(page_counts, [(100, false), (59, true)]);
        let older: SearchState =
            serde_json::from_str(r#"{"sources": [], "findings": []}"#).unwrap();
        assert_eq!(older, SearchState::default());
    }
}
