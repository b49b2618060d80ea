//! One attempt at a call: sends the request, reads the reply to the end, and judges the outcome.

use std::sync::Arc;
use std::time::Duration;

use djinn_core::budget::Usage;
use djinn_core::input::Reply;
use djinn_runtime::port::model::{ModelError, ModelErrorKind, ModelRequest};
use djinn_runtime::port::secret::Secret;
use djinn_runtime::prompt::Prompts;
use genai::chat::{ChatOptions, ChatRequest, ChatStream};
use genai::resolver::{AuthData, Endpoint};
use genai::{Client, Error as GenaiError, ModelIden, ServiceTarget};
use tokio::time::{Instant, timeout_at};

use crate::draft::{DeltaSink, Draft};
use crate::fault::{Mask, ModelFault};
use crate::frame_stream::{FrameQueue, FrameStream, StreamItem, without_tracing};
use crate::frames::{FrameReader, GenaiEventReader};
use crate::output_limits::OutputLimits;
use crate::rejected_tools::{MAX_REJECTED, RejectedTools, without_tool};
use crate::request::{self, PreparedRequest};
use crate::settings::{ModelSettings, StreamFormat};

/// Maximum bytes of a reply.
const MAX_REPLY: usize = 8 * 1024 * 1024;
/// Maximum wait for the trailing frames (usage, `[DONE]`) after a reply has given a finish reason.
const LINGER_TIMEOUT: Duration = Duration::from_secs(5);
/// Interval of the check for a suspended process: see `djinn_runtime::awake_time`.
const TICK_INTERVAL: Duration = Duration::from_secs(1);
/// Delay of a tick from which the process counts as suspended.
const MAX_TICK_DELAY: Duration = Duration::from_secs(2);
/// Placeholder key for servers without keys: genai requires a key.
const NO_KEY: &str = "none";

/// The inputs of one attempt.
pub(crate) struct Attempt<'a> {
    pub(crate) client: &'a Client,
    /// The model's name in the settings.
    pub(crate) name: &'a str,
    pub(crate) model: &'a ModelSettings,
    pub(crate) key: Option<&'a Secret>,
    pub(crate) prompts: &'a Prompts,
    pub(crate) output_limits: &'a OutputLimits,
    pub(crate) rejected_tools: &'a RejectedTools,
}

/// A failed request.
struct FailedRequest {
    fault: ModelFault,
    usage: Usage,
    /// The lower output limit to send next, if the provider rejected the limit of this request.
    output_limit: Option<u32>,
    /// The tool whose definition the provider rejected.
    rejected_tool: Option<String>,
}

impl Attempt<'_> {
    /// Makes the call. A request with a rejected tool is repeated without the tool, up to eight times. A tool left
    /// out in this way is left out of all later calls of the model.
    pub(crate) async fn run(
        &self,
        request: &ModelRequest,
        out: DeltaSink<'_>,
    ) -> Result<Reply, ModelError> {
        let mut rest = self.rejected_tools.without_known(self.name, request);
        let mut rejected = Vec::new();
        loop {
            let current = rest.as_ref().unwrap_or(request);
            let failure = match self.run_with_limit(current, out).await {
                Ok(reply) => {
                    for tool in request.tools.iter().filter(|tool| rejected.contains(&tool.name)) {
                        tracing::warn!(
                            model = self.name,
                            tool = tool.name,
                            "the provider rejects the definition of the tool; the model is not offered the tool"
                        );
                        self.rejected_tools.remember(self.name, tool);
                    }
                    return Ok(reply);
                }
                Err(failure) => failure,
            };
            let tool = failure.rejected_tool.as_ref().filter(|_| rejected.len() < MAX_REJECTED);
            let Some((tool, smaller)) =
                tool.and_then(|tool| Some((tool.clone(), without_tool(current, tool)?)))
            else {
                return Err(failure.fault.into_error(&Mask::new(self.key, request), failure.usage));
            };
            rejected.push(tool);
            rest = Some(smaller);
        }
    }

    /// Sends the request, and once more if the provider rejects the output limit, with the limit from its error. A
    /// limit accepted in this way applies to all later calls of the model.
    async fn run_with_limit(
        &self,
        request: &ModelRequest,
        out: DeltaSink<'_>,
    ) -> Result<Reply, FailedRequest> {
        let mut outcome = self.send_request(request, None, out).await;
        if let Err(FailedRequest { output_limit: Some(limit), .. }) = outcome {
            outcome = self.send_request(request, Some(limit), out).await;
            if outcome.is_ok() {
                tracing::warn!(model = self.name, limit, "max_tokens is too high for the model");
                self.output_limits.remember(self.name, limit);
            }
        }
        outcome
    }

    /// Sends the request once, with this output limit in place of the model's.
    async fn send_request(
        &self,
        request: &ModelRequest,
        output_limit: Option<u32>,
        out: DeltaSink<'_>,
    ) -> Result<Reply, FailedRequest> {
        let start = Instant::now();
        let PreparedRequest { chat, mut options, names, call_type: how } =
            request::prepare_request(self.model, request, self.prompts);
        let configured_limit = options.max_tokens.unwrap_or(self.model.max_tokens);
        let sent_limit =
            output_limit.unwrap_or_else(|| self.output_limits.cap(self.name, configured_limit));
        options.max_tokens = Some(sent_limit);
        let mut draft = Draft::new(request::model_id(self.model), how);
        let outcome = self.stream_reply(chat, options, start, &mut draft, out).await;
        let took_ms = u64::try_from(start.elapsed().as_millis()).unwrap_or(u64::MAX);
        match find_fault(outcome, &draft) {
            None => Ok(draft.into_reply((&request.tools, &names), took_ms, out)),
            Some(fault) => {
                let output_limit = fault.output_limit(sent_limit).filter(|_| draft.is_blank());
                let sent: Vec<_> =
                    request.tools.iter().map(|tool| names.wire_name(&tool.name)).collect();
                let rejected = fault.rejected_tool(&sent).filter(|_| draft.is_blank());
                let rejected_tool = rejected.map(|wire| names.original_name(wire));
                let usage = draft.usage(took_ms);
                Err(FailedRequest { fault, usage, output_limit, rejected_tool })
            }
        }
    }

    /// Sends the request and fills the draft. Returns the fault that ended the stream, or `None` after a
    /// normal end.
    async fn stream_reply(
        &self,
        chat: ChatRequest,
        options: ChatOptions,
        start: Instant,
        draft: &mut Draft,
        out: DeltaSink<'_>,
    ) -> Option<ModelFault> {
        let inbox = Arc::new(FrameQueue::default());
        let options = options.with_raw_frame_sink_arc(inbox.clone());
        let name = self.model.provider.as_str();
        let deadline = start + self.model.first_byte_timeout;
        let (host, stream) = match timeout_at(deadline, self.open_stream(chat, options)).await {
            Ok(Ok(response)) => response,
            Ok(Err(error)) => return Some(ModelFault::from_genai(&error, name, false)),
            Err(_) => {
                let message = format!("{name} cannot be asked: its credentials take too long");
                return Some(ModelFault::new(ModelErrorKind::Unreachable, message));
            }
        };
        let shape = self.model.provider.stream_format(&self.model.model);
        let mut hearing = ReplyReader {
            stream: FrameStream::new(stream, inbox, start),
            frames: FrameReader::new(shape),
            events: GenaiEventReader,
            format: shape,
            host,
            start,
            bytes: 0,
            frames_read: 0,
            frames_at_error: None,
            reported: None,
            finished_at: None,
        };
        hearing.read_to_end(self.model, draft, out).await
    }

    async fn open_stream(
        &self,
        chat: ChatRequest,
        options: ChatOptions,
    ) -> Result<(String, ChatStream), GenaiError> {
        let target = self.service_target().await?;
        let host = reqwest::Url::parse(target.endpoint.base_url())
            .ok()
            .and_then(|url| url.host_str().map(ToOwned::to_owned))
            .unwrap_or_else(|| "the provider".to_owned());
        let client = self.client.clone();
        // genai fetches AWS credentials by blocking the thread. A separate thread allows this under any
        // runtime.
        let response = if self.model.provider.is_signed() {
            let runtime = tokio::runtime::Handle::current();
            let sending = tokio::task::spawn_blocking(move || {
                without_tracing(|| {
                    runtime.block_on(client.exec_chat_stream(target, chat, Some(&options)))
                })
            });
            sending.await.map_err(|error| GenaiError::Internal(error.to_string()))?
        } else {
            let mut sending = Box::pin(client.exec_chat_stream(target, chat, Some(&options)));
            std::future::poll_fn(|context| without_tracing(|| sending.as_mut().poll(context))).await
        };
        Ok((host, response?.stream))
    }

    /// Returns the endpoint, key and model name for genai. A name with `::` gets a prefix, because genai would
    /// read the text before a first `::` as a namespace.
    async fn service_target(&self) -> Result<ServiceTarget, GenaiError> {
        let provider = self.model.provider;
        let name = if self.model.model.contains("::") {
            format!("djinn::{}", self.model.model)
        } else {
            self.model.model.clone()
        };
        let default = ModelIden::new(provider.adapter_kind(), name.clone());
        let mut target = self.client.resolve_service_target(default).await?;
        target.model = ModelIden::new(provider.request_adapter(&self.model.model), name);
        if let Some(url) = &self.model.base_url {
            target.endpoint = Endpoint::from_owned(url.as_str());
        }
        target.auth = match self.key {
            Some(key) => AuthData::from_single(key.reveal()),
            None if provider.is_signed() => AuthData::None,
            None => AuthData::from_single(NO_KEY),
        };
        Ok(target)
    }
}

/// The state of reading one stream.
struct ReplyReader {
    stream: FrameStream,
    frames: FrameReader,
    events: GenaiEventReader,
    format: StreamFormat,
    host: String,
    start: Instant,
    bytes: usize,
    frames_read: u64,
    /// The number of frames at genai's last error.
    frames_at_error: Option<u64>,
    /// A provider error recognized by genai, used if our own reader misses the error.
    reported: Option<ModelFault>,
    finished_at: Option<Instant>,
}

impl ReplyReader {
    async fn read_to_end(
        &mut self,
        model: &ModelSettings,
        draft: &mut Draft,
        out: DeltaSink<'_>,
    ) -> Option<ModelFault> {
        loop {
            let tick = self.deadline(model).min(Instant::now() + TICK_INTERVAL);
            let item = timeout_at(tick, self.stream.next_item()).await;
            let late = tick.elapsed();
            // After a suspension no wait counts the lateness: the provider may have sent everything meanwhile.
            if late > MAX_TICK_DELAY {
                self.start += late;
                self.stream.reset_idle();
            }
            let Ok(item) = item else {
                if self.deadline(model) > Instant::now() {
                    continue;
                }
                return Some(self.timeout_fault(model));
            };
            match item {
                StreamItem::Frame(frame) => {
                    self.frames_read += 1;
                    self.bytes = self.bytes.saturating_add(frame.len());
                    if self.bytes > MAX_REPLY {
                        return Some(ModelFault::reply_too_long());
                    }
                    self.frames.read_frame(&frame, draft, out);
                }
                StreamItem::Event(event) if self.format == StreamFormat::Events => {
                    self.events.read_event(event, draft, out);
                }
                StreamItem::Event(_) => {}
                StreamItem::Error(error) => {
                    if let Some(fault) = self.handle_error(&error, draft) {
                        return Some(fault);
                    }
                }
                StreamItem::End => {
                    self.frames.end_stream(draft);
                    return self.reported.take();
                }
            }
            if draft.ended || draft.fault.is_some() {
                return None;
            }
            if draft.finish.is_some() {
                self.finished_at.get_or_insert_with(Instant::now);
            }
        }
    }

    /// Returns the fault if an error of genai ends the stream. Errors about frames read by our own reader are
    /// ignored.
    fn handle_error(&mut self, error: &GenaiError, draft: &mut Draft) -> Option<ModelFault> {
        let is_transport =
            matches!(error, GenaiError::WebStream { .. } | GenaiError::HttpError { .. });
        let stands_still = self.frames_at_error.replace(self.frames_read) == Some(self.frames_read);
        if is_transport {
            self.frames.end_stream(draft);
        }
        if is_transport || self.format == StreamFormat::Events || stands_still {
            return Some(ModelFault::from_genai(error, &self.host, self.frames_read > 0));
        }
        if matches!(error, GenaiError::ChatResponse { .. }) {
            let fault = ModelFault::from_genai(error, &self.host, true);
            self.reported.get_or_insert(fault);
        }
        None
    }

    /// Returns the end of the current wait: for the first byte, the next byte, the whole reply, or the
    /// trailing frames.
    fn deadline(&self, model: &ModelSettings) -> Instant {
        let next = match self.frames_read {
            0 => self.start + model.first_byte_timeout,
            _ => self.stream.last_activity() + model.chunk_timeout,
        };
        let whole = self.start + model.call_timeout;
        let over = self.finished_at.map(|at| at + LINGER_TIMEOUT);
        [Some(next), Some(whole), over].into_iter().flatten().min().unwrap_or(whole)
    }

    fn timeout_fault(&self, model: &ModelSettings) -> ModelFault {
        let host = &self.host;
        let message = if self.start.elapsed() >= model.call_timeout {
            format!("{host} did not finish within {}", format_seconds(model.call_timeout))
        } else if self.frames_read == 0 {
            format!("{host} did not answer within {}", format_seconds(model.first_byte_timeout))
        } else {
            format!("{host} fell silent for {}", format_seconds(model.chunk_timeout))
        };
        ModelFault::new(ModelErrorKind::Unreachable, message)
    }
}

/// Returns the fault of the attempt, if any. A fault after a complete reply does not count.
fn find_fault(stream_fault: Option<ModelFault>, draft: &Draft) -> Option<ModelFault> {
    if draft.is_complete() {
        return stream_fault.filter(|fault| fault.is_final());
    }
    if let Some(fault) = &draft.fault {
        return Some(fault.clone());
    }
    if let Some(fault) = stream_fault {
        return Some(fault);
    }
    Some(match (draft.incomplete, draft.is_blank()) {
        (true, _) => {
            ModelFault::new(ModelErrorKind::Unreadable, "a piece of the reply cannot be read")
        }
        (false, true) => ModelFault::new(
            ModelErrorKind::Unreadable,
            "the answer holds no stream of a reply; check base_url and provider",
        ),
        (false, false) => {
            ModelFault::new(ModelErrorKind::BrokenOff, "the stream ended before the reply did")
        }
    })
}

fn format_seconds(duration: Duration) -> String {
    format!("{} s", duration.as_secs_f64())
}
