//! An HTTP client that sends a limited number of requests at once.

use std::sync::Arc;

use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpClient,
    SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::HttpRequest;
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use tokio::sync::Semaphore;

/// A client whose further requests wait until an earlier one has its response.
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
