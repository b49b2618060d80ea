//! Ollama's own lines, each a JSON object.

use serde_json::Value;

use super::{member_at, set_finish, text_at};
use crate::draft::{CallPiece, DeltaSink, Draft};
use crate::fault::ModelFault;

pub(super) fn read_line(line: &Value, draft: &mut Draft, out: DeltaSink<'_>) {
    draft.token_counts.read_ollama(line);
    for path in ["/message/thinking", "/message/reasoning_content"] {
        draft.append_reasoning(text_at(line, path), out);
    }
    draft.append_text(text_at(line, "/message/content"), out);
    if let Some(Value::Array(calls)) = member_at(line, "/message/tool_calls") {
        calls.iter().for_each(|call| read_call(call, draft));
    }
    if draft.finish.is_none()
        && let Some(error) = member_at(line, "/error")
    {
        draft.fault.get_or_insert(ModelFault::from_stream(error));
    }
    if line.get("done").and_then(Value::as_bool) == Some(true) {
        // Older servers give no reason.
        match text_at(line, "/done_reason") {
            "" => set_finish("stop", draft),
            reason => set_finish(reason, draft),
        }
        draft.ended = true;
    }
}

/// Reads a call. Calls always come complete; some servers number all calls 0 or none.
fn read_call(call: &Value, draft: &mut Draft) {
    let function = member_at(call, "/function").unwrap_or(call);
    let number = function.get("index").or_else(|| call.get("index")).and_then(Value::as_u64);
    let piece = CallPiece {
        index: number,
        id: text_at(call, "/id"),
        name: text_at(function, "/name"),
        arguments: "",
    };
    let none = Value::Object(serde_json::Map::new());
    let arguments =
        function.get("arguments").filter(|arguments| !arguments.is_null()).unwrap_or(&none);
    draft.calls.add_complete(piece, arguments);
}
