//! The conversation in genai's form.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use djinn_core::conversation::Reasoning;
use djinn_runtime::port::model::{Message, ModelRequest, PastCall, RequestImage};
use djinn_runtime::prompt::Prompts;
use genai::chat::{
    CacheControl, ChatMessage, ContentPart, MessageContent, MessageOptions, ToolCall, ToolResponse,
};
use serde_json::Value;

use crate::draft::{ReasoningBlock, ReasoningState};
use crate::settings::{ModelSettings, Provider, StreamFormat};
use crate::struct_parse;
use crate::tool_names::ToolNames;
use crate::wire_id::wire_id;

/// Names of models whose templates, also at other hosts, allow only the model's own reply after results:
/// "Unexpected role 'user' after role 'tool'".
const MISTRAL_FAMILIES: [&str; 7] =
    ["mistral", "mixtral", "ministral", "magistral", "codestral", "devstral", "pixtral"];

/// Returns the messages with calls and results in the provider's interface.
pub(super) fn native_messages(
    model: &ModelSettings,
    request: &ModelRequest,
    names: &ToolNames,
    thinks: bool,
) -> Vec<ChatMessage> {
    let by = super::model_id(model);
    let model_name = model.model.to_ascii_lowercase();
    let joins_results = MISTRAL_FAMILIES.iter().any(|family| model_name.contains(family));
    let mut messages = Vec::with_capacity(request.messages.len());
    for message in &request.messages {
        match message {
            Message::User(text) => {
                if !joins_results || !append_to_results(&mut messages, text) {
                    messages.push(ChatMessage::user(text.clone()));
                }
            }
            Message::Images { text, images } => messages.push(user_message(text.clone(), images)),
            Message::Assistant { text, reasoning, calls } => {
                let thoughts = reasoning.as_ref().and_then(|reasoning| {
                    Some((
                        reasoning,
                        ReasoningState::from_signature(reasoning.signature.as_deref(), &by)?,
                    ))
                });
                let parts = reply_parts(text, thoughts.filter(|_| thinks), calls, names);
                // Anthropic and Bedrock reject an empty message.
                if !parts.is_empty() {
                    messages.push(ChatMessage::assistant(MessageContent::from_parts(parts)));
                }
            }
            Message::ToolResults(results) => {
                let responses = results.iter().map(|result| {
                    ToolResponse::new(wire_id(&result.id), result.text.clone())
                        .with_fn_name(names.wire_name(&result.tool))
                });
                let parts: Vec<ContentPart> = responses.map(ContentPart::ToolResponse).collect();
                // Anthropic requires all results of a turn in one message; genai's Ollama adapter keeps only
                // the last result of a message.
                if model.provider.stream_format(&model.model) == StreamFormat::Ollama {
                    messages.extend(parts.into_iter().map(tool_message));
                } else if !parts.is_empty() {
                    messages.push(tool_message(parts));
                }
            }
        }
    }
    // Anthropic caches the conversation before the last message: the last message is the loop's closing text
    // and changes every turn. Other providers cache automatically.
    if model.provider == Provider::ANTHROPIC
        && let [.., stable, _] = messages.as_mut_slice()
    {
        let options = MessageOptions::default().with_cache_control(CacheControl::Ephemeral);
        stable.options = Some(options);
    }
    messages
}

/// Appends a text to the last result at the end of a conversation. Returns false if the conversation has
/// another end.
fn append_to_results(messages: &mut [ChatMessage], text: &str) -> bool {
    let Some(last) = messages.last_mut() else { return false };
    let mut parts = std::mem::take(&mut last.content).into_parts();
    let is_result = matches!(parts.last(), Some(ContentPart::ToolResponse(_)));
    if let Some(ContentPart::ToolResponse(result)) = parts.last_mut() {
        result.content.push_str("\n\n");
        result.content.push_str(text);
    }
    last.content = MessageContent::from_parts(parts);
    is_result
}

fn tool_message(parts: impl Into<MessageContent>) -> ChatMessage {
    ChatMessage::tool(parts)
}

/// Returns the messages with calls and results as text. Adjacent user messages are merged: models without
/// tool calls often require alternating roles.
pub(super) fn text_messages(request: &ModelRequest, prompts: &Prompts) -> Vec<ChatMessage> {
    let mut turns: Vec<(bool, String, Vec<&RequestImage>)> =
        Vec::with_capacity(request.messages.len());
    for message in &request.messages {
        let images = match message {
            Message::Images { images, .. } => images.as_slice(),
            Message::User(_) | Message::Assistant { .. } | Message::ToolResults(_) => &[],
        };
        let (is_user, text) = match message {
            Message::User(text) | Message::Images { text, .. } => (true, text.clone()),
            Message::Assistant { text, calls, .. } => {
                (false, struct_parse::format_past_reply(text, calls))
            }
            Message::ToolResults(results) => {
                (true, struct_parse::render_results(prompts, request.language, results))
            }
        };
        match turns.last_mut() {
            _ if text.trim().is_empty() => {}
            Some((last, before, turn_images)) if *last == is_user => {
                before.push_str("\n\n");
                before.push_str(&text);
                turn_images.extend(images);
            }
            Some(_) | None => turns.push((is_user, text, images.iter().collect())),
        }
    }
    turns
        .into_iter()
        .map(
            |(is_user, text, images)| {
                if is_user { user_message(text, images) } else { ChatMessage::assistant(text) }
            },
        )
        .collect()
}

/// Creates a user's message: text first, then images.
fn user_message<'a>(
    text: String,
    images: impl IntoIterator<Item = &'a RequestImage>,
) -> ChatMessage {
    let images = images.into_iter().map(|image| {
        let content = STANDARD.encode(&image.bytes);
        let name = image.file.name.to_string();
        ContentPart::from_binary_base64(image.file.media_type.clone(), content, Some(name))
    });
    let parts: Vec<ContentPart> =
        [ContentPart::from_text(text)].into_iter().chain(images).collect();
    ChatMessage::user(MessageContent::from_parts(parts))
}

fn reply_parts(
    text: &str,
    thoughts: Option<(&Reasoning, ReasoningState)>,
    calls: &[PastCall],
    names: &ToolNames,
) -> Vec<ContentPart> {
    let mut parts = Vec::new();
    let mut signatures = Vec::new();
    if let Some((reasoning, state)) = thoughts {
        push_thoughts(&reasoning.text, &state, &mut parts);
        signatures = state.calls;
    }
    if !text.trim().is_empty() {
        parts.push(ContentPart::from_text(text));
    }
    let mut signatures = signatures.into_iter();
    parts.extend(calls.iter().map(|call| {
        ContentPart::ToolCall(ToolCall {
            call_id: wire_id(&call.id),
            fn_name: names.wire_name(&call.tool).to_owned(),
            fn_arguments: Value::Object(call.arguments.clone()),
            thought_signatures: signatures.next().flatten().map(|signature| vec![signature]),
        })
    }));
    // Thoughts alone are no message.
    if text.trim().is_empty() && calls.is_empty() {
        parts.clear();
    }
    parts
}

/// Adds the unchanged blocks of thoughts, each with its signature.
fn push_thoughts(text: &str, state: &ReasoningState, parts: &mut Vec<ContentPart>) {
    let mut rest = text;
    for block in &state.blocks {
        match block {
            ReasoningBlock::Signed { bytes, signature } => {
                let (thought, behind) = rest.split_at_checked(*bytes).unwrap_or((rest, ""));
                rest = behind;
                // An unsigned block cannot be sent back.
                if !signature.is_empty() {
                    parts.push(ContentPart::ThoughtSignature(signature.clone()));
                    parts.push(ContentPart::ReasoningContent(thought.to_owned()));
                }
            }
            ReasoningBlock::Detached(signature) => {
                parts.push(ContentPart::ThoughtSignature(signature.clone()));
            }
            ReasoningBlock::Opaque(data) => {
                parts.push(ContentPart::from_custom(data.clone(), None));
            }
        }
    }
    if state.echo && !text.is_empty() {
        parts.push(ContentPart::ReasoningContent(text.to_owned()));
    }
}
