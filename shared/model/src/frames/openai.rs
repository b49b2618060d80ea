//! Chat Completions chunks, from OpenAI and compatible providers.

mod plain_delta;

use serde_json::Value;

use super::{member_at, set_finish, text_at, value_at};
use crate::draft::{CallPiece, DeltaSink, Draft, to_json_text};
use crate::fault::ModelFault;
pub(super) use plain_delta::read_plain_delta;

/// The form of a choice: pieces to append, or the text so far.
#[derive(Clone, Copy, PartialEq)]
enum MessageForm {
    Delta,
    Whole,
}

pub(super) fn read_chunk(chunk: &Value, draft: &mut Draft, out: DeltaSink<'_>) {
    for path in ["/usage", "/x_groq/usage", "/choices/0/usage"] {
        if let Some(usage) = member_at(chunk, path) {
            draft.token_counts.read_openai(usage);
        }
    }
    let choice = value_at(chunk, "/choices/0");
    if let Some(choice) = choice {
        for (path, form) in [("/delta", MessageForm::Delta), ("/message", MessageForm::Whole)] {
            if let Some(message) = member_at(choice, path) {
                read_message(message, form, draft, out);
            }
        }
        // The old Completions form, still used by some servers.
        if let Some(Value::String(piece)) = member_at(choice, "/text") {
            draft.append_text(piece, out);
        }
    }
    // An error after the finish reason does not undo the reply.
    if draft.finish.is_none()
        && let Some(fault) = find_fault(chunk)
    {
        draft.fault.get_or_insert(fault);
    }
    if let Some(choice) = choice {
        set_finish(text_at(choice, "/finish_reason"), draft);
    }
}

fn read_message(message: &Value, form: MessageForm, draft: &mut Draft, out: DeltaSink<'_>) {
    // Two names for the same content: a provider with both fields repeats the text.
    let thoughts = ["/reasoning_content", "/reasoning", "/thinking"].iter().find_map(|path| {
        let piece = text_at(message, path);
        (!piece.is_empty()).then_some((*path, piece))
    });
    if let Some((path, piece)) = thoughts {
        // Providers with this field name require the thoughts back with the turn.
        draft.reasoning_state.echo |= path == "/reasoning_content";
        match form {
            MessageForm::Delta => draft.append_reasoning(piece, out),
            MessageForm::Whole => draft.sync_reasoning(piece, out),
        }
    }
    match (member_at(message, "/content"), form) {
        (Some(Value::String(piece)), MessageForm::Delta) => draft.append_text(piece, out),
        (Some(Value::String(whole)), MessageForm::Whole) => draft.sync_text(whole, out),
        (Some(Value::Array(parts)), _) => read_parts(parts, form, draft, out),
        (Some(_) | None, _) => {}
    }
    if let (Some(Value::String(piece)), MessageForm::Delta) = (member_at(message, "/refusal"), form)
    {
        draft.append_text(piece, out);
    }
    let calls_known = !draft.calls.is_empty();
    if form == MessageForm::Whole && calls_known {
        return;
    }
    match member_at(message, "/tool_calls") {
        Some(Value::Array(calls)) => calls.iter().for_each(|call| read_call(call, draft)),
        // A single call without a list.
        Some(call @ Value::Object(_)) => read_call(call, draft),
        Some(_) | None => {}
    }
    if let Some(call) = member_at(message, "/function_call") {
        read_function(call, CallPiece::default(), draft);
    }
}

/// Reads content in the form of a list of parts (Mistral, and gateways to Anthropic).
fn read_parts(parts: &[Value], form: MessageForm, draft: &mut Draft, out: DeltaSink<'_>) {
    let mut content = String::new();
    let mut thoughts = String::new();
    for part in parts {
        if let Value::String(piece) = part {
            content.push_str(piece);
        } else if text_at(part, "/type") != "thinking" {
            content.push_str(text_at(part, "/text"));
        } else if let Some(Value::Array(inner)) = member_at(part, "/thinking") {
            let pieces = inner.iter().map(|part| text_at(part, "/text"));
            thoughts.extend(pieces);
        } else {
            thoughts.push_str(text_at(part, "/thinking"));
        }
    }
    match form {
        MessageForm::Delta => {
            draft.append_reasoning(&thoughts, out);
            draft.append_text(&content, out);
        }
        MessageForm::Whole => {
            draft.sync_reasoning(&thoughts, out);
            draft.sync_text(&content, out);
        }
    }
}

fn read_call(call: &Value, draft: &mut Draft) {
    let index = member_at(call, "/index")
        .and_then(|index| index.as_u64().or_else(|| index.as_str()?.parse::<u64>().ok()));
    let id = member_at(call, "/id").map(to_json_text).unwrap_or_default();
    let function = member_at(call, "/function").unwrap_or(call);
    let piece = CallPiece { index, id: &id, ..CallPiece::default() };
    read_function(function, piece, draft);
}

fn read_function(function: &Value, piece: CallPiece<'_>, draft: &mut Draft) {
    let piece = CallPiece { name: text_at(function, "/name"), ..piece };
    let arguments = function.get("arguments").unwrap_or(&Value::Null);
    draft.calls.add_complete(piece, arguments);
}

/// Returns the error in a chunk, in any known form.
fn find_fault(chunk: &Value) -> Option<ModelFault> {
    if let Some(error) = member_at(chunk, "/error").or_else(|| member_at(chunk, "/choices/0/error"))
    {
        return Some(ModelFault::from_stream(error));
    }
    // MiniMax reports in every chunk, 0 being none.
    if let Some(status) = member_at(chunk, "/base_resp")
        && status.get("status_code").and_then(Value::as_i64) != Some(0)
    {
        return Some(ModelFault::from_stream(status));
    }
    let is_error = matches!(text_at(chunk, "/object"), "error")
        || text_at(chunk, "/type") == "error"
        || chunk.get("choices").is_none()
            && ["/error_code", "/error_msg", "/code", "/detail"]
                .iter()
                .any(|path| member_at(chunk, path).is_some());
    is_error.then(|| ModelFault::from_stream(chunk))
}
