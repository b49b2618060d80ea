//! An HTTP client that sends a limited number of requests at once.

use std::sync::Arc;

use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpClient,
    SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::HttpRequest;
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use tokio::sync::Semaphore;

/// A client whose further requests wait until an earlier one has the beginning of its response. The wait counts
/// towards the time of the attempt.
#[derive(Debug)]
pub(crate) struct LimitedHttp {
    client: SharedHttpClient,
    permits: Arc<Semaphore>,
}

#[derive(Debug)]
struct LimitedConnector {
    connector: SharedHttpConnector,
    permits: Arc<Semaphore>,
}

impl LimitedHttp {
    pub(crate) fn new(client: SharedHttpClient, at_once: usize) -> Self {
        Self { client, permits: Arc::new(Semaphore::new(at_once)) }
    }
}

impl HttpClient for LimitedHttp {
    fn http_connector(
        &self,
        settings: &HttpConnectorSettings,
        components: &RuntimeComponents,
    ) -> SharedHttpConnector {
        let connector = self.client.http_connector(settings, components);
        SharedHttpConnector::new(LimitedConnector { connector, permits: Arc::clone(&self.permits) })
    }
}

impl HttpConnector for LimitedConnector {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let connector = self.connector.clone();
        let permits = Arc::clone(&self.permits);
        HttpConnectorFuture::new(async move {
            // The semaphore is never closed.
            let _permit = permits.acquire().await.ok();
            connector.call(request).await
        })
    }
}

#[cfg(test)]
mod tests {
    use std::pin::Pin;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use aws_sdk_s3::primitives::SdkBody;
    use aws_smithy_runtime_api::client::orchestrator::HttpResponse;
    use futures::FutureExt as _;

    use super::*;

    /// A connector that responds once for each permit of `responses`.
    #[derive(Debug)]
    struct GatedConnector {
        requests: Arc<AtomicUsize>,
        responses: Arc<Semaphore>,
    }

    impl HttpConnector for GatedConnector {
        fn call(&self, _: HttpRequest) -> HttpConnectorFuture {
            self.requests.fetch_add(1, Ordering::Relaxed);
            let responses = Arc::clone(&self.responses);
            HttpConnectorFuture::new(async move {
                responses.acquire().await.unwrap().forget();
                Ok(HttpResponse::new(200.try_into().unwrap(), SdkBody::empty()))
            })
        }
    }

    #[test]
    fn a_further_request_waits_until_an_earlier_one_has_ended_or_is_dropped() {
        let requests = Arc::new(AtomicUsize::new(0));
        let responses = Arc::new(Semaphore::new(0));
        let gated =
            GatedConnector { requests: Arc::clone(&requests), responses: Arc::clone(&responses) };
        let limited = LimitedConnector {
            connector: SharedHttpConnector::new(gated),
            permits: Arc::new(Semaphore::new(2)),
        };
        let mut calls: Vec<_> =
            (0..4).map(|_| Box::pin(limited.call(HttpRequest::empty()))).collect();
        let poll_all = |calls: &mut Vec<_>| {
            calls.retain_mut(|call: &mut Pin<Box<HttpConnectorFuture>>| {
                call.as_mut().now_or_never().is_none()
            });
            (calls.len(), requests.load(Ordering::Relaxed))
        };
        assert_eq!(poll_all(&mut calls), (4, 2));
        drop(calls.remove(0));
        assert_eq!(poll_all(&mut calls), (3, 3));
        responses.add_permits(1);
        assert_eq!(poll_all(&mut calls), (2, 4));
        responses.add_permits(2);
        assert_eq!(poll_all(&mut calls), (0, 4));
    }
}
