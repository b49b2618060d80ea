//! The bucket is served by s3s-fs, which keeps its objects as files below one directory.

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

/// What answers requests to the bucket.
pub(super) type Bucket =
    MapResponse<Cors<ConditionalReads<S3Service>>, fn(Response<Body>) -> Response<Body>>;

/// What a browser's script may read of an answer.
const EXPOSED: [http::HeaderName; 5] = [
    http::header::ETAG,
    http::header::ACCEPT_RANGES,
    http::header::CONTENT_DISPOSITION,
    http::header::CONTENT_LENGTH,
    http::header::CONTENT_RANGE,
];

/// Seconds between the date of a signature and now: any, as in the table. The limit of S3 is 15 minutes, and AWS's SDKs
/// keep it by the `Date` header of responses. If the clock of this machine is set back, hyper sends the same `Date` until
/// the clock reaches it again, so the SDK would sign with a time that is not accepted. A URL still expires.
const MAX_SIGNATURE_SKEW_S: u32 = u32::MAX;

/// An S3 whose objects are files, with the bucket in it, for requests that are signed with this key.
///
/// s3s does not know preflights, so they are answered in front of it, for the pages that the routes
/// answer as well. Here the signature in a URL is what lets somebody in.
pub(super) fn open_bucket(
    root: &Path,
    key: &Secret,
    origins: LocalOrigins,
) -> Result<Bucket, StoresError> {
    let failed = |problem: String| StoresError::Dir { path: root.to_owned(), problem };
    std::fs::create_dir_all(root.join(BUCKET)).map_err(|error| failed(error.to_string()))?;
    let files = FileSystem::new(root).map_err(|error| failed(format!("{error:?}")))?;
    let mut builder = S3ServiceBuilder::new(files);
    builder.set_auth(SimpleAuth::from_single(LOCAL_ACCESS_KEY, key.reveal()));
    let mut config = S3Config::default();
    config.presigned_url_max_skew_time_secs = MAX_SIGNATURE_SKEW_S;
    builder.set_config(Arc::new(StaticConfigProvider::new(Arc::new(config))));
    let allowed = move |origin: &HeaderValue, parts: &Parts| {
        origins.accepts_origin(origin) || (origin == "null" && is_read(parts))
    };
    let cors = CorsLayer::new()
        .allow_origin(AllowOrigin::predicate(allowed))
        .allow_methods([Method::GET, Method::HEAD, Method::PUT])
        .allow_headers(Any)
        .expose_headers(EXPOSED)
        .max_age(Duration::from_secs(24 * 60 * 60));
    let service = tower::Layer::layer(&cors, ConditionalReads(builder.build()));
    Ok(MapResponse::new(service, add_sandbox))
}

/// Adds the headers by which a file can do nothing in a browser: the bucket is another port of the host whose pages
/// the routes answer. A PDF has no script that could ask, and browsers show none in a sandbox.
fn add_sandbox(mut response: Response<Body>) -> Response<Body> {
    let headers = response.headers_mut();
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    if headers.get(CONTENT_TYPE).is_none_or(|kind| kind != "application/pdf") {
        let policy = HeaderValue::from_static("default-src 'none'; sandbox");
        headers.insert(CONTENT_SECURITY_POLICY, policy);
    }
    response
}

/// Whether a request reads, or asks whether one may. A browser that the routes sent here from another
/// origin does not say whose page it shows.
fn is_read(parts: &Parts) -> bool {
    let asked = parts.headers.get(ACCESS_CONTROL_REQUEST_METHOD);
    let method = match (&parts.method, asked) {
        (&Method::OPTIONS, Some(asked)) => asked.as_bytes(),
        (method, _) => method.as_str().as_bytes(),
    };
    matches!(method, b"GET" | b"HEAD")
}
