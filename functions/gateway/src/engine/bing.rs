//! Bing's search API, version 7: `GET /v7.0/search`. Microsoft has retired the API, but other services offer
//! it.

use djinn_egress::EgressRequest;

use super::{AnswerError, AnswerShape, EngineQuestion, FoundPage, SearchEngine};

/// An engine with Bing's version 7 API.
pub(super) struct Bing;

impl SearchEngine for Bing {
    fn name(&self) -> &'static str {
        "bing"
    }

    fn service_url(&self) -> Option<&'static str> {
        None
    }

    fn usual_path(&self) -> &'static str {
        "/v7.0/search"
    }

    fn needs_key(&self) -> bool {
        true
    }

    fn request(&self, question: &EngineQuestion<'_>) -> EgressRequest {
        let request = question.get(&[
            ("q", question.query),
            ("count", &question.hits.to_string()),
            ("responseFilter", "Webpages"),
        ]);
        question.with_key(request, "Ocp-Apim-Subscription-Key", "")
    }

    fn read(&self, answer: &[u8]) -> Result<Vec<FoundPage>, AnswerError> {
        let shape = AnswerShape {
            list: "/webPages/value",
            may_miss: true,
            title: "name",
            url: "url",
            snippets: &["snippet"],
        };
        shape.read_pages(answer)
    }
}
