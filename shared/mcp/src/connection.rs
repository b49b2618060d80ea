//! A connection to a server, through which any number of requests are sent.

use std::sync::Arc;
use std::time::Duration;

use djinn_egress::Egress;
use rmcp::model::{
    ClientCapabilities, ClientConfig, ClientRequest, Implementation, ProtocolVersion,
    RequestMetaObject, ServerResult,
};
use rmcp::service::{PeerRequestOptions, RunningService, ServiceError};
use rmcp::transport::streamable_http_client::{
    StreamableHttpClientTransportConfig, StreamableHttpClientWorker,
};
use rmcp::{ClientLifecycleMode, ClientServiceExt, RoleClient};
use serde_json::{Map, Value};

use crate::endpoint::{McpEndpoint, McpTransport};
use crate::error::{McpError, McpErrorCode};
use crate::http_requests::{Failures, HttpRequests};
use crate::http_transport::HttpTransport;

/// Timeout for telling a server that a call has been given up.
const CANCEL_TIME: Duration = Duration::from_secs(1);

/// The newest revision with sessions, which older servers are asked for.
const SESSION_REVISION: ProtocolVersion = ProtocolVersion::V_2025_11_25;

/// A connection to a server. Dropping it ends the session, if the server has one.
pub(crate) struct McpConnection {
    endpoint: Arc<McpEndpoint>,
    service: RunningService<RoleClient, ClientConfig>,
    failures: Failures,
}

impl McpConnection {
    /// Connects to a server. With a `revision` that has sessions, or the older transport, the server is not asked for
    /// newer revisions.
    ///
    /// # Errors
    /// Returns [`McpError`] for a server that is unreachable, rejects the client or speaks no MCP.
    pub(crate) async fn open(
        egress: &Egress,
        endpoint: &McpEndpoint,
        transport: McpTransport,
        revision: Option<&str>,
    ) -> Result<Self, McpError> {
        let endpoint = Arc::new(endpoint.clone());
        let failures = Failures::default();
        let requests = HttpRequests::new(egress.clone(), Arc::clone(&endpoint), failures.clone());
        let http = HttpTransport::new(requests, transport);
        let mut config = StreamableHttpClientTransportConfig::with_uri(endpoint.url.clone())
            .control_request_timeout(CANCEL_TIME)
            .reinit_on_expired_session(true);
        config.allow_stateless = true;
        let worker = StreamableHttpClientWorker::new(http, config);
        let older = match transport {
            McpTransport::StreamableHttp => revision.and_then(find_session_revision),
            McpTransport::Sse => Some(ProtocolVersion::V_2024_11_05),
        };
        let info = Implementation::new("djinn", env!("CARGO_PKG_VERSION"));
        let client = ClientConfig::new(ClientCapabilities::default(), info)
            .with_protocol_version(older.clone().unwrap_or(SESSION_REVISION));
        let lifecycle = match older {
            Some(_) => ClientLifecycleMode::Initialize,
            None => ClientLifecycleMode::Auto {
                preferred_versions: vec![ProtocolVersion::V_2026_07_28],
                legacy_version: Some(SESSION_REVISION),
            },
        };
        match client.serve_with_lifecycle(worker, lifecycle).await {
            Ok(service) => Ok(Self { endpoint, service, failures }),
            Err(error) => {
                let failure = failures.take_last();
                let failure = failure.unwrap_or_else(|| McpError::protocol(error.to_string()));
                Err(failure.before_call())
            }
        }
    }

    /// Returns true if the connection can send requests to this endpoint.
    pub(crate) fn serves(&self, endpoint: &McpEndpoint) -> bool {
        let is_open = !self.service.is_closed() && !self.service.is_transport_closed();
        is_open && self.endpoint.is_same_server(endpoint)
    }

    /// Returns the negotiated revision of the protocol.
    pub(crate) fn revision(&self) -> String {
        let info = self.service.peer_info();
        info.map(|info| info.protocol_version.to_string()).unwrap_or_default()
    }

    /// Sends a request and returns its result as JSON.
    ///
    /// # Errors
    /// Returns [`McpError`] if there is no result within `timeout`.
    pub(crate) async fn request(
        &self,
        request: ClientRequest,
        meta: Map<String, Value>,
        timeout: Duration,
    ) -> Result<Value, McpError> {
        let mut options = PeerRequestOptions::with_timeout(timeout);
        options.meta = Some(RequestMetaObject::from(meta));
        let handle = self.service.send_cancellable_request(request, options).await;
        let handle = handle.map_err(|_| {
            // Nothing was sent.
            McpError::new(McpErrorCode::Unreachable, "the connection is closed")
        })?;
        let id = handle.id.clone();
        match handle.await_response().await {
            Ok(ServerResult::InputRequiredResult(_)) => {
                let detail = "the server asks a user for input, which is not supported";
                Err(McpError::new(McpErrorCode::Unsupported, detail))
            }
            Ok(result) => serde_json::to_value(result)
                .map_err(|error| McpError::protocol(format!("the result is unreadable: {error}"))),
            Err(error) => Err(self.failures.take(&id).unwrap_or_else(|| explain_error(&error))),
        }
    }

    /// Ends the session, if the server has one.
    pub(crate) async fn close(mut self) {
        // A session that cannot be closed expires.
        self.service.close_with_timeout(CANCEL_TIME).await.ok();
    }
}

/// Returns a known revision with sessions.
fn find_session_revision(revision: &str) -> Option<ProtocolVersion> {
    let known = ProtocolVersion::KNOWN_VERSIONS.iter();
    known.filter(|known| known.has_initialize()).find(|known| known.as_str() == revision).cloned()
}

/// Returns the error of a request whose failure the transport does not know.
fn explain_error(error: &ServiceError) -> McpError {
    match error {
        ServiceError::McpError(error) => {
            let detail = format!("{} ({})", error.message, error.code.0);
            McpError::new(McpErrorCode::Rejected, detail)
        }
        ServiceError::Timeout { .. } => {
            McpError::new(McpErrorCode::TooSlow, "the server did not answer in time")
        }
        ServiceError::TransportClosed => McpError::protocol("the server ended without an answer"),
        other => McpError::protocol(other.to_string()),
    }
}
