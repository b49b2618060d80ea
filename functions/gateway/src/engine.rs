//! Search engines: builds their requests and parses their responses. Nothing here uses the network.

mod bing;
mod brave;
mod cut_answer;
mod jina;
mod searxng;
mod serper;
mod tavily;
#[cfg(test)]
mod tests;

use djinn_egress::EgressRequest;
use djinn_runtime::port::secret::Secret;
use serde_json::Value;
use url::Url;

pub(crate) use cut_answer::close_json;

/// All supported engines; each is chosen by name.
pub(crate) static ENGINES: [&dyn SearchEngine; 6] =
    [&bing::Bing, &brave::Brave, &jina::Jina, &searxng::Searxng, &serper::Serper, &tavily::Tavily];

/// The engine-specific part of a search.
pub(crate) trait SearchEngine: Send + Sync {
    /// The engine's name in the settings.
    fn name(&self) -> &'static str;

    /// The URL of the engine's public service; `None` if each operator runs a server.
    fn service_url(&self) -> Option<&'static str>;

    /// The default path of the API, for URLs without a path.
    fn usual_path(&self) -> &'static str;

    /// Returns true if the service rejects requests without a key.
    fn needs_key(&self) -> bool;

    /// Builds the request for a query.
    fn request(&self, question: &EngineQuestion<'_>) -> EgressRequest;

    /// Returns the pages of a response, best first.
    fn read(&self, answer: &[u8]) -> Result<Vec<FoundPage>, AnswerError>;
}

/// A query with the engine's URL and key.
pub(crate) struct EngineQuestion<'a> {
    pub url: &'a Url,
    pub key: Option<&'a Secret>,
    pub query: &'a str,
    pub hits: u32,
}

impl EngineQuestion<'_> {
    /// Builds a GET request with the query in the URL's parameters.
    fn get(&self, parameters: &[(&str, &str)]) -> EgressRequest {
        let mut url = self.url.clone();
        url.query_pairs_mut().extend_pairs(parameters);
        let request = EgressRequest::get(url.as_str()).with_header("Accept", "application/json");
        EgressRequest { accept_redirects: false, ..request }
    }

    /// Builds a POST request with the query in a JSON body.
    fn post(&self, body: &Value) -> EgressRequest {
        let request = EgressRequest::post(self.url.as_str(), body.to_string().into_bytes())
            .with_header("Accept", "application/json")
            .with_header("Content-Type", "application/json");
        EgressRequest { accept_redirects: false, ..request }
    }

    /// Adds the key to a request's header.
    fn with_key(&self, request: EgressRequest, header: &str, scheme: &str) -> EgressRequest {
        match self.key {
            Some(key) => request.with_key(header, &format!("{scheme}{}", key.reveal())),
            None => request,
        }
    }
}

/// A page in an engine's results.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct FoundPage {
    pub title: String,
    pub url: String,
    pub snippet: String,
}

/// The reason a response cannot be used.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum AnswerError {
    #[error("it answered what is no JSON")]
    Json,
    #[error("it answered without `{0}`")]
    Missing(&'static str),
}

/// The field names of an engine's response.
struct AnswerShape {
    /// The list of pages, as a JSON pointer.
    list: &'static str,
    /// True if a response without pages may omit the list.
    may_miss: bool,
    title: &'static str,
    url: &'static str,
    /// Fields for the page's excerpt; the first non-empty text is used.
    snippets: &'static [&'static str],
}

impl AnswerShape {
    fn read_pages(&self, answer: &[u8]) -> Result<Vec<FoundPage>, AnswerError> {
        let answer: Value = serde_json::from_slice(answer).map_err(|_| AnswerError::Json)?;
        let pages = match answer.pointer(self.list) {
            Some(Value::Array(pages)) => pages.as_slice(),
            Some(_) | None if self.may_miss && answer.is_object() => &[],
            Some(_) | None => return Err(AnswerError::Missing(self.list.trim_start_matches('/'))),
        };
        let read = |page: &Value| {
            let text = |name: &str| page.get(name).and_then(Value::as_str).unwrap_or_default();
            let snippets = self.snippets.iter().map(|name| text(name));
            let snippet = snippets.into_iter().find(|text| !text.is_empty()).unwrap_or_default();
            FoundPage {
                title: text(self.title).to_owned(),
                url: text(self.url).to_owned(),
                snippet: snippet.to_owned(),
            }
        };
        Ok(pages.iter().map(read).collect())
    }
}
