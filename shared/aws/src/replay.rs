//! A test HTTP client with prepared responses, recording requests.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use aws_sdk_s3::primitives::SdkBody;
use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;

/// The prepared responses in order, or none.
#[derive(Clone, Debug)]
pub(crate) struct Replay {
    /// `None` leaves every request without an answer.
    responses: Option<Arc<Mutex<VecDeque<HttpResponse>>>>,
    requests: Arc<Mutex<Vec<HttpRequest>>>,
}

impl Replay {
    /// Creates a client with prepared responses; requests beyond the last response fail.
    pub(crate) fn new(responses: impl IntoIterator<Item = HttpResponse>) -> Self {
        let responses = Some(Arc::new(Mutex::new(responses.into_iter().collect())));
        Self { responses, requests: Arc::default() }
    }

    pub(crate) fn without_answers() -> Self {
        Self { responses: None, requests: Arc::default() }
    }

    /// Returns and clears the recorded requests.
    pub(crate) fn take_requests(&self) -> Vec<HttpRequest> {
        std::mem::take(&mut self.requests.lock().unwrap())
    }
}

impl HttpConnector for Replay {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        self.requests.lock().unwrap().push(request);
        let Some(responses) = &self.responses else {
            return HttpConnectorFuture::new(std::future::pending());
        };
        let answer = responses.lock().unwrap().pop_front();
        HttpConnectorFuture::ready(
            answer.ok_or_else(|| ConnectorError::other("no answer is left".into(), None)),
        )
    }
}

impl HttpClient for Replay {
    fn http_connector(
        &self,
        _: &HttpConnectorSettings,
        _: &RuntimeComponents,
    ) -> SharedHttpConnector {
        SharedHttpConnector::new(self.clone())
    }
}

/// Returns a response with this status and body.
pub(crate) fn response(status: u16, body: impl Into<SdkBody>) -> HttpResponse {
    HttpResponse::new(status.try_into().unwrap(), body.into())
}
