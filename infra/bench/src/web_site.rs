//! Pages, and two search engines for the pages, on hosts of this machine with a response delay.

use std::fmt::Write as _;
use std::net::Ipv4Addr;
use std::time::Duration;

use anyhow::{Context as _, Result};
use axum::Router;
use axum::extract::{RawQuery, State};
use axum::http::Uri;
use axum::response::{Html, IntoResponse, Response};
use axum::routing::get;
use djinn_runtime::port::secret::NoSecrets;
use gateway::{GatewaySettings, LocalGateway};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// Hosts with pages, and the number of engines; each engine has a host.
const PAGE_HOSTS: u8 = 5;
const ENGINES: u8 = 2;
/// Pages per query of an engine.
const PAGES: usize = 5;

/// All hosts. Dropping the value stops all of them.
pub(crate) struct WebSite {
    /// The origins of the hosts with pages, then the origins of the engines.
    origins: Vec<String>,
    servers: Vec<JoinHandle<()>>,
}

/// The content of the hosts' responses.
#[derive(Clone)]
struct SiteState {
    delay: Duration,
    page: String,
    page_origins: Vec<String>,
}

impl WebSite {
    /// Starts hosts with this response delay and this HTML as every page.
    pub(crate) async fn start(delay: Duration, page: String) -> Result<Self> {
        let mut listeners = Vec::new();
        for host in 2..2 + PAGE_HOSTS + ENGINES {
            let listener = TcpListener::bind((Ipv4Addr::new(127, 0, 0, host), 0)).await;
            listeners
                .push(listener.context("every address of 127.0.0.0/8 has to be this machine")?);
        }
        let mut origins = Vec::new();
        for listener in &listeners {
            origins.push(format!("http://{}", listener.local_addr()?));
        }
        let page_origins = origins.iter().take(PAGE_HOSTS.into()).cloned().collect();
        let app = Router::new()
            .route("/search", get(name_pages))
            .fallback(get(show_page))
            .with_state(SiteState { delay, page, page_origins });
        let serve = |listener| {
            let app = app.clone();
            tokio::spawn(async move {
                // Returns only if the listener fails; then the gateway's requests fail.
                let _ = axum::serve(listener, app).await;
            })
        };
        Ok(Self { origins, servers: listeners.into_iter().map(serve).collect() })
    }

    /// Returns all origins in the format of `DJINN_EGRESS_ORIGINS`.
    pub(crate) fn origins(&self) -> String {
        self.origins.join(",")
    }

    /// Returns the URLs of this number of pages, distributed over the hosts.
    pub(crate) fn page_urls(&self, pages: usize) -> Vec<String> {
        let hosts = self.origins.iter().take(PAGE_HOSTS.into()).cycle();
        hosts.take(pages).enumerate().map(|(nth, host)| format!("{host}/page/{nth}")).collect()
    }

    /// Creates a gateway with access to all hosts and engines.
    pub(crate) fn open_gateway(&self) -> Result<LocalGateway<NoSecrets>> {
        let engine =
            |origin: &String| json!({"engine": "searxng", "url": format!("{origin}/search")});
        let engines = self.origins.iter().skip(PAGE_HOSTS.into()).map(engine);
        let origins = self.origins();
        let engines = Value::from_iter(engines).to_string();
        let var = move |name: &str| match name {
            "DJINN_LOCAL" => Some("1".to_owned()),
            "DJINN_EGRESS_ORIGINS" => Some(origins.clone()),
            "DJINN_SEARCH__ENGINES" => Some(engines.clone()),
            _ => None,
        };
        Ok(LocalGateway::new(GatewaySettings::from_vars(&var)?, NoSecrets)?)
    }
}

impl Drop for WebSite {
    fn drop(&mut self) {
        self.servers.iter().for_each(JoinHandle::abort);
    }
}

/// Returns an engine's results, different for each query and each engine.
async fn name_pages(
    State(state): State<SiteState>,
    RawQuery(query): RawQuery,
    headers: axum::http::HeaderMap,
) -> Response {
    tokio::time::sleep(state.delay).await;
    let mut name: String =
        query.unwrap_or_default().chars().filter(char::is_ascii_alphanumeric).collect();
    if let Some(host) = headers.get("host").and_then(|host| host.to_str().ok()) {
        let _ = write!(name, "-{}", host.replace(['.', ':'], "-"));
    }
    let page = |(nth, origin): (usize, &String)| json!({"title": format!("Page {nth}"), "url": format!("{origin}/{name}/{nth}"), "content": "Some words."});
    let pages = state.page_origins.iter().cycle().take(PAGES).enumerate().map(page);
    json!({"results": pages.collect::<Vec<_>>()}).to_string().into_response()
}

async fn show_page(State(state): State<SiteState>, uri: Uri) -> Response {
    tokio::time::sleep(state.delay).await;
    match uri.path() {
        "/robots.txt" => axum::http::StatusCode::NOT_FOUND.into_response(),
        _ => Html(state.page).into_response(),
    }
}

/// Returns a page with `bytes` of text, in paragraphs with links.
pub(crate) fn write_text_page(bytes: usize) -> String {
    let mut paragraphs = String::new();
    let mut nth = 0;
    while paragraphs.len() < bytes {
        let _ = write!(
            paragraphs,
            "<h2>Part {nth}</h2><p>A heat pump moves heat from outside into a house, with \
             <a href=\"/cop/{nth}\">three times</a> the energy that it takes, <em>also</em> in winter. {}</p>",
            "It needs a larger radiator, or a floor that is warm all over, and a quiet place. "
                .repeat(6)
        );
        nth += 1;
    }
    wrap_page(&paragraphs, "")
}

/// Returns a page of this size, mostly scripts.
pub(crate) fn write_script_page(bytes: usize) -> String {
    let article = write_text_page(20_000);
    let script = format!(
        "<script>{}</script>",
        "window.push({name: \"part\", value: [1, 2, 3], f: (a) => a < 3 && a > 1});\n".repeat(100)
    );
    wrap_page(&article, &script.repeat(bytes.saturating_sub(article.len()) / script.len()))
}

fn wrap_page(article: &str, scripts: &str) -> String {
    format!(
        "<!doctype html><html><head><title>Heat pumps</title></head><body><nav><a href=\"/\">Home</a></nav>\
         <article><h1>Heat pumps</h1>{article}</article>{scripts}</body></html>"
    )
}
