//! Ollama's own lines, each a JSON object.

use serde_json::Value;

use super::{finish, member, text};
use crate::draft::{CallPiece, Draft, Listener};
use crate::fault::Fault;

pub(super) fn read(line: &Value, draft: &mut Draft, out: Listener<'_>) {
    draft.counted.ollama(line);
    for path in ["/message/thinking", "/message/reasoning_content"] {
        draft.think(text(line, path), out);
    }
    draft.say(text(line, "/message/content"), out);
    if let Some(Value::Array(calls)) = member(line, "/message/tool_calls") {
        calls.iter().for_each(|call| read_call(call, draft));
    }
    if draft.finish.is_none()
        && let Some(error) = member(line, "/error")
    {
        draft.fault.get_or_insert(Fault::in_stream(error));
    }
    if line.get("done").and_then(Value::as_bool) == Some(true) {
        // Older servers give no reason.
        match text(line, "/done_reason") {
            "" => finish("stop", draft),
            reason => finish(reason, draft),
        }
        draft.ended = true;
    }
}

/// A call always comes whole; some servers number them, all from 0 or not at all.
fn read_call(call: &Value, draft: &mut Draft) {
    let function = member(call, "/function").unwrap_or(call);
    let number = function.get("index").or_else(|| call.get("index")).and_then(Value::as_u64);
    let piece = CallPiece {
        index: number,
        id: text(call, "/id"),
        name: text(function, "/name"),
        arguments: "",
    };
    let none = Value::Object(serde_json::Map::new());
    let arguments =
        function.get("arguments").filter(|arguments| !arguments.is_null()).unwrap_or(&none);
    draft.calls.add_whole(piece, arguments);
}
