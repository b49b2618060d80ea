//! The server: sockets, routes, and recorded requests.

mod delivery;
mod log;

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use axum::routing::post;
use axum::serve::ListenerExt;
use tokio::net::TcpListener;
use tokio::sync::watch;

use crate::check;
use crate::request::RecordedRequest;
use crate::response::ScriptedResponse;
use crate::rule::Rule;
use crate::script::Script;
use crate::wire::ProviderProtocol;
use log::RequestLog;

/// The maximum bytes of a request.
const MAX_REQUEST_BYTES: usize = 64 * 1024 * 1024;

/// A running scripted model. Dropping it stops the server and aborts every response in progress.
///
/// A server started by a test (not by [`ScriptedModel::serve`]) panics on drop if unexpected requests were
/// recorded. It does not panic if the test is already failing.
#[derive(Debug)]
pub struct ScriptedModel {
    address: SocketAddr,
    script: Script,
    token_limit: Arc<AtomicU64>,
    log: Arc<RequestLog>,
    checked_on_drop: bool,
    // Receivers detect the drop of this sender.
    _running: watch::Sender<()>,
}

impl ScriptedModel {
    /// Starts a server for a test on a free port of 127.0.0.1, without rules.
    ///
    /// # Errors
    /// Returns an error if no port can be bound.
    pub async fn start() -> io::Result<Self> {
        Self::start_with(Script::default()).await
    }

    /// Starts a server for a test on a free port of 127.0.0.1.
    ///
    /// # Errors
    /// Returns an error if no port can be bound.
    pub async fn start_with(script: Script) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let mut server = Self::serve(listener, script)?;
        server.checked_on_drop = true;
        Ok(server)
    }

    /// Serves a script on a listener, within a Tokio runtime.
    ///
    /// # Errors
    /// Returns an error if the listener's address cannot be read.
    pub fn serve(listener: TcpListener, script: Script) -> io::Result<Self> {
        let address = listener.local_addr()?;
        let (running, stopped) = watch::channel(());
        let window = Arc::new(AtomicU64::new(u64::MAX));
        let state = ServerState {
            script: script.clone(),
            token_limit: Arc::clone(&window),
            log: Arc::default(),
            stopped: stopped.clone(),
        };
        let log = Arc::clone(&state.log);
        let listener = listener.tap_io(|socket| {
            // Without this option the kernel may delay small chunks. A failure is ignored.
            let _ = socket.set_nodelay(true);
        });
        let server = axum::serve(listener, state.build_router())
            .with_graceful_shutdown(delivery::wait_for_stop(stopped));
        tokio::spawn(async move { server.await });
        Ok(Self {
            address,
            script,
            token_limit: window,
            log,
            checked_on_drop: false,
            _running: running,
        })
    }

    /// Returns the listener's address; in tests a free port of 127.0.0.1.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the base URL for OpenAI and for Anthropic: `http://127.0.0.1:<port>/v1/`.
    #[must_use]
    pub fn base_url(&self) -> String {
        format!("http://{}/v1/", self.address)
    }

    /// Returns the base URL for Ollama: `http://127.0.0.1:<port>/`.
    #[must_use]
    pub fn ollama_url(&self) -> String {
        format!("http://{}/", self.address)
    }

    /// Expects a request whose messages contain this text; see [`Script::on`].
    #[track_caller]
    pub fn on(&self, text: impl Into<String>) -> Rule {
        self.script.on(text)
    }

    /// Expects a request for which the function returns true; see [`Script::on_request`].
    #[track_caller]
    pub fn on_request(
        &self,
        expects: impl Fn(&RecordedRequest) -> bool + Send + Sync + 'static,
    ) -> Rule {
        self.script.on_request(expects)
    }

    /// Rejects requests with more [tokens](RecordedRequest::estimate_tokens) from now on, like providers. A
    /// test can check for rejected requests with [`Self::refused_requests`].
    pub fn limit_tokens(&self, tokens: u64) {
        self.token_limit.store(tokens, Ordering::Relaxed);
    }

    /// Returns the recorded requests above the token limit.
    #[must_use]
    pub fn refused_requests(&self) -> Vec<RecordedRequest> {
        let window = self.token_limit.load(Ordering::Relaxed);
        self.requests().into_iter().filter(|request| request.estimate_tokens() > window).collect()
    }

    /// Returns the requests in order of arrival: the newest 500, or the newest 32 MB. Unreadable requests are
    /// excluded.
    #[must_use]
    pub fn requests(&self) -> Vec<RecordedRequest> {
        self.log.requests()
    }

    /// Returns the newest request, if any.
    #[must_use]
    pub fn last_request(&self) -> Option<RecordedRequest> {
        self.log.requests().pop()
    }

    /// Waits for the request with this number, from 1.
    pub async fn wait_for_request(&self, number: usize) -> RecordedRequest {
        self.log.wait_for_request(number).await
    }

    /// Takes the unexpected requests off the record, for a test that expects some.
    #[must_use]
    pub fn take_unexpected(&self) -> Vec<String> {
        self.log.take_unexpected()
    }

    /// Checks at the end of a test: no unexpected request, and no unused rule.
    ///
    /// # Panics
    /// Panics with a list of unexpected requests and unused rules.
    #[expect(clippy::panic, reason = "it is an assertion of a test")]
    #[track_caller]
    pub fn assert_done(&self) {
        let mut problems = self.take_unexpected();
        let leftovers = self.script.unused_rules();
        problems.extend(leftovers.into_iter().map(|rule| format!("not used: {rule}")));
        if !problems.is_empty() {
            panic!("the scripted model: {}", problems.join("\n"));
        }
    }
}

impl Drop for ScriptedModel {
    #[expect(clippy::panic, reason = "an unexpected request must fail the test that made it")]
    fn drop(&mut self) {
        let problems = self.take_unexpected();
        if self.checked_on_drop && !problems.is_empty() && !std::thread::panicking() {
            panic!("the scripted model: {}", problems.join("\n"));
        }
    }
}

#[derive(Debug, Clone)]
struct ServerState {
    script: Script,
    token_limit: Arc<AtomicU64>,
    log: Arc<RequestLog>,
    stopped: watch::Receiver<()>,
}

impl ServerState {
    fn build_router(self) -> Router {
        let route = |protocol| {
            post(move |State(shared): State<Self>, headers: HeaderMap, body: Bytes| async move {
                shared.answer_request(protocol, headers, &body).await
            })
        };
        let no_route = |State(shared): State<Self>, method: Method, uri: Uri| async move {
            let why = format!("{method} {} is no route of a scripted model", uri.path());
            shared.log.record_unexpected(why.clone());
            delivery::plain_response(StatusCode::NOT_FOUND, why)
        };
        Router::new()
            .route("/v1/chat/completions", route(ProviderProtocol::OpenAi))
            .route("/v1/messages", route(ProviderProtocol::Anthropic))
            .route("/api/chat", route(ProviderProtocol::Ollama))
            .fallback(no_route)
            .method_not_allowed_fallback(no_route)
            .layer(DefaultBodyLimit::max(MAX_REQUEST_BYTES))
            .with_state(self)
    }

    async fn answer_request(
        self,
        protocol: ProviderProtocol,
        headers: HeaderMap,
        body: &Bytes,
    ) -> axum::http::Response<Body> {
        let outcome = self.log.record_request(|number| {
            let json =
                serde_json::from_slice(body).map_err(|_| "its body is no JSON".to_owned())?;
            RecordedRequest::new(number, protocol, headers, json, body.len())
        });
        let request = match outcome {
            Ok(request) => request,
            Err(why) => return delivery::plain_response(StatusCode::INTERNAL_SERVER_ERROR, why),
        };
        let response = self.choose_response(&request);
        delivery::deliver_response(&request, response, self.stopped).await
    }

    fn choose_response(&self, request: &RecordedRequest) -> ScriptedResponse {
        let window = self.token_limit.load(Ordering::Relaxed);
        let tokens = if window == u64::MAX { 0 } else { request.estimate_tokens() };
        if tokens > window {
            let why = format!(
                "This model's maximum context length is {window} tokens. However, your messages \
                 resulted in {tokens} tokens."
            );
            let code = Some("context_length_exceeded");
            return ScriptedResponse::default().error(400, "invalid_request_error", code, why);
        }
        let (status, kind, why) = match check::find_refusal(request) {
            Some(why) => (400, "invalid_request_error", why),
            None => match self.script.answer_request(request) {
                Ok(response) => return response,
                Err(why) => (500, "unexpected_request", why),
            },
        };
        let number = request.number();
        let why = format!("request {number} is unexpected: {why}\n{}", request.transcript());
        self.log.record_unexpected(why.clone());
        ScriptedResponse::default().error(status, kind, Some("unexpected_request"), why)
    }
}
