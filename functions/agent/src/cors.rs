//! CORS on a laptop. On AWS, the function URL adds the headers. Both together would double the headers, which
//! breaks browsers.

use axum::Router;
use axum::http::HeaderName;
use tower_http::cors::{AllowHeaders, AllowMethods, AllowOrigin, CorsLayer};

use crate::local::LocalOrigins;

/// Allows the configured origins, with credentials, as sent by the original UI. Other origins receive no CORS
/// headers.
pub(crate) fn add_cors(router: Router, origins: LocalOrigins) -> Router {
    let exposed_names = [
        "djinn-error",
        "djinn-run-id",
        "djinn-request-id",
        "djinn-ignored",
        "content-disposition",
        "x-workflow-run-id",
    ];
    router.layer(
        CorsLayer::new()
            .allow_origin(AllowOrigin::predicate(move |origin, _| origins.accepts_origin(origin)))
            .allow_headers(AllowHeaders::mirror_request())
            .allow_methods(AllowMethods::mirror_request())
            .allow_credentials(true)
            .expose_headers(exposed_names.map(HeaderName::from_static)),
    )
}
