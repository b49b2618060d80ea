//! The client half of the native protocol: uploads, the event stream, downloads.

use std::fmt;
use std::path::Path;
use std::time::SystemTime;

use anyhow::{Context as _, Result};
use reqwest::header::{ACCEPT, CONTENT_TYPE, HOST, LOCATION};
use reqwest::{Body, Client, RequestBuilder, Response, StatusCode, Url};
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

use super::json::text_at;
use crate::signature::RequestSigner;

/// A system to talk to.
pub(crate) struct ServerClient {
    http: Client,
    /// The URL of the system, without a slash at the end.
    pub(super) url: String,
    /// The API key or the token, if required.
    key: Option<String>,
    /// The signer of requests, if AWS requires signatures.
    signer: Option<RequestSigner>,
    /// The URL of an emulator of AWS, which receives all requests to the system.
    emulator: Option<Url>,
}

/// A question with ids.
pub(crate) struct AskRequest<'a> {
    /// The text; `None` if the arguments have the question.
    pub(crate) text: Option<&'a str>,
    pub(crate) session: &'a str,
    pub(crate) request: &'a str,
    /// The name of the mode.
    pub(crate) mode: &'a str,
    /// The arguments of the mode.
    pub(crate) arguments: Option<&'a Map<String, Value>>,
    /// The names of the question's files in the session.
    pub(crate) files: &'a [String],
    /// The settings of human requests: the fields of `human_requests`.
    pub(crate) human_requests: &'a Map<String, Value>,
}

impl ServerClient {
    pub(crate) fn new(http: Client, url: &str, key: Option<String>) -> Self {
        Self { http, url: url.trim_end_matches('/').to_owned(), key, signer: None, emulator: None }
    }

    /// Signs all requests to the system, and sends all of them to the URL of an emulator.
    pub(crate) fn with_routing(self, signer: Option<RequestSigner>, emulator: Option<Url>) -> Self {
        Self { signer, emulator, ..self }
    }

    /// Uploads a file of a session directly to the object store. Returns the stored name.
    pub(super) async fn upload_file(&self, session: &str, file: &Path) -> Result<String> {
        let bytes =
            std::fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
        let name =
            file.file_name().and_then(|name| name.to_str()).context("the file has no name")?;
        self.upload_bytes(session, name, bytes).await?;
        Ok(name.to_owned())
    }

    /// Uploads bytes as a file of a session directly to the object store. Returns the host of the store.
    ///
    /// # Errors
    /// Returns an error if the system or the store rejects the file.
    pub(crate) async fn upload_bytes(
        &self,
        session: &str,
        name: &str,
        bytes: Vec<u8>,
    ) -> Result<String> {
        let announcement = json!({"name": name, "size": bytes.len()});
        let path = format!("/sessions/{session}/files");
        let place = self.post_json(&path, &announcement).await?;
        let url = Url::parse(text_at(&place, "/upload/url")).context("no URL for the upload")?;
        let host = url.host_str().unwrap_or_default().to_owned();
        let mut upload = self.http.put(url).body(bytes);
        let headers = place.pointer("/upload/headers").and_then(Value::as_object);
        for (name, value) in headers.into_iter().flatten() {
            upload = upload.header(name, value.as_str().unwrap_or_default());
        }
        let response = check_response(upload.send().await?).await;
        response.with_context(|| format!("{name} was not accepted by {host}"))?;
        Ok(host)
    }

    /// Asks a question, or resumes the stream after the cursor `after`.
    pub(crate) async fn open_stream(
        &self,
        question: &AskRequest<'_>,
        after: Option<&str>,
    ) -> Result<EventStream> {
        let attachments: Vec<Value> =
            question.files.iter().map(|name| json!({"uri": name})).collect();
        let body = json!({
            "attachments": attachments,
            "question": question.text, "session_id": question.session,
            "request_id": question.request,
            "mode": question.mode, "arguments": question.arguments,
            "human_requests": (!question.human_requests.is_empty()).then_some(question.human_requests),
        });
        self.read_stream(self.http.post(format!("{}/runs", self.url)).json(&body), after).await
    }

    /// Follows a run from its beginning, or from after the cursor `after`.
    pub(crate) async fn follow_stream(
        &self,
        run: &str,
        after: Option<&str>,
    ) -> Result<EventStream> {
        self.read_stream(self.http.get(format!("{}/runs/{run}/events", self.url)), after).await
    }

    async fn read_stream(
        &self,
        request: RequestBuilder,
        after: Option<&str>,
    ) -> Result<EventStream> {
        let mut request = request.header(ACCEPT, EVENT_STREAM);
        if let Some(after) = after {
            request = request.header("last-event-id", after);
        }
        let response = self.send(request).await?;
        let header = |name: &str| response.headers().get(name)?.to_str().ok();
        let run = header("djinn-run-id").unwrap_or_default().to_owned();
        if !header(CONTENT_TYPE.as_str()).unwrap_or_default().starts_with(EVENT_STREAM) {
            return Err(RejectedRequest::read(response).await.into());
        }
        Ok(EventStream { response, run, buffer: String::new(), rest: Vec::new() })
    }

    /// Downloads the bytes of a link.
    ///
    /// # Errors
    /// Returns an error if the download fails.
    pub(crate) async fn download_file(&self, url: &str) -> Result<Vec<u8>> {
        // The store rejects a signed URL sent with an API key.
        let is_ours = url.strip_prefix(&self.url).is_some_and(|path| path.starts_with('/'));
        let request = self.http.get(url);
        let mut answer = if is_ours {
            self.send(request).await?
        } else {
            check_response(request.send().await?).await?
        };
        // A client that follows redirects receives none.
        if let Some(place) = answer.headers().get(LOCATION) {
            let place = answer.url().join(place.to_str()?)?;
            let host = place.host_str().unwrap_or_default().to_owned();
            answer = check_response(self.http.get(place).send().await?)
                .await
                .with_context(|| format!("{host}, to which the link leads"))?;
        }
        Ok(answer.bytes().await?.to_vec())
    }

    /// Sends a GET request to a path below the server's URL; an error has the server's own sentence.
    pub(crate) async fn get_json(&self, path: &str) -> Result<Value> {
        Ok(self.send(self.http.get(format!("{}{path}", self.url))).await?.json().await?)
    }

    /// Sends a GET request to a path below the server's URL, and returns the response's text.
    pub(crate) async fn get_text(&self, path: &str) -> Result<String> {
        Ok(self.send(self.http.get(format!("{}{path}", self.url))).await?.text().await?)
    }

    /// Sends a POST request with JSON to a path below the server's URL, and returns the response's JSON.
    pub(crate) async fn post_json(&self, path: &str, body: &Value) -> Result<Value> {
        let request = self.http.post(format!("{}{path}", self.url)).json(body);
        Ok(self.send(request).await?.json().await?)
    }

    /// Sends a DELETE request to a path below the server's URL.
    pub(crate) async fn delete(&self, path: &str) -> Result<()> {
        self.send(self.http.delete(format!("{}{path}", self.url))).await.map(|_| ())
    }

    /// Sends a request with the credentials.
    async fn send(&self, request: RequestBuilder) -> Result<Response> {
        let request = match &self.key {
            // CloudFront and signatures use the other header themselves.
            Some(key) if key.starts_with(API_KEY) => request.header("x-api-key", key),
            Some(key) => request.bearer_auth(key),
            None => request,
        };
        let mut request = request.build()?;
        if let Some(signer) = &self.signer {
            #[allow(clippy::disallowed_methods, reason = "a signature has a time")]
            let now = SystemTime::now();
            signer.sign_request(&mut request, now)?;
        } else if let Some(body) = request.body().and_then(Body::as_bytes) {
            // CloudFront, which signs for its callers, requires the hash of a body.
            let hash = Sha256::digest(body);
            let hash: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
            request.headers_mut().insert("x-amz-content-sha256", hash.parse()?);
        }
        if let Some(emulator) = &self.emulator {
            let host = request.url().authority().parse()?;
            request.headers_mut().insert(HOST, host);
            let path = request.url().path().to_owned();
            let query = request.url().query().map(str::to_owned);
            request.url_mut().clone_from(emulator);
            request.url_mut().set_path(&path);
            request.url_mut().set_query(query.as_deref());
        }
        check_response(self.http.execute(request).await?).await
    }
}

const EVENT_STREAM: &str = "text/event-stream";

/// The beginning of an API key.
const API_KEY: &str = "djinn_";

/// Returns the response, or an error with the server's own sentence.
async fn check_response(response: Response) -> Result<Response> {
    if response.status().is_success() || response.status().is_redirection() {
        Ok(response)
    } else {
        Err(RejectedRequest::read(response).await.into())
    }
}

/// A response that is not the requested one.
#[derive(Debug)]
pub(crate) struct RejectedRequest {
    pub(crate) status: StatusCode,
    /// Djinn's error code; empty if the response is not Djinn's.
    pub(crate) code: String,
    /// Djinn's sentence about the error; empty if the response is not Djinn's.
    message: String,
    pub(crate) is_page: bool,
}

impl RejectedRequest {
    async fn read(response: Response) -> Self {
        let status = response.status();
        let text = response.text().await.unwrap_or_default();
        let body: Value = serde_json::from_str(&text).unwrap_or_default();
        let field = |pointer| text_at(&body, pointer).to_owned();
        Self { status, code: field("/code"), message: field("/message"), is_page: is_html(&text) }
    }
}

impl fmt::Display for RejectedRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.message.as_str() {
            "" if self.is_page => {
                write!(f, "the server answered {} with an HTML page", self.status)
            }
            "" => write!(f, "the server answered {}", self.status),
            message => f.write_str(message),
        }
    }
}

impl std::error::Error for RejectedRequest {}

/// Returns true if a text looks like an HTML page.
pub(crate) fn is_html(text: &str) -> bool {
    let start: String = text.trim_start().chars().take(14).collect();
    let start = start.to_lowercase();
    start.starts_with("<!doctype html") || start.starts_with("<html")
}

/// An event of the stream.
pub(crate) struct StreamEvent {
    pub(crate) id: Option<String>,
    pub(crate) name: String,
    pub(crate) data: Value,
}

impl StreamEvent {
    fn parse(frame: &str) -> Option<Self> {
        let field = |name: &str| frame.lines().find_map(|line| line.strip_prefix(name));
        let data = serde_json::from_str(field("data:")?).ok()?;
        let id = field("id: ").map(str::to_owned);
        Some(Self { id, name: field("event: ").unwrap_or_default().to_owned(), data })
    }
}

/// The events of a stream, in order of arrival.
pub(crate) struct EventStream {
    response: Response,
    /// The id of the run, from the header `Djinn-Run-Id`; empty without the header.
    pub(crate) run: String,
    buffer: String,
    rest: Vec<u8>,
}

impl EventStream {
    /// Returns the next event; `None` after the end of the stream.
    pub(crate) async fn next_event(&mut self) -> Result<Option<StreamEvent>> {
        loop {
            if let Some((frame, rest)) = self.buffer.split_once("\n\n") {
                let event = StreamEvent::parse(frame);
                self.buffer = rest.to_owned();
                if event.is_some() {
                    return Ok(event);
                }
                continue;
            }
            let Some(chunk) = self.response.chunk().await? else { return Ok(None) };
            self.rest.extend_from_slice(&chunk);
            // A character may be split between two chunks.
            let whole = match std::str::from_utf8(&self.rest) {
                Ok(text) => text.len(),
                Err(error) => error.valid_up_to(),
            };
            let rest = self.rest.split_off(whole);
            self.buffer.push_str(&String::from_utf8_lossy(&self.rest));
            self.rest = rest;
        }
    }
}
