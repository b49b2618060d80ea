//! The bucket, served by s3s-fs, with objects as files below one directory.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use agent::LocalOrigins;
use djinn_aws::LOCAL_ACCESS_KEY;
use djinn_runtime::port::secret::Secret;
use http::header::{
    ACCESS_CONTROL_REQUEST_METHOD, CONTENT_SECURITY_POLICY, CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS,
};
use http::request::Parts;
use http::{HeaderValue, Method, Response};
use s3s::Body;
use s3s::auth::SimpleAuth;
use s3s::config::{S3Config, StaticConfigProvider};
use s3s::service::{S3Service, S3ServiceBuilder};
use s3s_fs::FileSystem;
use tower::util::MapResponse;
use tower_http::cors::{AllowOrigin, Any, Cors, CorsLayer};

use super::conditional::ConditionalReads;
use super::{BUCKET, StoresError};

/// The service of the bucket.
pub(super) type Bucket =
    MapResponse<Cors<ConditionalReads<S3Service>>, fn(Response<Body>) -> Response<Body>>;

/// Response headers readable by scripts of browsers.
const EXPOSED: [http::HeaderName; 5] = [
    http::header::ETAG,
    http::header::ACCEPT_RANGES,
    http::header::CONTENT_DISPOSITION,
    http::header::CONTENT_LENGTH,
    http::header::CONTENT_RANGE,
];

/// Maximum age of a signature in seconds: unlimited, as in the table. S3 allows 15 minutes, and AWS's SDKs
/// adjust by the `Date` header of responses. If the clock of this machine is set back, hyper repeats the same
/// `Date` until the clock catches up. The SDK would then sign with a rejected time. URLs still expire.
const MAX_SIGNATURE_SKEW_S: u32 = u32::MAX;

/// Opens an S3 service with the bucket, for requests signed with this key. Objects are files.
///
/// s3s does not support preflight requests. A layer in front answers the preflights of the origins that the
/// routes accept. The signature in a URL grants access.
pub(super) fn open_bucket(
    root: &Path,
    key: &Secret,
    origins: LocalOrigins,
) -> Result<Bucket, StoresError> {
    let to_error = |problem: String| StoresError::Dir { path: root.to_owned(), problem };
    std::fs::create_dir_all(root.join(BUCKET)).map_err(|error| to_error(error.to_string()))?;
    let files = FileSystem::new(root).map_err(|error| to_error(format!("{error:?}")))?;
    let mut builder = S3ServiceBuilder::new(files);
    builder.set_auth(SimpleAuth::from_single(LOCAL_ACCESS_KEY, key.reveal()));
    let mut config = S3Config::default();
    config.presigned_url_max_skew_time_secs = MAX_SIGNATURE_SKEW_S;
    builder.set_config(Arc::new(StaticConfigProvider::new(Arc::new(config))));
    let is_allowed = move |origin: &HeaderValue, parts: &Parts| {
        origins.accepts_origin(origin) || (origin == "null" && is_read(parts))
    };
    let cors = CorsLayer::new()
        .allow_origin(AllowOrigin::predicate(is_allowed))
        .allow_methods([Method::GET, Method::HEAD, Method::PUT])
        .allow_headers(Any)
        .expose_headers(EXPOSED)
        .max_age(Duration::from_secs(24 * 60 * 60));
    let service = tower::Layer::layer(&cors, ConditionalReads(builder.build()));
    Ok(MapResponse::new(service, add_sandbox))
}

/// Adds headers against active content: the bucket is another port of the host of the routes' pages. PDFs
/// contain no script with such access, and browsers do not show PDFs in a sandbox.
fn add_sandbox(mut response: Response<Body>) -> Response<Body> {
    let headers = response.headers_mut();
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    if headers.get(CONTENT_TYPE).is_none_or(|kind| kind != "application/pdf") {
        let policy = HeaderValue::from_static("default-src 'none'; sandbox");
        headers.insert(CONTENT_SECURITY_POLICY, policy);
    }
    response
}

/// Returns true for a read or a preflight of a read. After a redirect from another origin, a browser does not
/// send the page's origin.
fn is_read(parts: &Parts) -> bool {
    let requested_method = parts.headers.get(ACCESS_CONTROL_REQUEST_METHOD);
    let method = match (&parts.method, requested_method) {
        (&Method::OPTIONS, Some(requested_method)) => requested_method.as_bytes(),
        (method, _) => method.as_str().as_bytes(),
    };
    matches!(method, b"GET" | b"HEAD")
}
