//! Chat Completions chunks, as OpenAI and everybody who claims to be compatible writes them.

use serde_json::Value;

use super::{at, finish, member, text};
use crate::draft::{CallPiece, Draft, Listener, json_text};
use crate::fault::Fault;

/// What a choice holds: pieces to be added, or everything so far.
#[derive(Clone, Copy, PartialEq)]
enum Form {
    Delta,
    Whole,
}

pub(super) fn read(chunk: &Value, draft: &mut Draft, out: Listener<'_>) {
    for path in ["/usage", "/x_groq/usage", "/choices/0/usage"] {
        if let Some(usage) = member(chunk, path) {
            draft.counted.openai(usage);
        }
    }
    let choice = at(chunk, "/choices/0");
    if let Some(choice) = choice {
        for (path, form) in [("/delta", Form::Delta), ("/message", Form::Whole)] {
            if let Some(said) = member(choice, path) {
                read_said(said, form, draft, out);
            }
        }
        // The old Completions form, which some servers keep.
        if let Some(Value::String(piece)) = member(choice, "/text") {
            draft.say(piece, out);
        }
    }
    // A reply that has ended is not undone by what is said after it.
    if draft.finish.is_none()
        && let Some(fault) = fault(chunk)
    {
        draft.fault.get_or_insert(fault);
    }
    if let Some(choice) = choice {
        finish(text(choice, "/finish_reason"), draft);
    }
}

fn read_said(said: &Value, form: Form, draft: &mut Draft, out: Listener<'_>) {
    // Two names for one thing: a provider that sends both means the same by them.
    let thoughts = ["/reasoning_content", "/reasoning", "/thinking"].iter().find_map(|path| {
        let piece = text(said, path);
        (!piece.is_empty()).then_some((*path, piece))
    });
    if let Some((path, piece)) = thoughts {
        // Who sends it under this name wants it back with the turn.
        draft.kept.echo |= path == "/reasoning_content";
        match form {
            Form::Delta => draft.think(piece, out),
            Form::Whole => draft.think_all(piece, out),
        }
    }
    match (member(said, "/content"), form) {
        (Some(Value::String(piece)), Form::Delta) => draft.say(piece, out),
        (Some(Value::String(whole)), Form::Whole) => draft.say_all(whole, out),
        (Some(Value::Array(parts)), _) => read_parts(parts, form, draft, out),
        (Some(_) | None, _) => {}
    }
    if let (Some(Value::String(piece)), Form::Delta) = (member(said, "/refusal"), form) {
        draft.say(piece, out);
    }
    let calls_known = !draft.calls.is_empty();
    if form == Form::Whole && calls_known {
        return;
    }
    match member(said, "/tool_calls") {
        Some(Value::Array(calls)) => calls.iter().for_each(|call| read_call(call, draft)),
        // A single call without its list.
        Some(call @ Value::Object(_)) => read_call(call, draft),
        Some(_) | None => {}
    }
    if let Some(call) = member(said, "/function_call") {
        read_function(call, CallPiece::default(), draft);
    }
}

/// Content as a list of parts (Mistral, and gateways that pass Anthropic's through).
fn read_parts(parts: &[Value], form: Form, draft: &mut Draft, out: Listener<'_>) {
    let (mut content, mut thoughts) = (String::new(), String::new());
    for part in parts {
        if let Value::String(piece) = part {
            content.push_str(piece);
        } else if text(part, "/type") != "thinking" {
            content.push_str(text(part, "/text"));
        } else if let Some(Value::Array(inner)) = member(part, "/thinking") {
            let pieces = inner.iter().map(|part| text(part, "/text"));
            thoughts.extend(pieces);
        } else {
            thoughts.push_str(text(part, "/thinking"));
        }
    }
    match form {
        Form::Delta => {
            draft.think(&thoughts, out);
            draft.say(&content, out);
        }
        Form::Whole => {
            draft.think_all(&thoughts, out);
            draft.say_all(&content, out);
        }
    }
}

fn read_call(call: &Value, draft: &mut Draft) {
    let index = member(call, "/index")
        .and_then(|index| index.as_u64().or_else(|| index.as_str()?.parse::<u64>().ok()));
    let id = member(call, "/id").map(json_text).unwrap_or_default();
    let function = member(call, "/function").unwrap_or(call);
    let piece = CallPiece { index, id: &id, ..CallPiece::default() };
    read_function(function, piece, draft);
}

fn read_function(function: &Value, piece: CallPiece<'_>, draft: &mut Draft) {
    let piece = CallPiece { name: text(function, "/name"), ..piece };
    let arguments = function.get("arguments").unwrap_or(&Value::Null);
    draft.calls.add_whole(piece, arguments);
}

/// The error that a chunk reports, in any of the forms that are in use.
fn fault(chunk: &Value) -> Option<Fault> {
    if let Some(error) = member(chunk, "/error").or_else(|| member(chunk, "/choices/0/error")) {
        return Some(Fault::in_stream(error));
    }
    // MiniMax reports in every chunk, 0 being none.
    if let Some(status) = member(chunk, "/base_resp")
        && status.get("status_code").and_then(Value::as_i64) != Some(0)
    {
        return Some(Fault::in_stream(status));
    }
    let is_error = matches!(text(chunk, "/object"), "error")
        || text(chunk, "/type") == "error"
        || chunk.get("choices").is_none()
            && ["/error_code", "/error_msg", "/code", "/detail"]
                .iter()
                .any(|path| member(chunk, path).is_some());
    is_error.then(|| Fault::in_stream(chunk))
}
