//! Bing's search of version 7, which others speak since Microsoft has stopped: `GET /v7.0/search`.

use djinn_egress::EgressRequest;

use super::{AnswerError, AnswerShape, EngineQuestion, FoundPage, SearchEngine};

/// An engine that speaks as Bing's did.
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
