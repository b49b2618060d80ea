//! A built web UI, served from the origin of the routes.

use std::path::Path;

use agent::is_own_path;
use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::header::{ACCEPT, CONTENT_SECURITY_POLICY};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode};
use axum::response::{IntoResponse, Response};
use tower::ServiceExt as _;
use tower_http::services::{ServeDir, ServeFile};

/// The page renders Markdown files written by models, so images load only from this server and from the
/// bucket.
const PAGE_POLICY: &str = "img-src 'self' data: blob: http://127.0.0.1:*; media-src 'self' data: blob: http://127.0.0.1:*";

/// The UI's files, and the routes for all other requests.
#[derive(Clone)]
struct Ui {
    files: ServeDir,
    index: ServeFile,
    app: Router,
}

/// Adds a built UI to the routes. The UI's files are served, and its index for every page of the UI's own
/// router. Requests for other content, or under the routes' paths, are rejected by the routes.
pub(crate) fn mount_ui(app: Router, dir: &Path) -> Router {
    let ui = Ui {
        files: ServeDir::new(dir),
        index: ServeFile::new(dir.join("index.html")),
        app: app.clone(),
    };
    app.fallback(move |request: Request| ui.answer_request(request))
}

impl Ui {
    async fn answer_request(self, request: Request) -> Response {
        let (parts, body) = request.into_parts();
        let is_got = [Method::GET, Method::HEAD].contains(&parts.method);
        if is_got && !is_own_path(parts.uri.path()) {
            let file_request = || Request::from_parts(parts.clone(), Body::empty());
            let file = self.files.oneshot(file_request()).await.into_response();
            if file.status() != StatusCode::NOT_FOUND {
                return with_policy(file);
            }
            if accepts_page(&parts.headers) {
                return with_policy(self.index.oneshot(file_request()).await.into_response());
            }
        }
        self.app.oneshot(Request::from_parts(parts, body)).await.into_response()
    }
}

fn with_policy(mut response: Response) -> Response {
    let policy = HeaderValue::from_static(PAGE_POLICY);
    response.headers_mut().insert(CONTENT_SECURITY_POLICY, policy);
    response
}

/// Returns true if the client wants a page: scripts and programs accept anything, or JSON.
fn accepts_page(headers: &HeaderMap) -> bool {
    let kinds = headers.get_all(ACCEPT).iter().filter_map(|kinds| kinds.to_str().ok());
    kinds.flat_map(|kinds| kinds.split(',')).any(|kind| kind.trim().starts_with("text/html"))
}
