//! The web page: its files, with headers that keep the content of models from doing harm.
//!
//! The page is a folder that `cargo xtask page` builds. Models write most of the shown content, so the page
//! runs only its own scripts, sends requests only to this server and the bucket, and shows HTML from models
//! only in a frame without an origin (`preview.html`).

mod client;

use std::path::{Path, PathBuf};

use axum::Router;
use axum::extract::State;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, HeaderValue, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, StatusCode};
use axum::middleware::map_response_with_state;
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, get_service};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use djinn_core::error_code::ErrorCode;
use djinn_settings::table::agent::PAGE;
use djinn_settings::table::aws::BUCKET;
use djinn_settings::table::model::OPENAI_MODEL;
use djinn_settings::{InvalidSetting, VarLookup};
use sha2::{Digest as _, Sha256};
use tower_http::services::{ServeDir, ServeFile};

use crate::api_error::ApiError;
use crate::identity::Auth;
use client::PageClient;

/// The name of the demo model, which knows only a few questions.
pub const DEMO_MODEL: &str = "scripted-demo";

/// The headers of all files of the page.
const HEADERS: [(HeaderName, &str); 5] = [
    (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (REFERRER_POLICY, "no-referrer"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    (
        HeaderName::from_static("permissions-policy"),
        "camera=(), display-capture=(), geolocation=(), microphone=(), payment=(), usb=()",
    ),
];

/// The name of an asset contains the hash of its content.
const IMMUTABLE: &str = "public, max-age=31536000, immutable";

/// Browsers ask for a new version at each visit.
const REVALIDATE: &str = "no-cache";

/// The settings of the page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageSettings {
    /// The folder of the built page; `None` serves no page.
    pub folder: Option<PathBuf>,
    /// The origin of the files' bytes: the bucket.
    pub file_origin: String,
    /// True if the model is the demo model.
    pub has_demo_model: bool,
    /// The page's client at the issuer of tokens; `None` if the page cannot sign in with tokens.
    pub client: Option<PageClient>,
}

impl PageSettings {
    pub(crate) fn from_vars(
        var: VarLookup<'_>,
        auth: &Auth,
        local: bool,
    ) -> Result<Self, InvalidSetting> {
        let bucket = BUCKET.find_text(var).zip(var("AWS_REGION"));
        let file_origin = match bucket.filter(|_| !local) {
            Some((bucket, region)) => format!("https://{bucket}.s3.{region}.amazonaws.com"),
            // The stores of a laptop choose a free port.
            None => "http://127.0.0.1:*".to_owned(),
        };
        let client = match auth {
            Auth::Jwt(tokens) => PageClient::from_vars(var, &tokens.issuer, local)?,
            _ => None,
        };
        Ok(Self {
            folder: PAGE.find_text(var).map(PathBuf::from),
            file_origin,
            has_demo_model: local && OPENAI_MODEL.find_text(var).as_deref() == Some(DEMO_MODEL),
            client,
        })
    }

    /// Returns the version of the built page; `None` without a page.
    pub(crate) async fn read_version(&self) -> Option<String> {
        let folder = self.folder.as_ref()?;
        tokio::fs::read_to_string(folder.join("version")).await.ok()
    }
}

/// Returns the routes of the page's files, for all callers.
pub(crate) fn page_routes<S>(folder: &Path, settings: &PageSettings) -> Router<S>
where
    S: Clone + Send + Sync + 'static,
{
    let assets = ServeDir::new(folder).append_index_html_on_directories(false).precompressed_br();
    let index = ServeFile::new(folder.join("index.html")).precompressed_br();
    let assets = Router::new()
        .route("/assets/{*file}", get_service(assets))
        .layer(map_response_with_state(page_headers(IMMUTABLE, None), add_headers));
    let policy = page_policy(settings);
    let index = Router::new()
        .route("/", get_service(index))
        .layer(map_response_with_state(page_headers(REVALIDATE, Some(&policy)), add_headers));
    let preview = Router::new()
        .route("/preview.html", get(show_preview))
        .layer(map_response_with_state(page_headers(REVALIDATE, None), add_headers))
        .with_state(folder.join("preview.html"));
    Router::new().merge(assets).merge(index).merge(preview)
}

/// `GET /preview.html`: the frame for HTML from models. The script of the frame is the only one that runs there.
async fn show_preview(State(file): State<PathBuf>) -> Response {
    let Ok(html) = tokio::fs::read_to_string(file).await else {
        return StatusCode::NOT_FOUND.into_response();
    };
    let headers = [
        (CONTENT_TYPE, "text/html; charset=utf-8".to_owned()),
        (CONTENT_SECURITY_POLICY, preview_policy(&html)),
    ];
    (headers, html).into_response()
}

/// The page loads and sends nothing but what this policy lists. No script and no style is inline.
fn page_policy(settings: &PageSettings) -> String {
    let file_origin = &settings.file_origin;
    let issuer_origins = settings.client.iter().flat_map(|client| &client.origins);
    let issuer_origins: String = issuer_origins.map(|origin| format!(" {origin}")).collect();
    format!(
        "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; worker-src 'self'; \
         img-src 'self' data: {file_origin}; connect-src 'self' {file_origin}{issuer_origins}; frame-src 'self'; \
         form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
    )
}

/// Text from models never runs here: the hash allows only the script of the frame itself. The frame has no
/// origin, and sends no request.
fn preview_policy(html: &str) -> String {
    let script = html.split_once("<script>").and_then(|(_, rest)| rest.split_once("</script>"));
    let script = script.map(|(script, _)| script).unwrap_or_default();
    let hash = STANDARD.encode(Sha256::digest(script));
    format!(
        "sandbox allow-scripts; default-src 'none'; script-src 'sha256-{hash}'; style-src 'unsafe-inline'; \
         img-src data:; form-action 'none'; base-uri 'none'; frame-ancestors 'self'"
    )
}

fn page_headers(cache: &'static str, policy: Option<&str>) -> HeaderMap {
    let mut headers: HeaderMap =
        HEADERS.into_iter().map(|(name, value)| (name, HeaderValue::from_static(value))).collect();
    headers.insert(CACHE_CONTROL, HeaderValue::from_static(cache));
    let policy = policy.and_then(|policy| HeaderValue::from_str(policy).ok());
    headers.extend(policy.map(|policy| (CONTENT_SECURITY_POLICY, policy)));
    headers
}

/// Adds the headers to a file. A missing file gets Djinn's own error.
async fn add_headers(State(headers): State<HeaderMap>, response: Response) -> Response {
    if response.status() == StatusCode::NOT_FOUND {
        return ApiError::from(ErrorCode::RouteNotFound).into_response();
    }
    let mut response = response;
    response.headers_mut().extend(headers);
    response
}
