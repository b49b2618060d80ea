//! The protocol of JoyAgent's web UI, as `POST /web/api/v1/gpt/queryAgentStreamIncr` speaks it:
//! every raw event wrapped into an envelope, grouped by task.
//!
//! The UI reads nothing but such envelopes and stays locked until one says `finished: true` with an
//! `eventData`; errors are therefore final `result` events too.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::cursor::Cursor;
use super::joyagent::{AgentResponse, REACT, Translator};
use super::{Frame, Projection};
use crate::code::Failure;
use crate::entry::{Entry, Event};
use crate::preview::Preview;
use crate::settings::Language;

/// The UI's projection. In ReAct all events share one task id and there are no `task` events: the
/// UI shows the first group only.
pub struct JoyAgentUi {
    translator: Translator,
    task_order: u64,
    message_order: BTreeMap<&'static str, u64>,
    spent: Spent,
}

#[derive(Default)]
struct Spent {
    tokens: u64,
    seconds: u64,
}

impl JoyAgentUi {
    /// Wraps what `translator` makes of the run.
    #[must_use]
    pub fn new(translator: Translator) -> Self {
        let (task_order, message_order) = (0, BTreeMap::new());
        Self { translator, task_order, message_order, spent: Spent::default() }
    }

    fn wrap(&mut self, event: &AgentResponse) -> Frame {
        self.task_order += 1;
        let message_order = match event.message_type {
            "html" | "markdown" | "deep_search" | "tool_thought" | "data_analysis" => {
                let order = self.message_order.entry(event.message_type).or_default();
                *order += 1;
                *order
            }
            _ => 1,
        };
        let event_data = json!({
            "taskId": format!("{}.task", self.translator.run()),
            "taskOrder": self.task_order,
            "messageId": event.message_id,
            "messageType": "task",
            "messageOrder": message_order,
            "resultMap": without_nulls(json!(event)),
        });
        let text = event.result.as_deref().unwrap_or_default();
        let request = self.translator.request().as_str();
        let envelope = envelope(request, text, event.finish, Some(event_data), &self.spent);
        Frame::Data { event: None, data: envelope.to_string() }
    }
}

impl Projection for JoyAgentUi {
    fn entry(&mut self, entry: &Entry) -> Vec<Frame> {
        if let Event::RunEnded(ending) = &entry.event {
            self.spent =
                Spent { tokens: ending.spent.tokens(), seconds: ending.took_ms.div_ceil(1000) };
        }
        let events = self.translator.entry(entry);
        events.iter().map(|event| self.wrap(event)).collect()
    }

    fn preview(&mut self, preview: &Preview) -> Vec<Frame> {
        let events = self.translator.preview(preview);
        events.iter().map(|event| self.wrap(event)).collect()
    }

    fn heartbeat(&self) -> Frame {
        let request = self.translator.request().as_str();
        let mut envelope = envelope(request, "", false, None, &Spent::default());
        if let Some(members) = envelope.as_object_mut() {
            members.insert("status".to_owned(), json!("success"));
            members.insert("packageType".to_owned(), json!("heartbeat"));
        }
        Frame::Data { event: None, data: envelope.to_string() }
    }

    fn hand_over(&mut self, _: Option<&Cursor>, at_ms: i64) -> Vec<Frame> {
        // This client cannot resume: its question ends here, and `continue` is the next one.
        let event = self.translator.hand_over(at_ms);
        vec![self.wrap(&event)]
    }

    fn resume(&mut self) {
        self.translator.resume();
    }
}

/// The only event of a request that was refused: what this client needs to unlock its input.
#[must_use]
pub fn refusal(request: &str, failure: &Failure, language: Language, at_ms: i64) -> String {
    let text = failure.sentence(language);
    let event_data = json!({
        "taskId": "refused", "taskOrder": 1, "messageId": "refused",
        "messageType": "task", "messageOrder": 1,
        "resultMap": {
            "requestId": request, "messageId": "refused", "isFinal": true,
            "messageType": "result", "messageTime": at_ms.to_string(),
            "result": text, "resultMap": {"agentType": REACT}, "finish": true,
        },
    });
    let mut envelope = envelope(request, &text, true, Some(event_data), &Spent::default());
    if let Some(members) = envelope.as_object_mut() {
        members.insert("status".to_owned(), json!("failed"));
        members.insert("errorMsg".to_owned(), json!(failure.code.as_str()));
    }
    format!("data:{envelope}\n\n")
}

fn envelope(
    request: &str,
    text: &str,
    finished: bool,
    event_data: Option<Value>,
    spent: &Spent,
) -> Value {
    let result_map = event_data.map(|event_data| {
        json!({"agentType": REACT.to_string(), "multiAgent": {}, "eventData": event_data})
    });
    json!({
        "status": if finished { "success" } else { "running" },
        "response": text,
        "responseAll": text,
        "finished": finished,
        "useTimes": spent.seconds,
        "useTokens": spent.tokens,
        "resultMap": result_map,
        "responseType": "text",
        "traceId": null,
        "reqId": request,
        "encrypted": false,
        "query": null,
        "messages": null,
        "packageType": "result",
        "errorMsg": null,
    })
}

/// The original's aggregator drops nulls when it encodes an event again.
fn without_nulls(value: Value) -> Value {
    match value {
        Value::Object(members) => Value::Object(
            members
                .into_iter()
                .filter(|(_, member)| !member.is_null())
                .map(|(name, member)| (name, without_nulls(member)))
                .collect::<Map<_, _>>(),
        ),
        Value::Array(items) => items.into_iter().map(without_nulls).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value,
    }
}
