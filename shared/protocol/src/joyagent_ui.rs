//! The protocol of JoyAgent's web UI, as in `POST /web/api/v1/gpt/queryAgentStreamIncr`: every raw event in
//! an envelope, grouped by task.
//!
//! The UI reads only envelopes, and stays locked until an envelope with `finished: true` and an `eventData`.
//! So errors are also sent as final `result` events.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::cursor::Cursor;
use super::joyagent::{AgentResponse, Translator};
use crate::connection::{Frame, Projection};
use crate::mode_support::agent_type_of;
use crate::preview::Preview;
use djinn_core::entry::{Entry, Event};
use djinn_core::error_code::Failure;
use djinn_core::file::media_type_of;
use djinn_core::id::TaskId;
use djinn_core::language::Language;
use djinn_core::settings::Machine;

/// The UI's projection. In ReAct all events share one task id, without `task` events, because the UI shows
/// only the first group. In Plan-Solve each task has a group, opened by its `task` event; the planner's text
/// has no group.
pub struct JoyAgentUi {
    translator: Translator,
    task_order: u64,
    message_order: BTreeMap<&'static str, u64>,
    totals: UsageTotals,
    /// The newest task: the group for events without their own group.
    lane: Option<TaskId>,
    /// The thoughts about the plan so far.
    thoughts: Thoughts,
    /// The number of retractions of each search report.
    retracted_reports: BTreeMap<String, u32>,
}

/// The UI's single place for thoughts about the plan: a whole text replaces all text there. Thoughts too old
/// to be shown are dropped.
#[derive(Default)]
struct Thoughts(Vec<(String, Option<String>)>);

/// Maximum bytes of thoughts about the plan; the oldest thoughts are dropped.
const MAX_THOUGHTS: usize = 64 * 1024;

/// The blank line between two thoughts.
const PARAGRAPH: &str = "\n\n";

#[derive(Clone, Copy, Default)]
struct UsageTotals {
    tokens: u64,
    seconds: u64,
}

impl JoyAgentUi {
    /// Creates the UI's projection of `translator`'s events.
    #[must_use]
    pub fn new(translator: Translator) -> Self {
        Self {
            translator,
            task_order: 0,
            message_order: BTreeMap::new(),
            totals: UsageTotals::default(),
            lane: None,
            thoughts: Thoughts::default(),
            retracted_reports: BTreeMap::new(),
        }
    }

    fn wrap_event(&mut self, event: &AgentResponse) -> Frame {
        let event_data = match event.message_type {
            "plan_thought" => {
                let event = self.thoughts.merge_event(event);
                self.data_without_task(&event, &without_nulls(json!(event)))
            }
            // In a lane the UI would show a chip under the name of the last completed step, not the lane's
            // step.
            "plan" => self.data_without_task(event, &json!(event.plan)),
            // The UI ignores these types and events without a task.
            "human_feedback_request"
            | "parameter_modification_request"
            | "human_feedback_answered" => {
                self.data_without_task(event, &without_nulls(json!(event)))
            }
            _ => self.data_in_task(event),
        };
        let text = event.result.as_deref().unwrap_or_default();
        let is_finished = event.finish;
        let agent_type = self.translator.agent_type();
        let about = EnvelopeHeader { request: self.translator.request().as_str(), agent_type };
        let spent = if is_finished { self.totals } else { UsageTotals::default() };
        let envelope = about.to_envelope(text, is_finished, Some(event_data), &spent);
        Frame::Data { event: None, data: envelope.to_string() }
    }

    /// Returns the data of an event without a task.
    fn data_without_task(&mut self, event: &AgentResponse, result_map: &Value) -> Value {
        json!({
            "messageId": event.message_id,
            "messageType": event.message_type,
            "messageOrder": self.next_order(event.message_type),
            "resultMap": result_map,
        })
    }

    fn data_in_task(&mut self, event: &AgentResponse) -> Value {
        let event = &show_image(event);
        let event = &self.restart_report(event);
        self.task_order += 1;
        if event.message_type == "task" {
            self.lane.clone_from(&event.lane);
        }
        let run = self.translator.run();
        let task_id = match event.lane.as_ref().or(self.lane.as_ref()) {
            Some(task) => format!("{run}.{task}"),
            None => format!("{run}.task"),
        };
        json!({
            "taskId": task_id,
            "taskOrder": self.task_order,
            "messageId": event.message_id,
            "messageType": "task",
            "messageOrder": self.next_order(event.message_type),
            "resultMap": without_nulls(json!(event)),
        })
    }

    /// Gives a retracted report another id, because the UI would append to the first text.
    fn restart_report<'a>(&mut self, event: &'a AgentResponse) -> Cow<'a, AgentResponse> {
        let has_answer =
            event.message_type == "deep_search" && event.result_map.get("answer").is_some();
        if !has_answer {
            return Cow::Borrowed(event);
        }
        let count = self.retracted_reports.entry(event.message_id.clone()).or_default();
        let numbered_event = match *count {
            0 => Cow::Borrowed(event),
            number => {
                let message_id = format!("{}.{number}", event.message_id);
                Cow::Owned(AgentResponse { message_id, ..event.clone() })
            }
        };
        if event.result_map.get("messageType").is_some_and(|kind| kind == "extend") {
            *count += 1;
        }
        numbered_event
    }

    fn next_order(&mut self, message_type: &'static str) -> u64 {
        match message_type {
            "html" | "markdown" | "deep_search" | "tool_thought" | "data_analysis"
            | "plan_thought" => {
                let order = self.message_order.entry(message_type).or_default();
                *order += 1;
                *order
            }
            _ => 1,
        }
    }
}

/// Shows an image as Markdown, because the UI shows the bytes of files without a viewer as text.
fn show_image(event: &AgentResponse) -> Cow<'_, AgentResponse> {
    let file = event.result_map.pointer("/fileInfo/0").filter(|_| event.message_type == "file");
    let text = |member: &str| file?.get(member)?.as_str();
    let (Some(name), Some(url)) = (text("fileName"), text("domainUrl")) else {
        return Cow::Borrowed(event);
    };
    if !media_type_of(name).starts_with("image/") {
        return Cow::Borrowed(event);
    }
    let mut image_event = AgentResponse { message_type: "markdown", ..event.clone() };
    image_event.result_map = json!({
        "data": format!("![{name}]({url})"), "fileInfo": event.result_map.get("fileInfo"), "isFinal": true,
        "agentType": event.result_map.get("agentType"),
    });
    Cow::Owned(image_event)
}

impl Projection for JoyAgentUi {
    fn project_entry(&mut self, entry: &Entry) -> Vec<Frame> {
        if let Event::RunEnded(ending) = &entry.event {
            self.totals = UsageTotals {
                tokens: ending.spent.tokens(),
                seconds: ending.took_ms.div_ceil(1000),
            };
        }
        let events = self.translator.translate_entry(entry);
        events.iter().map(|event| self.wrap_event(event)).collect()
    }

    fn project_preview(&mut self, preview: &Preview) -> Vec<Frame> {
        let events = self.translator.translate_preview(preview);
        events.iter().map(|event| self.wrap_event(event)).collect()
    }

    fn heartbeat(&self) -> Frame {
        let agent_type = self.translator.agent_type();
        let about = EnvelopeHeader { request: self.translator.request().as_str(), agent_type };
        let mut envelope = about.to_envelope("", false, None, &UsageTotals::default());
        if let Some(members) = envelope.as_object_mut() {
            members.insert("status".to_owned(), json!("success"));
            members.insert("packageType".to_owned(), json!("heartbeat"));
        }
        Frame::Data { event: None, data: envelope.to_string() }
    }

    fn hand_over(&mut self, _: Option<&Cursor>, at_ms: i64) -> Vec<Frame> {
        // This client cannot resume: the question ends here, and the user continues with `continue`.
        let event = self.translator.hand_over(at_ms);
        vec![self.wrap_event(&event)]
    }

    fn resume(&mut self) {
        self.translator.resume();
    }

    fn begin_late(&mut self, at_ms: i64) -> Vec<Frame> {
        self.thoughts = Thoughts::default();
        let events = self.translator.begin_late(at_ms);
        events.iter().map(|event| self.wrap_event(event)).collect()
    }

    fn has_large_frames(&self) -> bool {
        true
    }

    fn can_resume(&self) -> bool {
        false
    }
}

impl Thoughts {
    /// Returns the event merged with earlier thoughts.
    fn merge_event(&mut self, event: &AgentResponse) -> AgentResponse {
        let id = &event.message_id;
        let text = event.plan_thought.clone().unwrap_or_default();
        let place = self.0.iter().position(|(other_id, _)| other_id == id);
        let is_newest = place.is_none_or(|place| place + 1 == self.0.len());
        let begins_paragraph = place.is_none() && !self.0.is_empty();
        match place.and_then(|place| self.0.get_mut(place)) {
            Some((_, thought)) if event.is_final => *thought = Some(text.clone()),
            Some((_, thought)) => thought.get_or_insert_default().push_str(&text),
            None => self.0.push((id.clone(), Some(text.clone()))),
        }
        // Thoughts too old to be shown again are dropped.
        let mut room = MAX_THOUGHTS;
        for (_, text) in self.0.iter_mut().rev().skip(1) {
            match text {
                Some(thought) if thought.len() <= room => room -= thought.len(),
                _ => (room, *text) = (0, None),
            }
        }
        let mut event = event.clone();
        if event.is_final || !is_newest {
            (event.plan_thought, event.is_final) = (Some(self.to_text()), true);
        } else if begins_paragraph {
            event.plan_thought = Some(format!("{PARAGRAPH}{text}"));
        }
        event
    }

    /// Returns the newest thoughts up to the maximum, without void texts.
    fn to_text(&self) -> String {
        let mut room = MAX_THOUGHTS;
        let newest = self.0.iter().rev().map_while(|(_, text)| {
            let text = text.as_deref().filter(|text| text.len() <= room)?;
            room -= text.len();
            Some(text)
        });
        let mut paragraphs: Vec<&str> = newest.collect();
        match (paragraphs.is_empty(), paragraphs.len() < self.0.len()) {
            // A single thought above the maximum is kept alone.
            (true, _) => paragraphs.extend(self.0.last().and_then(|(_, text)| text.as_deref())),
            (false, true) => paragraphs.push("…"),
            (false, false) => {}
        }
        paragraphs.reverse();
        paragraphs.retain(|text| !text.is_empty());
        paragraphs.join(PARAGRAPH)
    }
}

/// Returns the only event of a rejected request, required by the UI to unlock the input.
#[must_use]
pub fn refusal_frame(request: &str, failure: &Failure, language: Language, at_ms: i64) -> String {
    let text = failure.sentence(language);
    let agent_type = agent_type_of(Machine::default());
    let event_data = json!({
        "taskId": "refused", "taskOrder": 1, "messageId": "refused",
        "messageType": "task", "messageOrder": 1,
        "resultMap": {
            "requestId": request, "messageId": "refused", "isFinal": true,
            "messageType": "result", "messageTime": at_ms.to_string(),
            "result": text, "resultMap": {"agentType": agent_type}, "finish": true,
        },
    });
    let about = EnvelopeHeader { request, agent_type };
    let mut envelope = about.to_envelope(&text, true, Some(event_data), &UsageTotals::default());
    if let Some(members) = envelope.as_object_mut() {
        members.insert("status".to_owned(), json!("failed"));
        members.insert("errorMsg".to_owned(), json!(failure.code.as_str()));
    }
    format!("data:{envelope}\n\n")
}

/// The fields common to every envelope of a question.
struct EnvelopeHeader<'a> {
    request: &'a str,
    agent_type: u16,
}

impl EnvelopeHeader<'_> {
    fn to_envelope(
        &self,
        text: &str,
        finished: bool,
        event_data: Option<Value>,
        spent: &UsageTotals,
    ) -> Value {
        let agent_type = self.agent_type.to_string();
        let result_map = event_data.map(|event_data| {
            json!({"agentType": agent_type, "multiAgent": {}, "eventData": event_data})
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
            "reqId": self.request,
            "encrypted": false,
            "query": null,
            "messages": null,
            "packageType": "result",
            "errorMsg": null,
        })
    }
}

/// Removes nulls, like the original's aggregator.
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
