//! SearXNG: `GET /search` of a self-hosted server with `json` among the enabled formats.

use djinn_egress::EgressRequest;

use super::{AnswerError, AnswerShape, EngineQuestion, FoundPage, SearchEngine};

/// The SearXNG metasearch engine.
pub(super) struct Searxng;

impl SearchEngine for Searxng {
    fn name(&self) -> &'static str {
        "searxng"
    }

    fn service_url(&self) -> Option<&'static str> {
        None
    }

    fn usual_path(&self) -> &'static str {
        "/search"
    }

    fn needs_key(&self) -> bool {
        false
    }

    fn request(&self, question: &EngineQuestion<'_>) -> EgressRequest {
        let request = question.get(&[("q", question.query), ("format", "json")]);
        question.with_key(request, "Authorization", "Bearer ")
    }

    fn read(&self, answer: &[u8]) -> Result<Vec<FoundPage>, AnswerError> {
        let shape = AnswerShape {
            list: "/results",
            may_miss: false,
            title: "title",
            url: "url",
            snippets: &["content"],
        };
        shape.read_pages(answer)
    }
}
