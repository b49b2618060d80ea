//! One expected request and its responses.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;

use crate::gate::ChunkGate;
use crate::lock;
use crate::request::RecordedRequest;
use crate::response::ScriptedResponse;

/// A rule of a script: expected requests, and a response to each in order. A rule is registered when created;
/// its methods change the newest response.
#[derive(Clone)]
pub struct Rule {
    core: Arc<RuleCore>,
}

struct RuleCore {
    label: String,
    expects: Box<dyn Fn(&RecordedRequest) -> bool + Send + Sync>,
    answer_queue: Mutex<AnswerQueue>,
}

struct AnswerQueue {
    queue: VecDeque<RuleAnswer>,
    always: bool,
}

#[derive(Clone)]
enum RuleAnswer {
    Fixed(Box<ScriptedResponse>),
    Computed(Arc<dyn Fn(&RecordedRequest) -> ScriptedResponse + Send + Sync>),
}

impl Rule {
    pub(crate) fn new(
        label: String,
        expects: impl Fn(&RecordedRequest) -> bool + Send + Sync + 'static,
    ) -> Self {
        Self {
            core: Arc::new(RuleCore {
                label,
                expects: Box::new(expects),
                answer_queue: Mutex::new(AnswerQueue {
                    queue: VecDeque::from([RuleAnswer::Fixed(Box::default())]),
                    always: false,
                }),
            }),
        }
    }

    /// Starts the response to the next matching request.
    #[must_use]
    pub fn then(self) -> Self {
        let next = RuleAnswer::Fixed(Box::default());
        lock(&self.core.answer_queue).queue.push_back(next);
        self
    }

    /// Repeats the last response for every further request. Such a rule may stay unused.
    pub fn always(self) -> Self {
        lock(&self.core.answer_queue).always = true;
        self
    }

    /// Computes the response with a function, and replaces the newest response.
    pub fn respond_with(
        self,
        respond: impl Fn(&RecordedRequest) -> ScriptedResponse + Send + Sync + 'static,
    ) -> Self {
        self.replace_newest(|_| RuleAnswer::Computed(Arc::new(respond)))
    }

    /// Holds the response before a chunk, like [`ScriptedResponse::with_gate`].
    #[must_use]
    pub fn gate(&self, chunk: usize) -> ChunkGate {
        let gate = ChunkGate::default();
        self.clone().with_gate(chunk, gate.clone());
        gate
    }

    /// Takes the next response, if the rule expects the request and has one left.
    pub(crate) fn take_answer(&self, request: &RecordedRequest) -> Option<ScriptedResponse> {
        if !(self.core.expects)(request) {
            return None;
        }
        let answer = {
            let mut answer_queue = lock(&self.core.answer_queue);
            match answer_queue.queue.len() {
                1 if answer_queue.always => answer_queue.queue.front().cloned(),
                _ => answer_queue.queue.pop_front(),
            }
        };
        Some(match answer? {
            RuleAnswer::Fixed(response) => *response,
            RuleAnswer::Computed(respond) => respond(request),
        })
    }

    /// Returns the number of expected but unused responses.
    pub(crate) fn unused_answers(&self) -> usize {
        let answer_queue = lock(&self.core.answer_queue);
        if answer_queue.always { 0 } else { answer_queue.queue.len() }
    }

    fn write(self, change: impl FnOnce(ScriptedResponse) -> ScriptedResponse) -> Self {
        self.replace_newest(|newest| match newest {
            Some(RuleAnswer::Fixed(response)) => RuleAnswer::Fixed(Box::new(change(*response))),
            Some(RuleAnswer::Computed(_)) | None => {
                RuleAnswer::Fixed(Box::new(change(ScriptedResponse::default())))
            }
        })
    }

    fn replace_newest(self, change: impl FnOnce(Option<RuleAnswer>) -> RuleAnswer) -> Self {
        let mut answer_queue = lock(&self.core.answer_queue);
        let newest = answer_queue.queue.pop_back();
        answer_queue.queue.push_back(change(newest));
        drop(answer_queue);
        self
    }
}

/// The methods of [`ScriptedResponse`], for the newest response of a rule.
macro_rules! of_the_newest_answer {
    ($($name:ident($($argument:ident: $kind:ty),*);)*) => {
        impl Rule {$(
            #[doc = concat!("[`ScriptedResponse::", stringify!($name), "`] of the newest answer.")]
            pub fn $name(self, $($argument: $kind),*) -> Self {
                self.write(|response| response.$name($($argument),*))
            }
        )*}
    };
}

of_the_newest_answer! {
    reply(text: impl Into<String>);
    say(text: impl Into<String>);
    deltas(deltas: impl IntoIterator<Item = impl Into<String>>);
    reason(text: impl Into<String>);
    call(tool: impl Into<String>, arguments: Value);
    calls(calls: impl IntoIterator<Item = (impl Into<String>, Value)>);
    call_text(tool: impl Into<String>, arguments: impl Into<String>);
    call_unknown(tool: impl Into<String>, arguments: Value);
    delta_chars(characters: usize);
    usage(input: u64, output: u64, cached: u64);
    no_usage();
    finish(reason: impl Into<String>);
    no_finish();
    no_done();
    status(status: u16);
    error(status: u16, kind: impl Into<String>, code: Option<&str>, message: impl Into<String>);
    status_body(status: u16, body: Value);
    header(name: impl Into<String>, value: impl Into<String>);
    retry_after(seconds: u64);
    raw(content_type: impl Into<String>, chunks: impl IntoIterator<Item = impl Into<Vec<u8>>>);
    cut_after(chunks: usize);
    hang();
    hang_after(chunks: usize);
    fail_after(chunks: usize, kind: impl Into<String>, message: impl Into<String>);
    with_gate(chunk: usize, gate: ChunkGate);
    delay(delay: Duration);
    at_once();
}

impl fmt::Debug for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.core.label)
    }
}
