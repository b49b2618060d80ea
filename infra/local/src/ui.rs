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

/// The page renders files that models wrote as Markdown: it loads images from here and from the bucket alone.
const PAGE_POLICY: &str = "img-src 'self' data: blob: http://127.0.0.1:*; media-src 'self' data: blob: http://127.0.0.1:*";

/// The UI, and what answers when it has nothing to say.
#[derive(Clone)]
struct Ui {
    files: ServeDir,
    index: ServeFile,
    app: Router,
}

/// Puts a built UI beside the routes: its files, and its index for every page that its own router leads
/// to. What asks for no page, or at a path of the routes, is refused by them.
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
            let asked = || Request::from_parts(parts.clone(), Body::empty());
            let file = self.files.oneshot(asked()).await.into_response();
            if file.status() != StatusCode::NOT_FOUND {
                return with_policy(file);
            }
            if accepts_page(&parts.headers) {
                return with_policy(self.index.oneshot(asked()).await.into_response());
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

/// Whether somebody wants to see a page: scripts and programs take anything, or JSON.
fn accepts_page(headers: &HeaderMap) -> bool {
    let kinds = headers.get_all(ACCEPT).iter().filter_map(|kinds| kinds.to_str().ok());
    kinds.flat_map(|kinds| kinds.split(',')).any(|kind| kind.trim().starts_with("text/html"))
}
