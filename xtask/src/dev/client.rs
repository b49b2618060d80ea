//! The client half of the native protocol: uploads, the event stream, downloads.

use std::path::Path;

use anyhow::{Context as _, Result, bail};
use reqwest::header::ACCEPT;
use reqwest::{Client, RequestBuilder, Response, StatusCode};
use serde_json::{Map, Value, json};

use super::json::text_at;

/// A system to talk to.
pub(crate) struct ServerClient {
    pub(super) http: Client,
    pub(super) url: String,
    /// The API key, if required.
    pub(super) key: Option<String>,
}

/// A question with ids.
pub(super) struct AskRequest<'a> {
    /// The text; `None` if the arguments have the question.
    pub(super) text: Option<&'a str>,
    pub(super) session: &'a str,
    pub(super) request: &'a str,
    /// The name of the mode.
    pub(super) mode: &'a str,
    /// The arguments of the mode.
    pub(super) arguments: Option<&'a Map<String, Value>>,
    /// The names of the question's files in the session.
    pub(super) files: &'a [String],
    /// The settings of human requests: the fields of `human_requests`.
    pub(super) human_requests: &'a Map<String, Value>,
}

impl ServerClient {
    /// Uploads a file of a session directly to the object store. Returns the stored name.
    pub(super) async fn upload_file(&self, session: &str, file: &Path) -> Result<String> {
        let bytes =
            std::fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
        let name =
            file.file_name().and_then(|name| name.to_str()).context("the file has no name")?;
        let announcement = json!({"name": name, "size": bytes.len()});
        let path = format!("/sessions/{session}/files");
        let place = self.post_json(&path, &announcement).await?;
        let mut upload = self.http.put(text_at(&place, "/upload/url")).body(bytes);
        let headers = place.pointer("/upload/headers").and_then(Value::as_object);
        for (name, value) in headers.into_iter().flatten() {
            upload = upload.header(name, value.as_str().unwrap_or_default());
        }
        let answer = upload.send().await?;
        if !answer.status().is_success() {
            bail!("{} was not accepted: {}", file.display(), answer.status());
        }
        Ok(name.to_owned())
    }

    /// Asks a question, or resumes the stream after the cursor `after`.
    pub(super) async fn open_stream(
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
        let mut request = self
            .send_key(self.http.post(format!("{}/runs", self.url)))
            .header(ACCEPT, "text/event-stream")
            .json(&body);
        if let Some(after) = after {
            request = request.header("last-event-id", after);
        }
        let response = check_response(request.send().await?).await?;
        let run = response.headers().get("djinn-run-id").and_then(|value| value.to_str().ok());
        let run = run.unwrap_or_default().to_owned();
        Ok(EventStream { response, run, buffer: String::new(), rest: Vec::new() })
    }

    /// Downloads the bytes of a link.
    ///
    /// # Errors
    /// Returns an error if the download fails.
    pub(crate) async fn download_file(&self, url: &str) -> Result<Vec<u8>> {
        let request = self.http.get(url);
        // The store rejects a signed URL sent with an API key.
        let is_ours = url.strip_prefix(&self.url).is_some_and(|path| path.starts_with('/'));
        let request = if is_ours { self.send_key(request) } else { request };
        let answer = request.send().await?.error_for_status()?;
        Ok(answer.bytes().await?.to_vec())
    }

    /// Sends a GET request to a path below the server's URL; an error has the server's own sentence.
    pub(super) async fn get_json(&self, path: &str) -> Result<Value> {
        let request = self.send_key(self.http.get(format!("{}{path}", self.url)));
        Ok(check_response(request.send().await?).await?.json().await?)
    }

    /// Sends a POST request with JSON to a path below the server's URL, and returns the response's JSON.
    pub(super) async fn post_json(&self, path: &str, body: &Value) -> Result<Value> {
        let request = self.send_key(self.http.post(format!("{}{path}", self.url))).json(body);
        Ok(check_response(request.send().await?).await?.json().await?)
    }

    fn send_key(&self, request: RequestBuilder) -> RequestBuilder {
        match &self.key {
            Some(key) => request.bearer_auth(key),
            None => request,
        }
    }
}

/// Returns the response, or an error with the server's own sentence.
async fn check_response(response: Response) -> Result<Response> {
    if [StatusCode::OK, StatusCode::ACCEPTED].contains(&response.status()) {
        return Ok(response);
    }
    let status = response.status();
    let body: Value = response.json().await.unwrap_or_default();
    match text_at(&body, "/message") {
        "" => bail!("the server answered {status}"),
        message => bail!("{message}"),
    }
}

/// An event of the stream.
pub(super) struct StreamEvent {
    pub(super) id: Option<String>,
    pub(super) name: String,
    pub(super) data: Value,
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
pub(super) struct EventStream {
    response: Response,
    pub(super) run: String,
    buffer: String,
    rest: Vec<u8>,
}

impl EventStream {
    /// Returns the next event; `None` after the end of the stream.
    pub(super) async fn next_event(&mut self) -> Result<Option<StreamEvent>> {
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
