//! The demo site and a search engine over the site, on loopback, for a laptop without a configured engine.
//! The API is SearXNG's, and each result names the engine `demo`.

mod index;
mod page_text;

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;

use axum::Router;
use axum::extract::{RawQuery, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Json, Response};
use axum::routing::get;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tower_http::services::ServeDir;

use crate::serve::{ServeTimeouts, serve, with_body_timeout};
use index::SiteIndex;

/// The engine's name in every result.
const ENGINE: &str = "demo";

/// Maximum number of results per response, as on a page of a SearXNG instance.
const MAX_HITS: usize = 10;

/// A running demo site with its search engine. Dropping the value stops both.
#[derive(Debug)]
pub struct DemoSite {
    address: SocketAddr,
    task: JoinHandle<()>,
}

/// The state of the search route.
#[derive(Clone)]
struct SearchRoute {
    index: Arc<SiteIndex>,
    base_url: String,
}

impl DemoSite {
    /// Reads the pages of a folder, and serves the pages and a search index on a free loopback port. Pages in
    /// subfolders are served but not indexed.
    ///
    /// # Errors
    /// Returns an error if the folder cannot be read or has no page, or if no port can be opened.
    pub async fn start(folder: &Path) -> io::Result<Self> {
        let index = Arc::new(SiteIndex::read(folder)?);
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let route = SearchRoute { index, base_url: format!("http://{address}") };
        let app = Router::new()
            .route("/search", get(answer_search))
            .with_state(route)
            .fallback_service(ServeDir::new(folder));
        let patience = ServeTimeouts::default();
        let task = tokio::spawn(serve(listener, with_body_timeout(app, patience), patience));
        Ok(Self { address, task })
    }

    /// The origin of the site; the search engine is at `/search`.
    #[must_use]
    pub fn base_url(&self) -> String {
        format!("http://{}", self.address)
    }
}

impl Drop for DemoSite {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Searches for `q`. As in SearXNG, a format other than the offered ones is rejected.
async fn answer_search(State(route): State<SearchRoute>, RawQuery(raw): RawQuery) -> Response {
    let raw = raw.unwrap_or_default();
    let find_value = |name: &str| {
        let mut pairs = form_urlencoded::parse(raw.as_bytes());
        pairs.find(|(key, _)| key == name).map(|(_, value)| value.into_owned())
    };
    let query = find_value("q").unwrap_or_default();
    if query.trim().is_empty() {
        return (StatusCode::BAD_REQUEST, "the parameter q is missing").into_response();
    }
    if find_value("format").as_deref() != Some("json") {
        return (StatusCode::FORBIDDEN, "this engine answers format=json alone").into_response();
    }
    let is_first_page = find_value("pageno").is_none_or(|page| page == "1");
    let hits = if is_first_page { route.index.search_pages(&query, MAX_HITS) } else { Vec::new() };
    let results = hits.iter().map(|hit| {
        json!({
            "title": hit.title,
            "url": format!("{}/{}", route.base_url, hit.file),
            "content": hit.snippet,
            "engine": ENGINE,
            "engines": [ENGINE],
            "category": "general",
            "score": hit.score,
        })
    });
    let results: Vec<Value> = results.collect();
    Json(json!({
        "query": query,
        "number_of_results": results.len(),
        "results": results,
        "answers": [],
        "corrections": [],
        "infoboxes": [],
        "suggestions": [],
        "unresponsive_engines": [],
    }))
    .into_response()
}
