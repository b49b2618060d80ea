//! A model in memory that tells a fixed story: for each message of a run, what it says and calls.

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

/// What a story says in one message.
#[derive(Debug, Clone, Default)]
pub struct StoryLine {
    text: String,
    calls: Vec<(String, Value)>,
    latency: Duration,
    pace: Duration,
    failures: Vec<LineFailure>,
    /// How every attempt of a role's own model fails; its fallback says the line.
    down: Option<LineFailure>,
}

/// How one attempt at a line fails.
#[derive(Debug, Clone)]
struct LineFailure {
    /// How much of the text is sent before.
    sent: usize,
    kind: ModelErrorKind,
    usage: Usage,
}

impl StoryLine {
    /// Says this, in pieces of four characters.
    #[must_use]
    pub fn say(text: &str) -> Self {
        Self { text: text.to_owned(), ..Self::default() }
    }

    /// Calls a tool besides.
    #[must_use]
    pub fn with_call(mut self, tool: &str, arguments: Value) -> Self {
        self.calls.push((tool.to_owned(), arguments));
        self
    }

    /// Takes this long before its first piece.
    #[must_use]
    pub fn with_latency(mut self, duration: Duration) -> Self {
        self.latency = duration;
        self
    }

    /// Takes this long before each further piece.
    #[must_use]
    pub fn with_pace(mut self, pace: Duration) -> Self {
        self.pace = pace;
        self
    }

    /// Fails once, after `sent` bytes of the text; may be said several times.
    #[must_use]
    pub fn failing_after(mut self, sent: usize, kind: ModelErrorKind) -> Self {
        self.failures.push(LineFailure { sent, kind, usage: Usage::default() });
        self
    }

    /// Is said by the fallback alone: every attempt of the role's own model fails after `sent` bytes.
    #[must_use]
    pub fn down_after(mut self, sent: usize, kind: ModelErrorKind) -> Self {
        self.down = Some(LineFailure { sent, kind, usage: Usage::default() });
        self
    }

    /// Costs so much each time it fails.
    #[must_use]
    pub fn with_usage(mut self, usage: Usage) -> Self {
        self.failures.iter_mut().chain(&mut self.down).for_each(|failing| failing.usage = usage);
        self
    }
}

/// The model says the line of each message and keeps every request, for all its clones.
#[derive(Clone)]
pub struct StoryModel {
    lines: Arc<BTreeMap<String, StoryLine>>,
    window: u64,
    /// The tokens it really takes, if its settings say more.
    real_window: Option<u64>,
    /// Until when every request fails, and how.
    downtime: Option<(Instant, ModelErrorKind)>,
    /// The rate at which its provider takes calls.
    rate: Option<Arc<Mutex<Rate>>>,
    fallback_window: Option<u64>,
    price: Option<Price>,
    requests: Arc<Mutex<Vec<ModelRequest>>>,
    /// What its own model failed of, if a process remembers that.
    outage: Option<Arc<Mutex<Option<ErrorCode>>>>,
    points: Points,
}

/// The calls that a provider takes in each window.
#[derive(Debug)]
struct Rate {
    calls: u32,
    window: Duration,
    began: Instant,
    taken: u32,
}

impl StoryModel {
    /// A model that says `lines`, by the ids of their messages.
    #[must_use]
    pub fn new<'a>(lines: impl IntoIterator<Item = (&'a str, StoryLine)>, points: Points) -> Self {
        let lines = lines.into_iter().map(|(message, line)| (message.to_owned(), line)).collect();
        let lines = Arc::new(lines);
        let (window, fallback_window) = (100_000, None);
        let (price, requests, outage) = (None, Arc::default(), None);
        let (real_window, downtime, rate) = (None, None, None);
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

    /// Takes so many tokens of input, and refuses more as providers do.
    #[must_use]
    pub fn with_window(mut self, tokens: u64) -> Self {
        self.window = tokens;
        self
    }

    /// Refuses requests of more tokens than this, whatever its settings say.
    #[must_use]
    pub fn refusing_above(mut self, tokens: u64) -> Self {
        self.real_window = Some(tokens);
        self
    }

    /// Says other lines instead.
    #[must_use]
    pub fn with_lines(mut self, change: impl Fn(&str, StoryLine) -> StoryLine) -> Self {
        let lines = self.lines.iter();
        let lines = lines.map(|(message, line)| (message.clone(), change(message, line.clone())));
        self.lines = Arc::new(lines.collect());
        self
    }

    /// Fails every request from now on, for so long.
    #[must_use]
    pub fn down_for(mut self, lasts: Duration, kind: ModelErrorKind) -> Self {
        self.downtime = Some((Instant::now() + lasts, kind));
        self
    }

    /// Takes `calls` in each window of so long, and refuses others until the next one.
    #[must_use]
    pub fn with_rate(mut self, calls: u32, window: Duration) -> Self {
        self.rate =
            Some(Arc::new(Mutex::new(Rate { calls, window, began: Instant::now(), taken: 0 })));
        self
    }

    /// Has a fallback that takes so many tokens of input.
    #[must_use]
    pub fn with_fallback(mut self, tokens: u64) -> Self {
        self.fallback_window = Some(tokens);
        self
    }

    /// Has each process remember what its own model failed of, until it answers.
    #[must_use]
    pub fn with_outages(mut self) -> Self {
        self.outage = Some(Arc::default());
        self
    }

    /// The price holds for every role and for the fallback; without it the model states none.
    #[must_use]
    pub fn with_price(mut self, price: Price) -> Self {
        self.price = Some(price);
        self
    }

    /// The same model, as a process sees it.
    #[must_use]
    pub fn of(&self, process: u64) -> Self {
        let outage = self.outage.as_ref().map(|_| Arc::default());
        Self { points: self.points.of(process), outage, ..self.clone() }
    }

    /// Every request so far.
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

    /// Notes a request and says how many came for its message before.
    fn record_request(&self, request: &ModelRequest, message: &str) -> usize {
        let mut asked = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        let before = asked.iter().filter(|earlier| message_of(earlier) == message).count();
        asked.push(request.clone());
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

    fn count_tokens(&self, _role: Role, _choice: ModelChoice, text: &str) -> u64 {
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
        for piece in split_pieces(text) {
            self.points.wait_until_alive().await;
            on_delta(Delta { kind: TextKind::Text, text: piece });
            tokio::time::sleep(line.pace).await;
        }
        self.points.pass(format!("after model {message}")).await;
        match failing {
            Some(LineFailure { kind, usage, .. }) => {
                Err(ModelError { usage: *usage, ..model_error(*kind, "as the story says") })
            }
            None => Ok(line.to_reply()),
        }
    }

    fn outage(&self, _role: Role) -> Option<ErrorCode> {
        *self.outage.as_ref()?.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set_outage(&self, _role: Role, outage: Option<ErrorCode>) {
        if let Some(known) = &self.outage {
            *known.lock().unwrap_or_else(PoisonError::into_inner) = outage;
        }
    }
}

impl StoryLine {
    fn to_reply(&self) -> Reply {
        let asked = |(tool, arguments): &(String, Value)| RequestedCall {
            tool: tool.clone(),
            arguments: ToolArguments::Parsed(arguments.as_object().cloned().unwrap_or_default()),
        };
        let usage = Usage { input_tokens: 100, output_tokens: 10, ..Usage::default() };
        let calls = self.calls.iter().map(asked).collect();
        Reply { text: self.text.clone(), calls, usage, ..Reply::default() }
    }
}

/// The tokens of a text, as whoever does not count them takes it.
fn count_tokens(text: &str) -> u64 {
    estimate_tokens(text.len() as u64)
}

fn request_tokens(request: &ModelRequest) -> u64 {
    let said = |message: &Message| match message {
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
    let messages = request.messages.iter().map(said);
    count_tokens(&request.system) + tools.chain(messages).sum::<u64>()
}

fn message_of(request: &ModelRequest) -> String {
    request.call.split('/').nth(1).unwrap_or_default().to_owned()
}

/// Takes one of the calls of this window; else returns the time until the next window.
fn take_call(rate: &Mutex<Rate>) -> Option<Duration> {
    let mut rate = rate.lock().unwrap_or_else(PoisonError::into_inner);
    if rate.began.elapsed() >= rate.window {
        (rate.began, rate.taken) = (Instant::now(), 0);
    }
    rate.taken += 1;
    (rate.taken > rate.calls).then(|| rate.window.saturating_sub(rate.began.elapsed()))
}

fn model_error(kind: ModelErrorKind, detail: &str) -> ModelError {
    ModelError { kind, detail: detail.to_owned(), retry_after: None, usage: Usage::default() }
}

fn split_pieces(text: &str) -> Vec<&str> {
    let mut starts: Vec<usize> = text.char_indices().step_by(4).map(|(at, _)| at).collect();
    starts.push(text.len());
    starts.windows(2).filter_map(|ends| text.get(*ends.first()?..*ends.last()?)).collect()
}
