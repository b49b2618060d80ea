//! A site on this machine with pages of a test's, and search engines over them that answer what they are told.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::{Response, StatusCode, header};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// A request as the site saw it.
#[derive(Debug, Clone)]
pub(crate) struct SiteRequest {
    /// Path and query.
    pub(crate) target: String,
    /// The headers, a line each.
    pub(crate) headers: String,
    pub(crate) body: String,
}

/// A page as it is sent.
#[derive(Clone)]
struct SitePage {
    media_type: String,
    encoding: &'static str,
    content: Vec<u8>,
}

/// Pages, and what was asked of them. It stops when it is dropped.
pub(crate) struct Site {
    pub(crate) url: String,
    shared: Arc<Shared>,
    task: JoinHandle<()>,
}

#[derive(Default)]
struct Shared {
    pages: Mutex<BTreeMap<String, SitePage>>,
    requests: Mutex<Vec<SiteRequest>>,
}

impl Site {
    pub(crate) async fn start() -> Self {
        Self::start_at(0).await
    }

    /// Starts a site at this port of this machine; 0 for any free port.
    pub(crate) async fn start_at(port: u16) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", port)).await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let shared = Arc::new(Shared::default());
        let app = Router::new().fallback(answer).with_state((url.clone(), Arc::clone(&shared)));
        let task = tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
        Self { url, shared, task }
    }

    /// Puts a page there; its text is in one paragraph.
    pub(crate) fn put_page(&self, path: &str, title: &str, text: &str) {
        let html = format!(
            "<!DOCTYPE html><html><head><title>{title}</title></head><body><article><h1>{title}</h1>\
             <p>{text}</p></article></body></html>"
        );
        self.put(path, "text/html; charset=utf-8", &html);
    }

    /// Puts anything there.
    pub(crate) fn put(&self, path: &str, media_type: &str, content: &str) {
        self.put_encoded(path, media_type, "identity", content.as_bytes());
    }

    /// Puts anything there, in an encoding.
    pub(crate) fn put_encoded(
        &self,
        path: &str,
        media_type: &str,
        encoding: &'static str,
        content: &[u8],
    ) {
        let (media_type, content) = (media_type.to_owned(), content.to_owned());
        let page = SitePage { media_type, encoding, content };
        self.shared.pages.lock().unwrap().insert(path.to_owned(), page);
    }

    /// What was asked so far.
    pub(crate) fn requests(&self) -> Vec<SiteRequest> {
        self.shared.requests.lock().unwrap().clone()
    }

    /// The whole address of one of its pages.
    pub(crate) fn page_url(&self, path: &str) -> String {
        format!("{}{path}", self.url)
    }

    /// `DJINN_SEARCH__ENGINES` for an engine of this shape here.
    pub(crate) fn engine(&self, engine: &str) -> String {
        let path = if engine == "searxng" { "/search" } else { "/engine" };
        json!([{"engine": engine, "url": self.page_url(path), "key": "env:ENGINE_KEY"}]).to_string()
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// The pages that a query finds: those whose text has one of its words, in the order of their paths.
fn find(url: &str, shared: &Shared, query: &str) -> Vec<(String, String)> {
    let words: Vec<String> = query.split_whitespace().map(str::to_lowercase).collect();
    let pages = shared.pages.lock().unwrap();
    let is_found = |page: &SitePage| {
        let text = String::from_utf8_lossy(&page.content).to_lowercase();
        words.iter().any(|word| text.contains(word))
    };
    let found = pages.iter().filter(|(path, page)| *path != "/robots.txt" && is_found(page));
    found.map(|(path, _)| (format!("{url}{path}"), format!("Page {path}"))).collect()
}

async fn answer(
    State((url, shared)): State<(String, Arc<Shared>)>,
    request: Request,
) -> Response<Body> {
    let target = request.uri().to_string();
    let headers = request.headers().iter();
    let headers: Vec<String> =
        headers.map(|(name, value)| format!("{name}: {}", value.to_str().unwrap_or("?"))).collect();
    let path = request.uri().path().to_owned();
    let query = request.uri().query().unwrap_or_default().to_owned();
    let body = to_bytes(request.into_body(), 1_000_000).await.unwrap();
    let body = String::from_utf8_lossy(&body).into_owned();
    let seen = SiteRequest { target, headers: headers.join("\n"), body: body.clone() };
    shared.requests.lock().unwrap().push(seen);
    match path.as_str() {
        // SearXNG's shape.
        "/search" => {
            let asked = query.split('&').find_map(|pair| pair.strip_prefix("q="));
            let found = find(&url, &shared, &asked.unwrap_or_default().replace('+', " "));
            let results: Vec<Value> = found
                .into_iter()
                .map(|(url, title)| json!({"url": url, "title": title, "content": "a snippet"}))
                .collect();
            json_response(&json!({"results": results}))
        }
        // Tavily's.
        "/engine" => {
            let asked: Value = serde_json::from_str(&body).unwrap_or_default();
            let found = find(&url, &shared, asked["query"].as_str().unwrap_or_default());
            let results: Vec<Value> = found
                .into_iter()
                .map(|(url, title)| json!({"url": url, "title": title, "content": "a snippet", "score": 0.9}))
                .collect();
            json_response(&json!({"results": results}))
        }
        "/broken" => response(StatusCode::INTERNAL_SERVER_ERROR, "text/plain", "away"),
        path => match shared.pages.lock().unwrap().get(path) {
            Some(page) => page.to_response(),
            None => response(StatusCode::NOT_FOUND, "text/plain", "nothing"),
        },
    }
}

impl SitePage {
    fn to_response(&self) -> Response<Body> {
        let response = Response::builder().header(header::CONTENT_TYPE, &self.media_type);
        let response = response.header(header::CONTENT_ENCODING, self.encoding);
        response.body(Body::from(self.content.clone())).unwrap()
    }
}

fn json_response(value: &Value) -> Response<Body> {
    response(StatusCode::OK, "application/json", &value.to_string())
}

fn response(status: StatusCode, media_type: &str, content: &str) -> Response<Body> {
    let response = Response::builder().status(status).header(header::CONTENT_TYPE, media_type);
    response.body(Body::from(content.to_owned())).unwrap()
}
