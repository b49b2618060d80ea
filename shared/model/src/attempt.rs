//! One attempt at a call: sent, heard to its end, and judged.

use std::sync::Arc;
use std::time::Duration;

use djinn_core::input::Reply;
use djinn_runtime::port::model::{ModelError, ModelErrorKind, ModelRequest};
use djinn_runtime::port::secret::Secret;
use djinn_runtime::prompt::Prompts;
use genai::chat::{ChatOptions, ChatRequest, ChatStream};
use genai::resolver::{AuthData, Endpoint};
use genai::{Client, Error as GenaiError, ModelIden, ServiceTarget};
use tokio::time::{Instant, timeout_at};

use crate::draft::{Draft, Listener};
use crate::fault::{Fault, Mask};
use crate::frames::{Events, Frames};
use crate::listen::{Ear, Heard, Inbox, quietly};
use crate::request::{self, Outgoing};
use crate::settings::{ModelSettings, Shape};

/// Bytes of a reply.
const MAX_REPLY: usize = 8 * 1024 * 1024;
/// Longest wait for the last words (usage, `[DONE]`) of a reply that has given its reason to end.
const LINGER: Duration = Duration::from_secs(5);
/// How often a call makes sure that its process is at work: see `djinn_runtime::own_time`.
const TICK: Duration = Duration::from_secs(1);
/// How late a tick is when the process stood still.
const LATE: Duration = Duration::from_secs(2);
/// What is sent in place of a key to servers that take none: genai insists on one.
const NO_KEY: &str = "none";

/// What an attempt works with.
pub(crate) struct Attempt<'a> {
    pub(crate) client: &'a Client,
    pub(crate) model: &'a ModelSettings,
    pub(crate) key: Option<&'a Secret>,
    pub(crate) prompts: &'a Prompts,
}

impl Attempt<'_> {
    pub(crate) async fn run(
        &self,
        request: &ModelRequest,
        out: Listener<'_>,
    ) -> Result<Reply, ModelError> {
        let started = Instant::now();
        let Outgoing { chat, options, names, how } =
            request::outgoing(self.model, request, self.prompts);
        let mut draft = Draft::new(request::by(self.model), how);
        let ended = self.hear_all(chat, options, started, &mut draft, out).await;
        let took_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
        match judge(ended, &draft) {
            None => Ok(draft.close(&names, took_ms, out)),
            Some(fault) => {
                let usage = draft.usage(took_ms);
                Err(fault.into_error(&Mask::new(self.key, request), usage))
            }
        }
    }

    /// Sends the request and fills the draft; returns what ended the hearing, if not the reply.
    async fn hear_all(
        &self,
        chat: ChatRequest,
        options: ChatOptions,
        started: Instant,
        draft: &mut Draft,
        out: Listener<'_>,
    ) -> Option<Fault> {
        let inbox = Arc::new(Inbox::default());
        let options = options.with_raw_frame_sink_arc(inbox.clone());
        let name = self.model.provider.as_str();
        let deadline = started + self.model.first_byte_timeout;
        let (host, stream) = match timeout_at(deadline, self.send(chat, options)).await {
            Ok(Ok(sent)) => sent,
            Ok(Err(error)) => return Some(Fault::genai(&error, name, false)),
            Err(_) => {
                let message = format!("{name} cannot be asked: its credentials take too long");
                return Some(Fault::new(ModelErrorKind::Unreachable, message));
            }
        };
        let shape = self.model.provider.shape(&self.model.model);
        let mut hearing = Hearing {
            ear: Ear::new(stream, inbox, started),
            frames: Frames::new(shape),
            events: Events,
            shape,
            host,
            started,
            bytes: 0,
            frames_heard: 0,
            frames_at_error: None,
            reported: None,
            finished_at: None,
        };
        hearing.listen(self.model, draft, out).await
    }

    async fn send(
        &self,
        chat: ChatRequest,
        options: ChatOptions,
    ) -> Result<(String, ChatStream), GenaiError> {
        let target = self.target().await?;
        let host = host(target.endpoint.base_url());
        let client = self.client.clone();
        // genai fetches AWS credentials by blocking the thread, which only a thread of its own
        // allows whatever the runtime is.
        let sent = if self.model.provider.is_signed() {
            let runtime = tokio::runtime::Handle::current();
            let sending = tokio::task::spawn_blocking(move || {
                quietly(|| runtime.block_on(client.exec_chat_stream(target, chat, Some(&options))))
            });
            sending.await.map_err(|error| GenaiError::Internal(error.to_string()))?
        } else {
            let mut sending = Box::pin(client.exec_chat_stream(target, chat, Some(&options)));
            std::future::poll_fn(|context| quietly(|| sending.as_mut().poll(context))).await
        };
        Ok((host, sent?.stream))
    }

    /// Where and as whom to ask. The name is kept whole: what stands before a first `::` would be
    /// taken for a namespace.
    async fn target(&self) -> Result<ServiceTarget, GenaiError> {
        let provider = self.model.provider;
        let name = match self.model.model.contains("::") {
            true => format!("djinn::{}", self.model.model),
            false => self.model.model.clone(),
        };
        let default = ModelIden::new(provider.kind(), name.clone());
        let mut target = self.client.resolve_service_target(default).await?;
        target.model = ModelIden::new(provider.writer(&self.model.model), name);
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

/// The state of listening to one stream.
struct Hearing {
    ear: Ear,
    frames: Frames,
    events: Events,
    shape: Shape,
    host: String,
    started: Instant,
    bytes: usize,
    frames_heard: u64,
    /// How many frames there were at genai's last error.
    frames_at_error: Option<u64>,
    /// An error that genai understands as the provider's own, should our reader miss it.
    reported: Option<Fault>,
    finished_at: Option<Instant>,
}

impl Hearing {
    async fn listen(
        &mut self,
        model: &ModelSettings,
        draft: &mut Draft,
        out: Listener<'_>,
    ) -> Option<Fault> {
        loop {
            let tick = self.deadline(model).min(Instant::now() + TICK);
            let heard = timeout_at(tick, self.ear.hear()).await;
            self.leave_out(tick.elapsed());
            let Ok(heard) = heard else {
                if self.deadline(model) > Instant::now() {
                    continue;
                }
                return Some(self.too_slow(model));
            };
            match heard {
                Heard::Frame(frame) => {
                    self.frames_heard += 1;
                    self.bytes = self.bytes.saturating_add(frame.len());
                    if self.bytes > MAX_REPLY {
                        return Some(Fault::endless());
                    }
                    self.frames.read(&frame, draft, out);
                }
                Heard::Event(event) if self.shape == Shape::Events => {
                    self.events.read(event, draft, out);
                }
                Heard::Event(_) => {}
                Heard::Failed(error) => {
                    if let Some(fault) = self.failed(&error, draft) {
                        return Some(fault);
                    }
                }
                Heard::End => {
                    self.frames.end(draft);
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

    /// Leaves the time by which a tick is late out of all that is waited for, if the process stood
    /// still: the provider may have said it all.
    fn leave_out(&mut self, late: Duration) {
        if late > LATE {
            self.started += late;
            self.ear.stood_still();
        }
    }

    /// Whether an error of genai's ends the hearing. What it makes of a frame that we read
    /// ourselves does not matter.
    fn failed(&mut self, error: &GenaiError, draft: &mut Draft) -> Option<Fault> {
        let is_transport =
            matches!(error, GenaiError::WebStream { .. } | GenaiError::HttpError { .. });
        let stands_still =
            self.frames_at_error.replace(self.frames_heard) == Some(self.frames_heard);
        if is_transport {
            self.frames.end(draft);
        }
        if is_transport || self.shape == Shape::Events || stands_still {
            return Some(Fault::genai(error, &self.host, self.frames_heard > 0));
        }
        if matches!(error, GenaiError::ChatResponse { .. }) {
            let fault = Fault::genai(error, &self.host, true);
            self.reported.get_or_insert(fault);
        }
        None
    }

    /// When to stop waiting: for the first byte, for the next, for the whole, or for the last
    /// words of a reply that is over.
    fn deadline(&self, model: &ModelSettings) -> Instant {
        let next = match self.frames_heard {
            0 => self.started + model.first_byte_timeout,
            _ => self.ear.last_moved() + model.chunk_timeout,
        };
        let whole = self.started + model.call_timeout;
        let over = self.finished_at.map(|at| at + LINGER);
        [Some(next), Some(whole), over].into_iter().flatten().min().unwrap_or(whole)
    }

    fn too_slow(&self, model: &ModelSettings) -> Fault {
        let host = &self.host;
        let message = if self.started.elapsed() >= model.call_timeout {
            format!("{host} did not finish within {}", seconds(model.call_timeout))
        } else if self.frames_heard == 0 {
            format!("{host} did not answer within {}", seconds(model.first_byte_timeout))
        } else {
            format!("{host} fell silent for {}", seconds(model.chunk_timeout))
        };
        Fault::new(ModelErrorKind::Unreachable, message)
    }
}

/// What the attempt failed of, if it did. A reply that was whole before something broke is
/// whole.
fn judge(ended: Option<Fault>, draft: &Draft) -> Option<Fault> {
    if draft.is_whole() {
        return ended.filter(|fault| fault.is_final());
    }
    if let Some(fault) = &draft.fault {
        return Some(fault.clone());
    }
    if let Some(fault) = ended {
        return Some(fault);
    }
    Some(match (draft.torn, draft.is_blank()) {
        (true, _) => Fault::new(ModelErrorKind::Unreadable, "a piece of the reply cannot be read"),
        (false, true) => Fault::new(
            ModelErrorKind::Unreadable,
            "the answer holds no stream of a reply; check base_url and provider",
        ),
        (false, false) => {
            Fault::new(ModelErrorKind::BrokenOff, "the stream ended before the reply did")
        }
    })
}

fn seconds(duration: Duration) -> String {
    format!("{} s", duration.as_secs_f64())
}

fn host(url: &str) -> String {
    reqwest::Url::parse(url)
        .ok()
        .and_then(|url| url.host_str().map(ToOwned::to_owned))
        .unwrap_or_else(|| "the provider".to_owned())
}
