//! Calls of tools that are files: the request with its keys, and the server's answer.

mod redaction;
mod server_call;

use std::sync::Arc;
use std::time::Duration;

use djinn_core::human::NeededKey;
use djinn_core::id::sha256_hex;
use djinn_egress::{Egress, EgressError, EgressLimits, EgressRequest, EgressResponse, HttpMethod};
use djinn_mcp::McpClient;
use djinn_outside::{
    FoundFile, FoundFileContent, HeaderPart, HttpTool, OutsideDefinition, OutsideRequest,
    RequestMethod, ToolProblem, ToolProblemCode, ToolReading,
};
use djinn_runtime::port::outside::{StoredUserKey, ToolAnswer, ToolAnswerFile, ToolJob};
use djinn_runtime::port::secret::{Secret, SecretError, Secrets};
use tokio::task::spawn_blocking;

use crate::configuration::CallableTool;
use crate::keys::{KEY_REFUSALS, KeyCache};
use crate::sealing::{KeySealer, OpenError};
use redaction::Redaction;

/// Maximum size of an answer.
const MAX_ANSWER_BYTES: u64 = 20_000_000;

/// Maximum size of a file at a URL: as base64, the file must fit into a stored answer.
const MAX_FILE_BYTES: u64 = 15_000_000;

/// Timeout for a file at a URL. With the longest timeout of a tool, and the time for keys and for the
/// configuration folder, the call fits into the timeout of the function.
const FILE_TIME: Duration = Duration::from_secs(15);

/// The limits of calls, apart from those of pages.
pub(crate) const TOOL_LIMITS: EgressLimits = EgressLimits {
    total_time: Duration::from_secs(330),
    connect_time: Duration::from_secs(3),
    redirects: 5,
    at_once: 16,
    per_host: 16,
    body_bytes: MAX_ANSWER_BYTES,
};

/// The `Accept` header, unless the tool's file has one.
const ACCEPT: &str = "application/json, text/plain;q=0.9, */*;q=0.1";

/// The client for tools.
pub(crate) struct ToolCaller<'a, S> {
    pub(crate) egress: &'a Egress,
    pub(crate) servers: &'a McpClient,
    pub(crate) keys: &'a KeyCache<S>,
    pub(crate) sealer: KeySealer<'a, S>,
}

/// The start of the name of a caller's key, which no name of an operator's key contains.
const USER_KEY: &str = "user_key:";

/// The values of a call's keys, by name.
type KeyValues = Vec<(String, Option<Secret>)>;

impl<S: Secrets> ToolCaller<'_, S> {
    /// Calls a tool. No key is in the answer.
    pub(crate) async fn call(&self, configured: CallableTool, job: ToolJob) -> ToolAnswer {
        let headers = CallHeaders::new(&job.idempotency_key);
        let answer = match &configured.tool {
            OutsideDefinition::Http(tool) => {
                self.call_http(&configured, tool, &job, &headers).await
            }
            OutsideDefinition::Mcp(tool) => {
                self.call_server(&configured, tool, &job, &headers).await
            }
        };
        let answer = note_rejected_key(&configured.tool, answer);
        log_answer(configured.tool.name(), &headers, &answer);
        answer
    }

    async fn call_http(
        &self,
        configured: &CallableTool,
        tool: &Arc<HttpTool>,
        job: &ToolJob,
        headers: &CallHeaders,
    ) -> ToolAnswer {
        let request = match tool.fill(&job.arguments) {
            Ok(request) => request,
            Err(error) => return fail(ToolProblemCode::Arguments, error.to_string()),
        };
        match self.send(configured, tool, &request, headers, job.user_key.as_ref()).await {
            Ok((response, keys)) => self.read(tool, response, Redaction::new(&keys)).await,
            Err(problem) => ToolAnswer::Failed(problem),
        }
    }

    /// Sends the request. After a rejected key, sends the request again if a stored key has changed.
    async fn send(
        &self,
        configured: &CallableTool,
        tool: &HttpTool,
        request: &OutsideRequest,
        headers: &CallHeaders,
        user_key: Option<&StoredUserKey>,
    ) -> Result<(EgressResponse, KeyValues), ToolProblem> {
        let send = async |keys: &KeyValues| {
            let egress_request = build_request(tool, request, keys, headers);
            let result = self.egress.send(egress_request).await;
            result.map_err(|error| explain_egress(&error))
        };
        let keys = self.find_keys(configured, user_key).await?;
        let response = send(&keys).await?;
        let is_rejected = KEY_REFUSALS.contains(&response.status);
        if is_rejected && self.forget_keys(configured, &keys) {
            let new_keys = self.find_keys(configured, user_key).await?;
            if new_keys != keys {
                return Ok((send(&new_keys).await?, new_keys));
            }
        }
        Ok((response, keys))
    }

    async fn read(
        &self,
        tool: &Arc<HttpTool>,
        response: EgressResponse,
        redaction: Redaction,
    ) -> ToolAnswer {
        let status = response.status;
        if response.is_redirect() {
            return fail_with(ToolProblemCode::Redirect, status, String::new());
        }
        let content_type = response.content_type.clone();
        let body = match response.into_whole_body() {
            Ok(body) => body,
            Err(error) => return ToolAnswer::Failed(explain_incomplete(&error)),
        };
        let tool = Arc::clone(tool);
        // Large answers take a while to parse.
        let reading = spawn_blocking(move || {
            let body = redaction.redact_bytes(body);
            let reading = tool.read_answer(status, content_type.as_deref(), &body);
            redaction.redact_reading(reading)
        });
        let Ok(reading) = reading.await else {
            let detail = "the answer cannot be read".to_owned();
            return fail_with(ToolProblemCode::Unsupported, status, detail);
        };
        match reading {
            ToolReading::Failed(problem) => ToolAnswer::Failed(problem),
            ToolReading::Interrupted(interrupt) => ToolAnswer::Interrupted(interrupt),
            ToolReading::Done { content, file } => {
                let files = match file {
                    Some(file) => self.fetch_file(file).await.map(|file| vec![file]),
                    None => Ok(Vec::new()),
                };
                match files {
                    Ok(files) => ToolAnswer::Done { text: content.into_text(), files },
                    Err(detail) => fail_with(ToolProblemCode::BrokenFile, status, detail),
                }
            }
        }
    }

    /// Returns the file of an answer. A URL is fetched without keys.
    ///
    /// # Errors
    /// Returns the reason for a missing file.
    async fn fetch_file(&self, file: FoundFile) -> Result<ToolAnswerFile, String> {
        let FoundFile { name, media_type, content } = file;
        let url = match content {
            FoundFileContent::Bytes(content) => {
                return Ok(ToolAnswerFile { name, media_type, content });
            }
            FoundFileContent::Url(url) => url,
        };
        let request = EgressRequest {
            max_bytes: MAX_FILE_BYTES,
            time_limit: Some(FILE_TIME),
            ..EgressRequest::get(&url)
        };
        let response = self.egress.send(request).await;
        let response = response.map_err(|error| explain_egress(&error).detail)?;
        if !(200..300).contains(&response.status) {
            return Err(format!("the server of the file answered with status {}", response.status));
        }
        let media_type = media_type.or_else(|| response.content_type.clone());
        let content = response.into_whole_body();
        let content = content.map_err(|error| explain_egress(&error).detail)?;
        Ok(ToolAnswerFile { name, media_type, content })
    }

    async fn find_keys(
        &self,
        configured: &CallableTool,
        user_key: Option<&StoredUserKey>,
    ) -> Result<KeyValues, ToolProblem> {
        let mut keys = Vec::new();
        for (name, location) in &configured.keys {
            let key = self.keys.find_key(location).await.map_err(|error| {
                let problem = match error {
                    SecretError::Missing(problem) => problem,
                    SecretError::Unavailable(problem) => {
                        tracing::warn!(problem, key = name, "a key of a tool was not read");
                        format!("the key `{name}` cannot be read now: try again in a minute")
                    }
                };
                ToolProblem { code: ToolProblemCode::KeyMissing, status: None, detail: problem }
            })?;
            keys.push((name.clone(), key));
        }
        keys.extend(self.open_user_key(&configured.tool, user_key).await?);
        Ok(keys)
    }

    /// Opens the caller's key for the name and the origin of this definition.
    async fn open_user_key(
        &self,
        tool: &OutsideDefinition,
        stored: Option<&StoredUserKey>,
    ) -> Result<Option<(String, Option<Secret>)>, ToolProblem> {
        let Some(NeededKey { name, origin }) = tool.needed_key() else { return Ok(None) };
        let explain = |code| ToolProblem { code, status: None, detail: String::new() };
        let stored = stored.ok_or_else(|| explain(ToolProblemCode::UserKeyMissing))?;
        match self.sealer.open(stored, &name, &origin).await {
            Ok(key) => Ok(Some((format!("{USER_KEY}{name}"), Some(key)))),
            Err(OpenError::NotOurs) => Err(explain(ToolProblemCode::UserKeyMissing)),
            Err(OpenError::Unavailable(why)) => {
                tracing::warn!(why, "the secrets of users' keys were not read");
                Err(explain(ToolProblemCode::UserKeyUnavailable))
            }
        }
    }

    /// Removes rejected keys from the cache. Returns true if any is a stored key.
    fn forget_keys(&self, configured: &CallableTool, rejected: &KeyValues) -> bool {
        let locations = configured.keys.iter().zip(rejected);
        let forgotten =
            locations.map(|((_, location), (_, key))| self.keys.forget_key(location, key.as_ref()));
        forgotten.fold(false, |any, is_stored| any | is_stored)
    }
}

/// The headers by which a server recognises a call. They contain no id of a run, a user or a tenant.
struct CallHeaders {
    idempotency_key: String,
    traceparent: String,
}

impl CallHeaders {
    fn new(key: &str) -> Self {
        let idempotency_key: String = sha256_hex(key.as_bytes()).chars().take(32).collect();
        let trace = sha256_hex(format!("trace {key}").as_bytes());
        let (trace_id, rest) = trace.split_at_checked(32).unwrap_or_default();
        let (span_id, _) = rest.split_at_checked(16).unwrap_or_default();
        Self { idempotency_key, traceparent: format!("00-{trace_id}-{span_id}-01") }
    }
}

fn build_request(
    tool: &HttpTool,
    request: &OutsideRequest,
    keys: &KeyValues,
    headers: &CallHeaders,
) -> EgressRequest {
    let method = match request.method {
        RequestMethod::Get => HttpMethod::Get,
        RequestMethod::Post => HttpMethod::Post,
        RequestMethod::Put => HttpMethod::Put,
        RequestMethod::Patch => HttpMethod::Patch,
        RequestMethod::Delete => HttpMethod::Delete,
    };
    let mut egress_request = EgressRequest {
        method,
        body: request.body.clone().map(String::into_bytes),
        // A redirect of another method would change the request.
        accept_redirects: method == HttpMethod::Get,
        max_bytes: MAX_ANSWER_BYTES,
        time_limit: Some(Duration::from_secs(u64::from(tool.terms.timeout_s))),
        ..EgressRequest::get(&request.url)
    };
    for header in &request.headers {
        let value: String = header.value.iter().map(|part| reveal(part, keys)).collect();
        let has_key = header.value.iter().any(is_key);
        egress_request = if has_key {
            egress_request.with_key(&header.name, &value)
        } else {
            egress_request.with_header(&header.name, &value)
        };
    }
    if request.body.is_some() {
        egress_request = egress_request.with_header("Content-Type", "application/json");
    }
    if !request.headers.iter().any(|header| header.name == "accept") {
        egress_request = egress_request.with_header("Accept", ACCEPT);
    }
    egress_request
        .with_header("Idempotency-Key", &headers.idempotency_key)
        .with_header("traceparent", &headers.traceparent)
}

/// Returns true if a part of a header is a key.
fn is_key(part: &HeaderPart) -> bool {
    matches!(part, HeaderPart::Key(_) | HeaderPart::UserKey(_))
}

/// Returns the text of a part of a header.
fn reveal<'a>(part: &'a HeaderPart, keys: &'a KeyValues) -> &'a str {
    match part {
        HeaderPart::Text(text) => text,
        HeaderPart::Key(name) => find_value(keys, |other| other == name),
        HeaderPart::UserKey(name) => {
            find_value(keys, |other| other.strip_prefix(USER_KEY) == Some(name.as_str()))
        }
    }
}

fn find_value(keys: &KeyValues, is_named: impl Fn(&str) -> bool) -> &str {
    let key = keys.iter().find(|(name, _)| is_named(name));
    key.and_then(|(_, key)| key.as_ref()).map(Secret::reveal).unwrap_or_default()
}

fn fail(code: ToolProblemCode, detail: String) -> ToolAnswer {
    ToolAnswer::Failed(ToolProblem { code, status: None, detail })
}

fn fail_with(code: ToolProblemCode, status: u16, detail: String) -> ToolAnswer {
    ToolAnswer::Failed(ToolProblem { code, status: Some(status), detail })
}

/// Returns the problem of a request. A URL may contain arguments and is left out, because logs have the problem
/// too.
fn explain_egress(error: &EgressError) -> ToolProblem {
    let (code, detail) = match error {
        EgressError::Address { why, .. } => (ToolProblemCode::Address, why.to_string()),
        // The file's own headers are valid, so the value of a key is not.
        EgressError::InvalidRequest { why } => (ToolProblemCode::KeyMissing, why.clone()),
        EgressError::Protocol { why, .. } => (ToolProblemCode::Protocol, why.clone()),
        EgressError::TooLarge { .. } => (ToolProblemCode::TooLarge, error.to_string()),
        EgressError::TooManyRedirects { .. } => (ToolProblemCode::Redirect, String::new()),
        EgressError::TooSlow { .. } => (ToolProblemCode::TooSlow, error.to_string()),
        EgressError::Unreachable { .. } => (ToolProblemCode::Unreachable, error.to_string()),
    };
    ToolProblem { code, status: None, detail }
}

/// Returns the problem of an incomplete answer. Below the size limit, the connection broke.
fn explain_incomplete(error: &EgressError) -> ToolProblem {
    let problem = explain_egress(error);
    match error {
        EgressError::TooLarge { bytes, .. } if (*bytes as u64) < MAX_ANSWER_BYTES => {
            ToolProblem { code: ToolProblemCode::Protocol, ..problem }
        }
        _ => problem,
    }
}

/// Returns the answer of a server that rejected the caller's key as such.
fn note_rejected_key(tool: &OutsideDefinition, answer: ToolAnswer) -> ToolAnswer {
    match answer {
        ToolAnswer::Failed(problem)
            if problem.code == ToolProblemCode::Status
                && problem.status.is_some_and(|status| KEY_REFUSALS.contains(&status))
                && tool.needed_key().is_some() =>
        {
            ToolAnswer::Failed(ToolProblem { code: ToolProblemCode::UserKeyRejected, ..problem })
        }
        other => other,
    }
}

fn log_answer(tool: &str, headers: &CallHeaders, answer: &ToolAnswer) {
    let trace = &headers.traceparent;
    match answer {
        ToolAnswer::Done { .. } => tracing::info!(tool, trace, "a tool was called"),
        ToolAnswer::Interrupted(interrupt) => {
            tracing::info!(tool, trace, code = interrupt.code, "a tool waits for a user");
        }
        ToolAnswer::Failed(ToolProblem { code, status, .. }) => {
            tracing::warn!(tool, trace, ?code, status, "the call of a tool failed");
        }
    }
}
