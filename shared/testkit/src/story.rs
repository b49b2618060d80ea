//! A model in memory with a fixed story: the text and calls of each message of a run.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use djinn_core::budget::{Price, Usage};
use djinn_core::error_code::ErrorCode;
use djinn_core::input::{Reply, RequestedCall};
use djinn_core::settings::{ModelChoice, Role};
use djinn_core::tool::ToolArguments;
use djinn_protocol::preview::TextKind;
use djinn_runtime::port::model::{
    Delta, Message, Model, ModelError, ModelErrorKind, ModelLimits, ModelRequest,
};
use djinn_text::tokens::estimate_tokens;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::point::Points;

/// The text and calls of one message.
#[derive(Debug, Clone, Default)]
pub struct StoryLine {
    text: String,
    calls: Vec<(String, Value)>,
    latency: Duration,
    pace: Duration,
    failures: Vec<LineFailure>,
    /// The failure of every attempt of a role's own model; the fallback says the line.
    down: Option<LineFailure>,
}

/// The failure of one attempt at a line.
#[derive(Debug, Clone)]
struct LineFailure {
    /// The bytes of the text sent before the failure.
    sent: usize,
    kind: ModelErrorKind,
    usage: Usage,
}

impl StoryLine {
    /// Creates a line with this text, sent in pieces of four characters.
    #[must_use]
    pub fn say(text: &str) -> Self {
        Self { text: text.to_owned(), ..Self::default() }
    }

    /// Adds a tool call to the line.
    #[must_use]
    pub fn with_call(mut self, tool: &str, arguments: Value) -> Self {
        self.calls.push((tool.to_owned(), arguments));
        self
    }

    /// Sets the time before the first piece.
    #[must_use]
    pub fn with_latency(mut self, duration: Duration) -> Self {
        self.latency = duration;
        self
    }

    /// Sets the time before each further piece.
    #[must_use]
    pub fn with_pace(mut self, pace: Duration) -> Self {
        self.pace = pace;
        self
    }

    /// Adds one failure after `sent` bytes of the text; each use adds another.
    #[must_use]
    pub fn failing_after(mut self, sent: usize, kind: ModelErrorKind) -> Self {
        self.failures.push(LineFailure { sent, kind, usage: Usage::default() });
        self
    }

    /// Leaves the line to the fallback: every attempt of the role's own model fails after `sent` bytes.
    #[must_use]
    pub fn down_after(mut self, sent: usize, kind: ModelErrorKind) -> Self {
        self.down = Some(LineFailure { sent, kind, usage: Usage::default() });
        self
    }

    /// Sets the usage of each failed attempt.
    #[must_use]
    pub fn with_usage(mut self, usage: Usage) -> Self {
        self.failures.iter_mut().chain(&mut self.down).for_each(|failing| failing.usage = usage);
        self
    }
}

/// A model that says the line of each message, and records every request of all clones.
#[derive(Clone)]
pub struct StoryModel {
    lines: Arc<BTreeMap<String, StoryLine>>,
    window: u64,
    /// The actual input limit in tokens, if lower than in the settings.
    real_window: Option<u64>,
    /// The end of an outage, and the error of every request until then.
    downtime: Option<(Instant, ModelErrorKind)>,
    /// The rate limit of the provider.
    rate: Option<Arc<Mutex<Rate>>>,
    fallback_window: Option<u64>,
    price: Option<Price>,
    requests: Arc<Mutex<Vec<ModelRequest>>>,
    /// The remembered failure of a process's own model.
    outage: Option<Arc<Mutex<Option<ErrorCode>>>>,
    points: Points,
}

/// A provider's limit on the calls in each time window.
#[derive(Debug)]
struct Rate {
    calls: u32,
    window: Duration,
    began: Instant,
    call_count: u32,
}

impl StoryModel {
    /// Creates a model with these lines, by message id.
    #[must_use]
    pub fn new<'a>(lines: impl IntoIterator<Item = (&'a str, StoryLine)>, points: Points) -> Self {
        let lines = lines.into_iter().map(|(message, line)| (message.to_owned(), line)).collect();
        let lines = Arc::new(lines);
        let window = 100_000;
        let fallback_window = None;
        let price = None;
        let requests = Arc::default();
        let outage = None;
        let real_window = None;
        let downtime = None;
        let rate = None;
        Self {
            lines,
            window,
            real_window,
            downtime,
            rate,
            fallback_window,
            price,
            requests,
            outage,
            points,
        }
    }

    /// Sets the input limit in tokens, with errors above as from a provider.
    #[must_use]
    pub fn with_window(mut self, tokens: u64) -> Self {
        self.window = tokens;
        self
    }

    /// Rejects requests with more tokens, regardless of the settings.
    #[must_use]
    pub fn refusing_above(mut self, tokens: u64) -> Self {
        self.real_window = Some(tokens);
        self
    }

    /// Replaces the lines of the story.
    #[must_use]
    pub fn with_lines(mut self, change: impl Fn(&str, StoryLine) -> StoryLine) -> Self {
        let lines = self.lines.iter();
        let lines = lines.map(|(message, line)| (message.clone(), change(message, line.clone())));
        self.lines = Arc::new(lines.collect());
        self
    }

    /// Fails every request for this time from now on.
    #[must_use]
    pub fn down_for(mut self, lasts: Duration, kind: ModelErrorKind) -> Self {
        self.downtime = Some((Instant::now() + lasts, kind));
        self
    }

    /// Accepts `calls` in each time window, and rejects others until the next window.
    #[must_use]
    pub fn with_rate(mut self, calls: u32, window: Duration) -> Self {
        self.rate = Some(Arc::new(Mutex::new(Rate {
            calls,
            window,
            began: Instant::now(),
            call_count: 0,
        })));
        self
    }

    /// Adds a fallback with this input limit in tokens.
    #[must_use]
    pub fn with_fallback(mut self, tokens: u64) -> Self {
        self.fallback_window = Some(tokens);
        self
    }

    /// Makes each process remember the failure of its own model, until a reply.
    #[must_use]
    pub fn with_outages(mut self) -> Self {
        self.outage = Some(Arc::default());
        self
    }

    /// Sets a price for every role and the fallback; by default no price.
    #[must_use]
    pub fn with_price(mut self, price: Price) -> Self {
        self.price = Some(price);
        self
    }

    /// Returns the same model, for the calls of a process.
    #[must_use]
    pub fn of(&self, process: u64) -> Self {
        let outage = self.outage.as_ref().map(|_| Arc::default());
        Self { points: self.points.of(process), outage, ..self.clone() }
    }

    /// Returns all requests so far.
    #[must_use]
    pub fn requests(&self) -> Vec<ModelRequest> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn window(&self, choice: ModelChoice) -> u64 {
        match choice {
            ModelChoice::Primary => self.window,
            ModelChoice::Fallback => self.fallback_window.unwrap_or_default(),
        }
    }

    /// Records a request, and returns the number of earlier requests for its message.
    fn record_request(&self, request: &ModelRequest, message: &str) -> usize {
        let mut requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        let before = requests.iter().filter(|earlier| message_of(earlier) == message).count();
        requests.push(request.clone());
        before
    }
}

impl Model for StoryModel {
    fn limits(&self, _role: Role, choice: ModelChoice) -> Result<ModelLimits, ModelError> {
        let call_timeout = Duration::from_secs(300);
        Ok(ModelLimits {
            max_input_tokens: self.window(choice),
            max_output_tokens: 1_000,
            price: self.price,
            call_timeout,
            sees_images: false,
        })
    }

    fn name(&self, _role: Role, choice: ModelChoice) -> Option<&str> {
        match choice {
            ModelChoice::Primary => Some("story"),
            ModelChoice::Fallback => self.fallback_window.map(|_| "backup"),
        }
    }

    fn count_tokens(&self, text: &str) -> u64 {
        count_tokens(text)
    }

    async fn call(
        &self,
        request: &ModelRequest,
        on_delta: &mut (dyn FnMut(Delta<'_>) + Send),
    ) -> Result<Reply, ModelError> {
        let message = message_of(request);
        let before = self.record_request(request, &message);
        self.points.pass(format!("before model {message}")).await;
        if let Some(retry_after) = self.rate.as_ref().and_then(|rate| take_call(rate)) {
            let error = model_error(ModelErrorKind::Overloaded, "too many requests");
            return Err(ModelError { retry_after: Some(retry_after), ..error });
        }
        let input = request_tokens(request);
        let window = self.real_window.unwrap_or_else(|| self.window(request.choice));
        if let Some((_, kind)) = self.downtime.filter(|(until, _)| *until > Instant::now()) {
            return Err(model_error(kind, "the provider is down"));
        }
        if input > window {
            let detail = format!("{input} tokens, and {window} is the limit");
            return Err(model_error(ModelErrorKind::ContextTooLong, &detail));
        }
        let Some(line) = self.lines.get(&message) else {
            return Err(model_error(ModelErrorKind::Refused, &format!("no line for {message}")));
        };
        tokio::time::sleep(line.latency).await;
        let down = line.down.as_ref().filter(|_| request.choice == ModelChoice::Primary);
        let failing = down.or(line.failures.get(before));
        let text = failing.map_or(line.text.as_str(), |failing| {
            line.text.get(..failing.sent).unwrap_or(&line.text)
        });
        let mut starts: Vec<usize> = text.char_indices().step_by(4).map(|(at, _)| at).collect();
        starts.push(text.len());
        let pieces = starts.windows(2);
        for piece in pieces.filter_map(|ends| text.get(*ends.first()?..*ends.last()?)) {
            self.points.wait_until_alive().await;
            on_delta(Delta { kind: TextKind::Text, text: piece });
            tokio::time::sleep(line.pace).await;
        }
        self.points.pass(format!("after model {message}")).await;
        match failing {
            Some(LineFailure { kind, usage, .. }) => {
                Err(ModelError { usage: *usage, ..model_error(*kind, "as the story says") })
            }
            None => Ok(Reply::from(line)),
        }
    }

    fn outage(&self, _role: Role) -> Option<ErrorCode> {
        *self.outage.as_ref()?.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set_outage(&self, _role: Role, outage: Option<ErrorCode>) {
        if let Some(current) = &self.outage {
            *current.lock().unwrap_or_else(PoisonError::into_inner) = outage;
        }
    }
}

impl From<&StoryLine> for Reply {
    fn from(line: &StoryLine) -> Self {
        let to_call = |(tool, arguments): &(String, Value)| {
            let arguments = arguments.as_object().cloned().unwrap_or_default();
            RequestedCall::new(tool, ToolArguments::Parsed(arguments))
        };
        let usage = Usage { input_tokens: 100, output_tokens: 10, ..Usage::default() };
        let calls = line.calls.iter().map(to_call).collect();
        Self { text: line.text.clone(), calls, usage, ..Self::default() }
    }
}

/// Returns the estimated tokens of a text, without counting.
fn count_tokens(text: &str) -> u64 {
    estimate_tokens(text.len() as u64)
}

fn request_tokens(request: &ModelRequest) -> u64 {
    let message_tokens = |message: &Message| match message {
        Message::User(text) => count_tokens(text),
        Message::Images { text, .. } => count_tokens(text) + message.image_tokens(),
        Message::Assistant { text, calls, .. } => {
            let calls = calls.iter().map(|call| count_tokens(&json!(call.arguments).to_string()));
            count_tokens(text) + calls.sum::<u64>()
        }
        Message::ToolResults(results) => {
            results.iter().map(|result| count_tokens(&result.text)).sum()
        }
    };
    let tools = request.tools.iter().map(|tool| {
        count_tokens(&tool.name)
            + count_tokens(&tool.description)
            + count_tokens(&tool.schema.to_string())
    });
    let messages = request.messages.iter().map(message_tokens);
    count_tokens(&request.system) + tools.chain(messages).sum::<u64>()
}

fn message_of(request: &ModelRequest) -> String {
    request.call.split('/').nth(1).unwrap_or_default().to_owned()
}

/// Takes a call of the current window, or returns the time until the next window.
fn take_call(rate: &Mutex<Rate>) -> Option<Duration> {
    let mut rate = rate.lock().unwrap_or_else(PoisonError::into_inner);
    if rate.began.elapsed() >= rate.window {
        (rate.began, rate.call_count) = (Instant::now(), 0);
    }
    rate.call_count += 1;
    (rate.call_count > rate.calls).then(|| rate.window.saturating_sub(rate.began.elapsed()))
}

fn model_error(kind: ModelErrorKind, detail: &str) -> ModelError {
    ModelError { kind, detail: detail.to_owned(), retry_after: None, usage: Usage::default() }
}
