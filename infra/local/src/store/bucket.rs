//! The bucket.

use std::path::Path;
use std::time::Duration;

use djinn_aws::{LOCAL_ACCESS_KEY, LOCAL_SECRET_KEY};
use http::Method;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use hyper_util::service::TowerToHyperService;
use s3s::auth::SimpleAuth;
use s3s::service::{S3Service, S3ServiceBuilder};
use s3s_fs::FileSystem;
use tower_http::cors::{Any, Cors, CorsLayer};

use super::{BUCKET, StoresError};

/// What a browser's script may read of an answer.
const EXPOSED: [http::HeaderName; 5] = [
    http::header::ETAG,
    http::header::ACCEPT_RANGES,
    http::header::CONTENT_DISPOSITION,
    http::header::CONTENT_LENGTH,
    http::header::CONTENT_RANGE,
];

/// An S3 whose objects are files, with the bucket in it.
pub(super) fn open(root: &Path) -> Result<S3Service, StoresError> {
    let failed = |problem: String| StoresError::Dir { path: root.to_owned(), problem };
    std::fs::create_dir_all(root.join(BUCKET)).map_err(|error| failed(error.to_string()))?;
    let files = FileSystem::new(root).map_err(|error| failed(format!("{error:?}")))?;
    let mut builder = S3ServiceBuilder::new(files);
    builder.set_auth(SimpleAuth::from_single(LOCAL_ACCESS_KEY, LOCAL_SECRET_KEY));
    Ok(builder.build())
}

/// Serves the bucket until the runtime stops. s3s does not know preflights, so they are answered in
/// front of it: as `template.yaml` says for `GET` and `HEAD`, which are open to every origin (the
/// signature in a URL is what lets somebody in). `PUT` is too on a laptop, and to named origins on
/// AWS.
pub(super) async fn serve(listener: tokio::net::TcpListener, service: S3Service) {
    let cors = CorsLayer::new()
        .allow_origin(Any)
        .allow_methods([Method::GET, Method::HEAD, Method::PUT])
        .allow_headers(Any)
        .expose_headers(EXPOSED)
        .max_age(Duration::from_secs(24 * 60 * 60));
    let service: Cors<S3Service> = tower::Layer::layer(&cors, service);
    loop {
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => {
                tracing::warn!(%error, "a connection was not accepted");
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            }
        };
        let service = TowerToHyperService::new(service.clone());
        tokio::spawn(async move {
            let server = Builder::new(TokioExecutor::new());
            if let Err(error) = server.serve_connection(TokioIo::new(stream), service).await {
                tracing::debug!(%error, "a connection broke off");
            }
        });
    }
}
