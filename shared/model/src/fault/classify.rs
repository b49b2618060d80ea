//! Classification of provider errors by code, message and status.

use djinn_runtime::port::model::ModelErrorKind::{self, *};

use super::detail::ProviderFailure;
use super::unpaid::is_unpaid;

/// Provider phrases for an overlong input. Lower case; searched in the code and the message.
const TOO_LONG: &[&str] = &[
    // OpenAI, DeepSeek, vLLM, Together, OpenRouter and others.
    "context_length_exceeded",
    "context length exceeded",
    "maximum context length",
    "exceeds the context window",
    "reduce the length of the messages",
    // Anthropic, and Claude on Bedrock.
    "prompt is too long",
    "request_too_large",
    "exceed context limit",
    "request too large",
    // Bedrock.
    "input is too long",
    "too many input tokens",
    // Gemini.
    "exceeds the maximum number of tokens",
    "input token count",
    // Qwen.
    "range of input length",
    // GLM: code 1261, and the finish reason.
    "prompt exceeds max length",
    "prompt 超长",
    "model_context_window_exceeded",
    // Kimi.
    "exceeded model token limit",
    "total message size",
    // Doubao, and other models on the same service.
    "exceeds the maximum length",
    "total tokens of image and text exceed",
    // Ollama, llama.cpp, LM Studio, SGLang, vLLM.
    "exceeds the available context size",
    "exceeded max context length",
    "input length exceeds",
    "exceeds the context length",
    "greater than the context length",
    "exceeds the maximum allowed length",
    "longer than the model's context length",
    "maximum model length",
    "tokens must be at least 1, got -",
    // TGI.
    "`max_new_tokens` must be <=",
    "`inputs` must have less than",
    // LiteLLM, GitHub Models.
    "contextwindowexceeded",
    "tokens_limit_reached",
    "request body too large",
    "tokens exceed limit",
    // MiniMax, Mistral, xAI, Perplexity.
    "context window exceeds limit",
    "too large for model with",
    "maximum prompt length",
    "length of all messages is too long",
    // Chinese gateways.
    "超过最大长度",
    "超出最大长度",
    "上下文长度",
    "上下文限制",
    "内容过长",
];

/// Rate limit phrases without a useful wait: the request alone exceeds the tokens of a minute.
const TOO_LONG_FOR_RATE: &[&str] = &["request too large", "tokens must be reduced"];

const BAD_KEY: &[&str] = &[
    "invalid_api_key",
    "invalid api key",
    "incorrect api key",
    "api key not valid",
    "api_key_invalid",
    "authentication",
    "unauthorized",
    "permission_error",
    "permission_denied",
    "accessdenied",
    "access_denied",
    "unrecognizedclient",
    "expiredtoken",
    "security token included in the request",
];

const NO_MODEL: &[&str] = &[
    "model_not_found",
    "model not found",
    "model not exist",
    "model_not_exist",
    "modelnotfound",
    "invalid_model",
    "no such model",
    "unknown model",
    "not_found_error",
    "模型不存在",
];

const BUSY: &[&str] = &[
    "overloaded",
    "rate_limit",
    "rate limit",
    "ratelimit",
    "throttl",
    "too many requests",
    "too_many_requests",
    "too many tokens",
    "server_error",
    "server error",
    "internal",
    "api_error",
    "timeout",
    "timed out",
    "unavailable",
    "resource_exhausted",
    "capacity",
    "busy",
    "try again",
    "unable to process your request",
];

const BAD_REQUEST: &[&str] = &[
    "invalid_request",
    "invalid_argument",
    "invalidparameter",
    "invalid parameter",
    "validation",
    "bad_request",
    "data_inspection_failed",
    "content_filter",
    "content_policy",
    "sensitive",
];

/// Gateway phrases for rejected content, sent with the status of a rejected key.
const CONTENT: &[&str] =
    &["moderation", "flagged", "content_filter", "content_policy", "data_inspection", "sensitive"];

/// Classifies every error status. The code and the message take precedence over the status, because providers
/// use statuses differently. Phrases differ too, so `host` identifies the provider.
pub(super) fn classify_status(
    status: u16,
    failure: &ProviderFailure,
    host: &str,
) -> ModelErrorKind {
    let is_too_long = match status {
        // This status always means the request's size, from any sender.
        413 => true,
        429 => failure.has_phrase(TOO_LONG_FOR_RATE),
        _ => matches!(status, 400 | 422 | 500) && failure.has_phrase(TOO_LONG),
    };
    // Alibaba's model service, directly or through a gateway: there the code `insufficient_quota` means the
    // token limit of a minute; unpaid accounts get `Arrearage`.
    let is_dashscope = host.ends_with(".aliyuncs.com")
        || failure.has_phrase(&["help.aliyun.com", "alibabacloud.com"]);
    match status {
        _ if is_too_long => ContextTooLong,
        429 if is_dashscope && failure.has_code(&["insufficient_quota"]) => Overloaded,
        402 => NoBalance,
        _ if is_unpaid(failure) => NoBalance,
        403 if failure.has_phrase(CONTENT) => Refused,
        401 | 403 => KeyRefused,
        404 => UnknownModel,
        400 | 422 => first_match(failure, &[(BAD_KEY, KeyRefused), (NO_MODEL, UnknownModel)])
            .unwrap_or(Refused),
        // 424: Bedrock's model broke down. 498: Groq has no room.
        408 | 409 | 424 | 425 | 429 | 498 => Overloaded,
        500.. => Overloaded,
        _ => {
            first_match(failure, &[(NO_MODEL, UnknownModel), (BUSY, Overloaded)]).unwrap_or(Refused)
        }
    }
}

/// Classifies an error within a successful stream: by the error's status, else by phrases. Unknown errors
/// count as a broken stream.
pub(super) fn classify_in_stream(failure: &ProviderFailure) -> ModelErrorKind {
    match failure.status {
        Some(status) => classify_status(status, failure, ""),
        None if failure.has_phrase(TOO_LONG) => ContextTooLong,
        None if is_unpaid(failure) => NoBalance,
        None => first_match(
            failure,
            &[
                (BAD_KEY, KeyRefused),
                (NO_MODEL, UnknownModel),
                (BUSY, Overloaded),
                (BAD_REQUEST, Refused),
            ],
        )
        .unwrap_or(BrokenOff),
    }
}

fn first_match(
    failure: &ProviderFailure,
    kinds: &[(&[&str], ModelErrorKind)],
) -> Option<ModelErrorKind> {
    kinds.iter().find(|(words, _)| failure.has_phrase(words)).map(|(_, kind)| *kind)
}
