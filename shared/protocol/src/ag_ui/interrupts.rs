//! Human requests as interrupts of a response.

use djinn_core::human::{ASK_USER, HumanRequest};
use djinn_core::id::{HumanRequestId, RunId};
use djinn_core::language::Language;
use djinn_core::plan::PLANNING_TOOL;
use serde_json::{Map, Value, json};

use crate::event::PublicHumanRequest;
use crate::open_requests::{changeable_parameters, request_line};

/// The id of an interrupt: `<run>:<record>:<request>`. Its response continues after that record, so that nothing needs to
/// be stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InterruptId {
    /// The run that waits.
    pub run: RunId,
    /// The newest record that the client had received at the pause.
    pub record: u64,
    /// The request.
    pub request: HumanRequestId,
}

impl InterruptId {
    /// Parses the text of an id; `None` for any other text.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.splitn(3, ':');
        let run = RunId::new(parts.next()?).ok()?;
        let record = parts.next()?;
        let is_number = record.bytes().all(|byte| byte.is_ascii_digit());
        let record = record.parse().ok().filter(|_| is_number)?;
        let request = HumanRequestId::new(parts.next()?).ok()?;
        Some(Self { run, record, request })
    }

    /// Returns the text of the id.
    #[must_use]
    pub fn to_text(&self) -> String {
        let Self { run, record, request } = self;
        format!("{run}:{record}:{request}")
    }
}

/// Returns a request as an interrupt, with the schema of its response.
pub(super) fn describe_interrupt(
    request: &HumanRequest,
    id: &InterruptId,
    link: Option<String>,
    language: Language,
) -> Value {
    let subject = &request.subject;
    // Only calls of the run itself are shown as such, and neither questions nor plans.
    let call = subject.call().filter(|(_, tool, _)| ![ASK_USER, PLANNING_TOOL].contains(tool));
    let call = call.filter(|_| request.id.path().is_root());
    let reason = match call {
        _ if subject.is_question() => "input_required",
        Some(_) => "tool_call",
        None => "confirmation",
    };
    let mut interrupt = Map::from_iter([
        ("id".to_owned(), json!(id.to_text())),
        ("reason".to_owned(), json!(reason)),
        ("message".to_owned(), json!(request_line(request, language))),
        ("responseSchema".to_owned(), response_schema(request)),
        ("metadata".to_owned(), json!({"request": PublicHumanRequest::new(request, link)})),
    ]);
    if let Some((call, ..)) = call {
        let id = format!("{}:call:{call}", id.run);
        interrupt.insert("toolCallId".to_owned(), json!(id));
    }
    Value::Object(interrupt)
}

/// Returns the JSON Schema of a response's payload.
fn response_schema(request: &HumanRequest) -> Value {
    let comment = json!({"type": "string", "maxLength": 4_096});
    let words = |words: &[&str]| json!({"type": "string", "examples": words});
    let properties = if request.subject.is_question() {
        json!({"answer": {"type": "string"}, "comment": comment})
    } else if let Some(arguments) = changeable_parameters(&request.subject) {
        json!({
            "answer": words(&["confirm", "modify", "skip", "stop"]),
            "arguments": {"type": "object", "default": arguments}, "comment": comment,
        })
    } else {
        json!({"answer": words(&["confirm", "skip", "stop"]), "comment": comment})
    };
    json!({
        "type": "object", "required": ["answer"], "additionalProperties": false, "properties": properties,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The reason of each kind of request, whether its call is named, and whether arguments can change.
    #[test]
    fn an_interrupt_says_what_kind_of_response_it_needs() {
        let call = |id: &str, tool: &str| json!({"id": id, "about": "call", "call": "t1.c1", "tool": tool, "arguments": {"a": 1}});
        let step = json!({"id": "t1.c1", "about": "step_review", "step": 1, "details": "Look."});
        let wait = json!({
            "id": "t1.c1", "about": "model_interrupt", "message": "t1",
            "interrupt": {"code": "20006", "message": "No credits."},
        });
        for (request, reason, is_call, can_change) in [
            (call("t1.c1", "file_tool"), "tool_call", true, true),
            (call("s1.1.t1.c1", "file_tool"), "confirmation", false, true),
            (call("t1.c1", "planning"), "confirmation", false, true),
            (call("t1.c1", "ask_user"), "input_required", false, false),
            (step, "confirmation", false, true),
            (wait, "confirmation", false, false),
        ] {
            let mut request = request;
            request["risk"] = json!("low");
            request["digest"] = json!("d");
            let request: HumanRequest = serde_json::from_value(request).unwrap();
            let run = RunId::new(format!("run_{}", "a".repeat(32))).unwrap();
            let id = InterruptId { run, record: 3, request: request.id.clone() };
            let interrupt = describe_interrupt(&request, &id, None, Language::En);
            assert_eq!(interrupt["reason"], reason, "{interrupt}");
            assert_eq!(interrupt.get("toolCallId").is_some(), is_call, "{interrupt}");
            let properties = &interrupt["responseSchema"]["properties"];
            assert_eq!(properties.get("arguments").is_some(), can_change, "{interrupt}");
            assert!(!interrupt["message"].as_str().unwrap().is_empty());
        }
    }

    #[test]
    fn an_interrupt_names_a_record_and_a_request_of_a_run() {
        let run = format!("run_{}", "a".repeat(32));
        for good in [format!("{run}:0:t1.c1"), format!("{run}:17:s2.1.t3.c1")] {
            assert_eq!(InterruptId::parse(&good).unwrap().to_text(), good);
        }
        for bad in [
            "",
            "t1.c1",
            &run,
            &format!("{run}:1"),
            &format!("{run}:1:"),
            &format!("{run}:-1:t1.c1"),
            &format!("{run}:+1:t1.c1"),
            &format!("{run}::t1.c1"),
            &format!("{run}:99999999999999999999999:t1.c1"),
            "run_x:1:t1.c1",
        ] {
            assert!(InterruptId::parse(bad).is_none(), "{bad}");
        }
    }
}
