//! Language models, as a run asks them: one request, one streamed reply.

use std::sync::Arc;
use std::time::Duration;

use djinn_core::budget::{Price, Usage};
use djinn_core::conversation::Reasoning;
use djinn_core::effect::ToolChoice;
use djinn_core::error_code::{ErrorCode, Failure};
use djinn_core::file::{IMAGE_TYPES, ProductFile};
use djinn_core::human::Interrupt;
use djinn_core::id::CallId;
use djinn_core::input::Reply;
use djinn_core::language::Language;
use djinn_core::settings::{ModelChoice, Role};
use djinn_core::tool::ToolSpec;
pub use djinn_protocol::preview::TextKind;
use djinn_text::tokens::IMAGE_TOKENS;
use serde_json::{Map, Value};

/// A request to a model, without anything a provider knows.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelRequest {
    /// For what, and at which temperature.
    pub role: Role,
    /// Which of the role's models.
    pub choice: ModelChoice,
    /// Names the call in a header, in logs and in spans: `<run>/<message>/<attempt>`.
    pub call: String,
    /// The language of whatever instructions the client must add.
    pub language: Language,
    /// The instructions, sent as the system prompt.
    pub system: String,
    /// What was said, oldest first; the last message is never the assistant's, and it may be the
    /// loop's closing word, which changes from call to call.
    pub messages: Vec<Message>,
    /// The tools it may call.
    pub tools: Vec<ToolSpec>,
    /// Whether it may, must or must not call one.
    pub tool_choice: ToolChoice,
    /// What users and tools wrote of what it says: no error may quote them.
    pub external_texts: Vec<String>,
}

impl ModelRequest {
    /// Everything that it says, for counting.
    #[must_use]
    pub fn to_texts(&self) -> Vec<String> {
        let mut texts = vec![self.system.clone()];
        for message in &self.messages {
            match message {
                Message::User(text) | Message::Images { text, .. } => texts.push(text.clone()),
                Message::Assistant { text, calls, .. } => {
                    texts.push(text.clone());
                    let called = |call: &PastCall| {
                        format!("{}{}", call.tool, Value::Object(call.arguments.clone()))
                    };
                    texts.extend(calls.iter().map(called));
                }
                Message::ToolResults(results) => {
                    texts.extend(results.iter().map(|result| result.text.clone()));
                }
            }
        }
        let told = |tool: &ToolSpec| format!("{}{}{}", tool.name, tool.description, tool.schema);
        texts.extend(self.tools.iter().map(told));
        texts
    }

    /// The tokens that its images are taken to have.
    #[must_use]
    pub fn image_tokens(&self) -> u64 {
        self.messages.iter().map(Message::image_tokens).sum()
    }
}

/// A message of a conversation.
#[derive(Debug, Clone, PartialEq)]
pub enum Message {
    /// From the user, or from the loop on their behalf.
    User(String),
    /// A reply of the model's from an earlier turn.
    Assistant {
        /// The text of the reply; may be empty.
        text: String,
        /// The thoughts before it, for providers that want them back.
        reasoning: Option<Reasoning>,
        /// The calls it asked for, in its order.
        calls: Vec<PastCall>,
    },
    /// What came of those calls, in their order.
    ToolResults(Vec<ToolResultMessage>),
    /// Images of what stands before it, as a message of the user's: no provider takes them elsewhere.
    Images {
        /// Which they are, and what they are of.
        text: String,
        /// The images, in the order that the text names them.
        images: Vec<RequestImage>,
    },
}

impl Message {
    /// The tokens that its images are taken to have.
    #[must_use]
    pub fn image_tokens(&self) -> u64 {
        match self {
            Self::Images { images, .. } => images.len() as u64 * IMAGE_TOKENS,
            Self::User(_) | Self::Assistant { .. } | Self::ToolResults(_) => 0,
        }
    }
}

/// An image of a request.
#[derive(Debug, Clone, PartialEq)]
pub struct RequestImage {
    /// The file that it is.
    pub file: ProductFile,
    /// Its content; empty before the request is made.
    pub bytes: Arc<[u8]>,
}

impl RequestImage {
    /// Largest image that a model is shown, in bytes.
    pub const MAX_BYTES: u64 = 5 * 1024 * 1024;

    /// Whether every model that sees images can be shown this file.
    #[must_use]
    pub fn can_show(file: &ProductFile) -> bool {
        IMAGE_TYPES.contains(&file.media_type.as_str()) && file.size <= Self::MAX_BYTES
    }
}

/// A call that was made.
#[derive(Debug, Clone, PartialEq)]
pub struct PastCall {
    /// The id that we gave the call, whatever the provider's was.
    pub id: CallId,
    /// The tool's name as the model wrote it.
    pub tool: String,
    /// Its arguments; empty where they could not be read.
    pub arguments: Map<String, Value>,
}

/// What the model reads of an outcome.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolResultMessage {
    /// The call it belongs to.
    pub id: CallId,
    /// The name of the tool as the model wrote it.
    pub tool: String,
    /// The text that the model reads as the call's result.
    pub text: String,
}

/// What limits a request to one of a role's models, and what it costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ModelLimits {
    /// Tokens of input it takes.
    pub max_input_tokens: u64,
    /// Tokens that a reply has at most, thoughts included.
    pub max_output_tokens: u64,
    /// What its tokens cost, if that is known.
    pub price: Option<Price>,
    /// Longest a call may take, from the request to the last byte.
    pub call_timeout: Duration,
    /// Whether it can be shown images.
    pub sees_images: bool,
}

/// A piece of a reply as it arrives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Delta<'a> {
    /// The text that it adds to: the reply's, or the thoughts.
    pub kind: TextKind,
    /// The text that was added since the last piece.
    pub text: &'a str,
}

/// Why one attempt at a model call failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{kind:?}: {detail}")]
pub struct ModelError {
    /// What kind of failure it is.
    pub kind: ModelErrorKind,
    /// The provider's words or ours, cut to 300 characters; never holds a key, nor 24 characters in a row of
    /// what users, tools and files wrote.
    pub detail: String,
    /// How long the provider asks to wait.
    pub retry_after: Option<Duration>,
    /// What the attempt cost, as far as that is known.
    pub usage: Usage,
}

/// Kinds of failure of a model call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModelErrorKind {
    /// No model is configured for the role.
    NotConfigured,
    /// Refused, reset, not resolved, or too slow.
    Unreachable,
    /// The stream ended before the reply did.
    BrokenOff,
    /// 408, 409, 424, 425, 429, 498, 5xx, or words for it with another status or in the stream.
    Overloaded,
    /// The key cannot be read, or there is no such secret.
    KeyMissing,
    /// 401, a 403 that says nothing else, or the provider says so.
    KeyRefused,
    /// 402, or the provider says that the account's balance, quota or spending limit is used up.
    NoBalance,
    /// 404, or the provider says that it does not know the model.
    UnknownModel,
    /// The provider says that the input is too long.
    ContextTooLong,
    /// Another 4xx, or a 403 about the content.
    Refused,
    /// What came back is nothing we can read.
    Unreadable,
}

impl ModelErrorKind {
    /// Whether the same request may succeed when it is made again.
    #[must_use]
    pub fn is_retryable(self) -> bool {
        match self {
            Self::Unreachable | Self::BrokenOff | Self::Overloaded | Self::Unreadable => true,
            Self::NotConfigured
            | Self::KeyMissing
            | Self::KeyRefused
            | Self::NoBalance
            | Self::UnknownModel
            | Self::ContextTooLong
            | Self::Refused => false,
        }
    }

    /// Whether another model is asked in this one's place: it cannot be reached or served from, or its
    /// key, its account or its name is refused. A request that is wrong, too long or refused for what it
    /// says is that with any model.
    #[must_use]
    pub fn allows_fallback(self) -> bool {
        match self {
            Self::Unreachable
            | Self::BrokenOff
            | Self::Overloaded
            | Self::Unreadable
            | Self::KeyMissing
            | Self::KeyRefused
            | Self::NoBalance
            | Self::UnknownModel => true,
            Self::NotConfigured | Self::ContextTooLong | Self::Refused => false,
        }
    }

    /// The public code of a run that ends by it.
    #[must_use]
    pub fn error_code(self) -> ErrorCode {
        match self {
            Self::NotConfigured => ErrorCode::NoModel,
            Self::Unreachable | Self::BrokenOff => ErrorCode::ModelUnreachable,
            Self::Overloaded => ErrorCode::ModelOverloaded,
            Self::KeyMissing => ErrorCode::ModelKeyMissing,
            Self::KeyRefused => ErrorCode::ModelKeyRefused,
            Self::NoBalance => ErrorCode::ModelNoBalance,
            Self::UnknownModel => ErrorCode::ModelUnknown,
            Self::ContextTooLong => ErrorCode::ContextTooLong,
            Self::Refused => ErrorCode::ModelRefused,
            Self::Unreadable => ErrorCode::ModelUnreadable,
        }
    }
}

/// What a person has to see to before a call is made again that failed so, if that is all that is wrong.
#[must_use]
pub fn to_interrupt(failure: &Failure, language: Language) -> Option<Interrupt> {
    let can_be_mended = matches!(
        failure.code,
        ErrorCode::ModelNoBalance
            | ErrorCode::ModelOverloaded
            | ErrorCode::ModelUnreachable
            | ErrorCode::ModelUnreadable
    );
    can_be_mended.then(|| Interrupt {
        code: failure.code.as_str().to_owned(),
        message: failure.sentence(language),
    })
}

impl ModelError {
    /// The failure of a run that ends by it.
    #[must_use]
    pub fn to_failure(&self) -> Failure {
        Failure::new(self.kind.error_code(), self.detail.clone())
    }
}

/// Language models: each role has one, and perhaps another that is asked where the first cannot answer.
/// A call is one attempt: retries are the driver's. Dropping its future closes the connection; no further
/// byte is read.
pub trait Model: Send + Sync {
    /// What limits requests to this model.
    ///
    /// # Errors
    /// `NotConfigured`, with the name of what is missing.
    fn limits(&self, role: Role, choice: ModelChoice) -> Result<ModelLimits, ModelError>;

    /// The model's name in the settings; `None` where there is none.
    fn name(&self, role: Role, choice: ModelChoice) -> Option<&str>;

    /// Tokens of a text for this model: exact for OpenAI's encodings, and close to others'.
    fn count_tokens(&self, role: Role, choice: ModelChoice, text: &str) -> u64;

    /// Makes one attempt, telling `on_delta` of every piece as it arrives. The reply's text is
    /// exactly the concatenation of the text deltas, and so is its reasoning.
    fn call(
        &self,
        request: &ModelRequest,
        on_delta: &mut (dyn FnMut(Delta<'_>) + Send),
    ) -> impl Future<Output = Result<Reply, ModelError>> + Send;

    /// What a role's own model failed of lately, as far as this process knows: for a while it is not
    /// asked where there is a fallback. No words: they were said of somebody's call, which may be
    /// another tenant's.
    fn outage(&self, role: Role) -> Option<ErrorCode>;

    /// Remembers what a role's own model failed of, or forgets it.
    fn set_outage(&self, role: Role, outage: Option<ErrorCode>);
}
