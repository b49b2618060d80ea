//! Language models: one request, one streamed reply.

use std::borrow::Cow;
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

/// A request to a model, independent of any provider.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelRequest {
    /// The role, which sets the purpose and the temperature.
    pub role: Role,
    /// The choice among the role's models.
    pub choice: ModelChoice,
    /// The call's name in a header, in logs and in spans: `<run>/<message>/<attempt>`.
    pub call: String,
    /// The language of any instructions that the client must add.
    pub language: Language,
    /// The instructions, sent as the system prompt.
    pub system: String,
    /// The conversation, oldest first. The last message is never the assistant's; it may be the loop's
    /// closing word, which changes from call to call.
    pub messages: Vec<Message>,
    /// The tools that the model may call.
    pub tools: Vec<ToolSpec>,
    /// The rule for tool calls: allowed, required or forbidden.
    pub tool_choice: ToolChoice,
    /// The texts of users and tools in the request: no error may quote these texts.
    pub external_texts: Vec<String>,
}

impl ModelRequest {
    /// Returns every text of the request, for counting.
    #[must_use]
    pub fn to_texts(&self) -> Vec<Cow<'_, str>> {
        let mut texts = vec![Cow::from(&self.system)];
        for message in &self.messages {
            match message {
                Message::User(text) | Message::Images { text, .. } => texts.push(text.into()),
                Message::Assistant { text, calls, .. } => {
                    texts.push(text.into());
                    let call_text = |call: &PastCall| {
                        let arguments = serde_json::to_string(&call.arguments).unwrap_or_default();
                        Cow::from(format!("{}{arguments}", call.tool))
                    };
                    texts.extend(calls.iter().map(call_text));
                }
                Message::ToolResults(results) => {
                    texts.extend(results.iter().map(|result| Cow::from(&result.text)));
                }
            }
        }
        let tool_text = |tool: &ToolSpec| {
            Cow::from(format!("{}{}{}", tool.name, tool.description, tool.schema))
        };
        texts.extend(self.tools.iter().map(tool_text));
        texts
    }

    /// Returns the estimated tokens of the request's images.
    #[must_use]
    pub fn image_tokens(&self) -> u64 {
        self.messages.iter().map(Message::image_tokens).sum()
    }
}

/// A message of a conversation.
#[derive(Debug, Clone, PartialEq)]
pub enum Message {
    /// From the user, or from the loop on the user's behalf.
    User(String),
    /// A reply of the model from an earlier turn.
    Assistant {
        /// The text of the reply; may be empty.
        text: String,
        /// The reasoning before the text, for providers that need it again.
        reasoning: Option<Reasoning>,
        /// The requested calls, in the order of the reply.
        calls: Vec<PastCall>,
    },
    /// The results of the calls, in the same order.
    ToolResults(Vec<ToolResultMessage>),
    /// Images of the preceding content, as a user message: no provider accepts images elsewhere.
    Images {
        /// The names of the images, and their source.
        text: String,
        /// The images, in the order of their names in the text.
        images: Vec<RequestImage>,
    },
}

impl Message {
    /// Returns the estimated tokens of the message's images.
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
    /// The file of the image.
    pub file: ProductFile,
    /// The content; empty before the request is made.
    pub bytes: Arc<[u8]>,
}

impl RequestImage {
    /// The maximum size of an image for a model, in bytes.
    pub const MAX_BYTES: u64 = 5 * 1024 * 1024;

    /// Returns true if every model with image input accepts this file.
    #[must_use]
    pub fn can_show(file: &ProductFile) -> bool {
        IMAGE_TYPES.contains(&file.media_type.as_str()) && file.size <= Self::MAX_BYTES
    }
}

/// A call from an earlier turn.
#[derive(Debug, Clone, PartialEq)]
pub struct PastCall {
    /// Djinn's id of the call, never the provider's.
    pub id: CallId,
    /// The tool's name as the model wrote it.
    pub tool: String,
    /// The arguments; empty if unreadable.
    pub arguments: Map<String, Value>,
}

/// A tool result as the model reads it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolResultMessage {
    /// The id of the call.
    pub id: CallId,
    /// The name of the tool as the model wrote it.
    pub tool: String,
    /// The text of the call's result.
    pub text: String,
}

/// The limits and prices of one of a role's models.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ModelLimits {
    /// The maximum input, in tokens.
    pub max_input_tokens: u64,
    /// The maximum reply in tokens, reasoning included.
    pub max_output_tokens: u64,
    /// The price of the model's tokens, if known.
    pub price: Option<Price>,
    /// The maximum time of a call, from the request to the last byte.
    pub call_timeout: Duration,
    /// True if the model accepts images.
    pub sees_images: bool,
}

/// A piece of a reply as it arrives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Delta<'a> {
    /// The text that the piece adds to: the reply's text or its reasoning.
    pub kind: TextKind,
    /// The text since the last piece.
    pub text: &'a str,
}

/// The error of one attempt at a model call.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{kind:?}: {detail}")]
pub struct ModelError {
    /// The kind of the failure.
    pub kind: ModelErrorKind,
    /// The provider's words or Djinn's, cut to 300 characters. Never contains a key, nor 24 consecutive
    /// characters from users, tools or files.
    pub detail: String,
    /// The provider's requested wait before a retry.
    pub retry_after: Option<Duration>,
    /// The known cost of the attempt.
    pub usage: Usage,
}

/// Kinds of failure of a model call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModelErrorKind {
    /// No model is configured for the role.
    NotConfigured,
    /// Connection refused or reset, name not resolved, or too slow.
    Unreachable,
    /// The stream ended before the reply did.
    BrokenOff,
    /// 408, 409, 424, 425, 429, 498, 5xx, or an equivalent message with another status or in the stream.
    Overloaded,
    /// The key is unreadable, or the secret does not exist.
    KeyMissing,
    /// 401, a 403 without another meaning, or an equivalent message of the provider.
    KeyRefused,
    /// 402, or the provider reports that the account's balance, quota or spending limit is used up.
    NoBalance,
    /// 404, or the provider reports an unknown model.
    UnknownModel,
    /// The provider reports that the input is too long.
    ContextTooLong,
    /// Another 4xx, or a 403 about the content.
    Refused,
    /// The response is unreadable.
    Unreadable,
}

impl ModelErrorKind {
    /// Returns true if the same request may succeed on a retry.
    #[must_use]
    pub fn is_retryable(self) -> bool {
        matches!(self, Self::Unreachable | Self::BrokenOff | Self::Overloaded | Self::Unreadable)
    }

    /// Returns true if another model takes the call: this model is unreachable or overloaded, or its key,
    /// account or name is rejected. A request that is wrong, too long or rejected for its content fails with
    /// any model.
    #[must_use]
    pub fn allows_fallback(self) -> bool {
        matches!(
            self,
            Self::Unreachable
                | Self::BrokenOff
                | Self::Overloaded
                | Self::Unreadable
                | Self::KeyMissing
                | Self::KeyRefused
                | Self::NoBalance
                | Self::UnknownModel
        )
    }

    /// Returns the public code of a run that ends with this failure.
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

/// Returns the interrupt for a failure that a user can repair before a retry; `None` for other failures.
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
        key: None,
    })
}

impl ModelError {
    /// Converts the error to the failure of a run that ends with it.
    #[must_use]
    pub fn to_failure(&self) -> Failure {
        Failure::new(self.kind.error_code(), self.detail.clone())
    }
}

/// Language models: each role has a model, and optionally a fallback. A call is one attempt: the driver makes
/// the retries. Dropping the future closes the connection; no further byte is read.
pub trait Model: Send + Sync {
    /// Returns the limits and prices of a model.
    ///
    /// # Errors
    /// Returns `NotConfigured`, with the name of the missing setting, if the role has no such model.
    fn limits(&self, role: Role, choice: ModelChoice) -> Result<ModelLimits, ModelError>;

    /// Returns the model's name in the settings; `None` if not configured.
    fn name(&self, role: Role, choice: ModelChoice) -> Option<&str>;

    /// Returns the tokens of a text: exact for OpenAI's models since GPT-4o, approximate for others, possibly too few.
    fn count_tokens(&self, text: &str) -> u64;

    /// Makes one attempt and passes every piece to `on_delta` as it arrives. The reply's text is exactly the
    /// concatenation of the text deltas; the same applies to its reasoning.
    fn call(
        &self,
        request: &ModelRequest,
        on_delta: &mut (dyn FnMut(Delta<'_>) + Send),
    ) -> impl Future<Output = Result<Reply, ModelError>> + Send;

    /// Returns the recent failure of a role's own model in this process. For a while the fallback takes its
    /// calls. Carries only the code: the detail may belong to another tenant's call.
    fn outage(&self, role: Role) -> Option<ErrorCode>;

    /// Records the failure of a role's own model, or clears it with `None`.
    fn set_outage(&self, role: Role, outage: Option<ErrorCode>);
}
