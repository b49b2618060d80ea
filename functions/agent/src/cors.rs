//! CORS on a laptop. On AWS the function URL answers it, and never both: a doubled header breaks
//! browsers.

use axum::Router;
use axum::http::HeaderName;
use tower_http::cors::{AllowHeaders, AllowMethods, AllowOrigin, CorsLayer};

use crate::local::LocalOrigins;

/// Echoes the origins whose pages may use the system, and allows them credentials: the original UI
/// sends them. Others are told nothing.
pub(crate) fn add_cors(router: Router, origins: LocalOrigins) -> Router {
    let exposed = ["djinn-run-id", "djinn-request-id", "djinn-ignored", "content-disposition"];
    router.layer(
        CorsLayer::new()
            .allow_origin(AllowOrigin::predicate(move |origin, _| origins.accepts_origin(origin)))
            .allow_headers(AllowHeaders::mirror_request())
            .allow_methods(AllowMethods::mirror_request())
            .allow_credentials(true)
            .expose_headers(exposed.map(HeaderName::from_static)),
    )
}
