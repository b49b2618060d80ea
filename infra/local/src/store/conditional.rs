//! Conditional reads of the bucket: s3s-fs ignores `If-None-Match`.

use std::task::{Context, Poll};

use futures::future::{BoxFuture, FutureExt as _};
use http::header::{ETAG, IF_NONE_MATCH};
use http::{Method, Request, Response, StatusCode};
use s3s::Body;
use tower::Service;

/// A bucket that returns 304 for an unchanged object, as S3 does.
#[derive(Debug, Clone)]
pub(super) struct ConditionalReads<S>(pub(super) S);

impl<S, B> Service<Request<B>> for ConditionalReads<S>
where
    S: Service<Request<B>, Response = Response<Body>>,
    S::Future: Send + 'static,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = BoxFuture<'static, Result<S::Response, S::Error>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.0.poll_ready(cx)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let is_read = request.method() == Method::GET;
        let cached_etag = request.headers().get(IF_NONE_MATCH).filter(|_| is_read).cloned();
        let answer = self.0.call(request);
        let respond = async move {
            let answer = answer.await?;
            let is_ok = answer.status() == StatusCode::OK;
            let etag = answer.headers().get(ETAG).filter(|_| is_ok).cloned();
            let Some(etag) = etag.filter(|etag| cached_etag.as_ref() == Some(etag)) else {
                return Ok(answer);
            };
            // The client has the current version of the object.
            let mut response = Response::new(Body::empty());
            *response.status_mut() = StatusCode::NOT_MODIFIED;
            response.headers_mut().insert(ETAG, etag);
            Ok(response)
        };
        respond.boxed()
    }
}
