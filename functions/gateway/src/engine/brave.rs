//! Brave: `GET /res/v1/web/search`, with the key in a custom header.

use djinn_egress::EgressRequest;

use super::{AnswerError, AnswerShape, EngineQuestion, FoundPage, SearchEngine};

/// The search engine of search.brave.com.
pub(super) struct Brave;

impl SearchEngine for Brave {
    fn name(&self) -> &'static str {
        "brave"
    }

    fn service_url(&self) -> Option<&'static str> {
        Some("https://api.search.brave.com")
    }

    fn usual_path(&self) -> &'static str {
        "/res/v1/web/search"
    }

    fn needs_key(&self) -> bool {
        true
    }

    fn request(&self, question: &EngineQuestion<'_>) -> EgressRequest {
        let request = question.get(&[
            ("q", question.query),
            ("count", &question.hits.to_string()),
            ("result_filter", "web"),
            ("text_decorations", "false"),
        ]);
        question.with_key(request, "X-Subscription-Token", "")
    }

    fn read(&self, answer: &[u8]) -> Result<Vec<FoundPage>, AnswerError> {
        let shape = AnswerShape {
            list: "/web/results",
            may_miss: true,
            title: "title",
            url: "url",
            snippets: &["description"],
        };
        shape.read_pages(answer)
    }
}
