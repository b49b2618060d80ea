//! Conditional reads of the bucket: s3s-fs ignores `If-None-Match`.

use std::task::{Context, Poll};

use futures::future::{BoxFuture, FutureExt as _};
use http::header::{ETAG, IF_NONE_MATCH};
use http::{HeaderValue, Method, Request, Response, StatusCode};
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
        self.0
            .call(request)
            .map(move |answer| Ok(leave_out_known(answer?, cached_etag.as_ref())))
            .boxed()
    }
}

/// Returns the response, without the object if the client has the current version.
fn leave_out_known(answer: Response<Body>, cached_etag: Option<&HeaderValue>) -> Response<Body> {
    let etag = answer.headers().get(ETAG).filter(|_| answer.status() == StatusCode::OK).cloned();
    let Some(etag) = etag.filter(|etag| cached_etag == Some(etag)) else { return answer };
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NOT_MODIFIED;
    response.headers_mut().insert(ETAG, etag);
    response
}
