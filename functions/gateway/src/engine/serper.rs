//! Serper: `POST /search`, with the query in JSON and the key in a custom header.

use djinn_egress::EgressRequest;
use serde_json::json;

use super::{AnswerError, AnswerShape, EngineQuestion, FoundPage, SearchEngine};

/// The search engine of serper.dev.
pub(super) struct Serper;

impl SearchEngine for Serper {
    fn name(&self) -> &'static str {
        "serper"
    }

    fn service_url(&self) -> Option<&'static str> {
        Some("https://google.serper.dev")
    }

    fn usual_path(&self) -> &'static str {
        "/search"
    }

    fn needs_key(&self) -> bool {
        true
    }

    fn request(&self, question: &EngineQuestion<'_>) -> EgressRequest {
        let request = question.post(&json!({"q": question.query, "num": question.hits}));
        question.with_key(request, "X-API-KEY", "")
    }

    fn read(&self, answer: &[u8]) -> Result<Vec<FoundPage>, AnswerError> {
        let shape = AnswerShape {
            list: "/organic",
            may_miss: true,
            title: "title",
            url: "link",
            snippets: &["snippet"],
        };
        shape.read_pages(answer)
    }
}
