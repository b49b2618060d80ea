//! Jina: `GET /`, with the key as a bearer token. Jina's page contents are not requested.

use djinn_egress::EgressRequest;

use super::{AnswerError, AnswerShape, EngineQuestion, FoundPage, SearchEngine};

/// The search engine of jina.ai.
pub(super) struct Jina;

impl SearchEngine for Jina {
    fn name(&self) -> &'static str {
        "jina"
    }

    fn service_url(&self) -> Option<&'static str> {
        Some("https://s.jina.ai")
    }

    fn usual_path(&self) -> &'static str {
        "/"
    }

    fn needs_key(&self) -> bool {
        true
    }

    fn request(&self, question: &EngineQuestion<'_>) -> EgressRequest {
        let parameters = [("q", question.query), ("num", &question.hits.to_string())];
        let request = question.get(&parameters).with_header("X-Respond-With", "no-content");
        question.with_key(request, "Authorization", "Bearer ")
    }

    fn read(&self, answer: &[u8]) -> Result<Vec<FoundPage>, AnswerError> {
        let shape = AnswerShape {
            list: "/data",
            may_miss: false,
            title: "title",
            url: "url",
            snippets: &["description", "content"],
        };
        shape.read_pages(answer)
    }
}
