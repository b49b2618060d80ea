//! Tavily: `POST /search`, with the query in JSON and the key as a bearer token.

use djinn_egress::EgressRequest;
use serde_json::json;

use super::{AnswerError, AnswerShape, EngineQuestion, FoundPage, SearchEngine};

/// The search engine of tavily.com.
pub(super) struct Tavily;

impl SearchEngine for Tavily {
    fn name(&self) -> &'static str {
        "tavily"
    }

    fn service_url(&self) -> Option<&'static str> {
        Some("https://api.tavily.com")
    }

    fn usual_path(&self) -> &'static str {
        "/search"
    }

    fn needs_key(&self) -> bool {
        true
    }

    fn request(&self, question: &EngineQuestion<'_>) -> EgressRequest {
        let request = question.post(&json!({
            "query": question.query,
            "max_results": question.hits,
            "search_depth": "basic",
        }));
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
