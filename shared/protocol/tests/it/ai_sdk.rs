//! The AI SDK's UI message stream: the message that `useChat` shows, whatever it receives of the pieces.

use std::collections::BTreeMap;

use djinn_core::journal::Record;
use djinn_core::language::Language;
use djinn_protocol::ai_sdk::{AiSdk, AiSdkOptions};
use djinn_protocol::connection::Connection;
use djinn_protocol::link::SessionLinks;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::client::received;
use crate::projection::{Step, plan_steps, send, steps};
use crate::story::{self, human_requests, run_id};

fn connection(is_known: bool, reconnects: bool) -> Connection {
    let links = SessionLinks::new("http://localhost:9000", story::asked("").session);
    let message = Some("m1".to_owned());
    let options = AiSdkOptions { message, is_known, reconnects, is_repeat: false };
    let projection = AiSdk::new(run_id(), options, links, Language::En);
    Connection::new(run_id(), Box::new(projection), true)
}

fn sent(steps: &[Step]) -> String {
    let mut connection = connection(false, false);
    steps.iter().flat_map(|step| send(&mut connection, step)).collect()
}

/// The message as `processUIMessageStream` of `ai` 7.0.173 builds it. A chunk that the client rejects is a panic.
#[derive(Debug, Clone, Default, PartialEq)]
struct Message {
    id: String,
    parts: Vec<Value>,
    open: BTreeMap<String, usize>,
    finish: Option<Value>,
}

impl Message {
    fn read(mut self, stream: &str) -> Self {
        for frame in received(stream) {
            let chunk: Value = serde_json::from_str(&frame.data).unwrap();
            self.take(&chunk);
        }
        self
    }

    fn take(&mut self, chunk: &Value) {
        let kind = chunk["type"].as_str().unwrap();
        let id = chunk["id"].as_str().unwrap_or_default().to_owned();
        assert_eq!(self.finish, None, "{chunk} after the end");
        match kind {
            "start" => self.id = chunk["messageId"].as_str().unwrap().to_owned(),
            "start-step" => self.parts.push(json!({"type": "step-start"})),
            "finish-step" => {}
            "reset-step" => {
                let is_start = |part: &Value| part["type"] == "step-start";
                let step = self.parts.iter().rposition(is_start).unwrap();
                self.parts.truncate(step + 1);
                self.open.clear();
            }
            "text-start" | "reasoning-start" => {
                self.open.insert(id, self.parts.len());
                let kind = kind.trim_end_matches("-start");
                self.parts.push(json!({"type": kind, "text": "", "state": "streaming"}));
            }
            "text-delta" | "reasoning-delta" => {
                let part = &mut self.parts[self.open[&id]];
                let text = part["text"].as_str().unwrap().to_owned();
                part["text"] = json!(text + chunk["delta"].as_str().unwrap());
            }
            "text-end" | "reasoning-end" => {
                let part = self.open.remove(&id).unwrap();
                self.parts[part]["state"] = json!("done");
            }
            "tool-input-available" => {
                assert_eq!(chunk["dynamic"], true);
                let is_start = |part: &Value| part["type"] == "step-start";
                let step = self.parts.iter().rposition(is_start).unwrap();
                let call = chunk["toolCallId"].clone();
                let mut parts = self.parts.iter_mut().skip(step);
                match parts.find(|part| part["call"] == call) {
                    Some(part) => {
                        part["state"] = json!("input-available");
                        part["input"] = chunk["input"].clone();
                    }
                    None => self.parts.push(json!({
                        "type": "dynamic-tool", "call": call, "tool": chunk["toolName"],
                        "input": chunk["input"], "state": "input-available",
                    })),
                }
            }
            "tool-approval-request" => {
                let part = self.call(chunk);
                part["state"] = json!("approval-requested");
                part["approval"] = chunk["approvalId"].clone();
            }
            "tool-output-available" => {
                let output = chunk["output"].clone();
                let part = self.call(chunk);
                part["state"] = json!("output-available");
                part["output"] = output;
            }
            "tool-output-error" => self.call(chunk)["state"] = json!("output-error"),
            "tool-output-denied" => self.call(chunk)["state"] = json!("output-denied"),
            "source-url" => self.parts.push(chunk.clone()),
            "finish" => self.finish = Some(chunk.clone()),
            data if data.starts_with("data-") => {
                let is_same = |part: &&mut Value| part["type"] == data && part["id"] == *id;
                match self.parts.iter_mut().find(is_same) {
                    Some(part) => part["data"] = chunk["data"].clone(),
                    None => self.parts.push(chunk.clone()),
                }
            }
            _ => panic!("unknown chunk: {chunk}"),
        }
    }

    fn call(&mut self, chunk: &Value) -> &mut Value {
        let call = &chunk["toolCallId"];
        let mut parts = self.parts.iter_mut().rev();
        parts.find(|part| part["call"] == *call).unwrap_or_else(|| panic!("no call for {chunk}"))
    }

    /// The parts without an order between text and other work.
    fn sorted_parts(&self) -> Vec<String> {
        let mut parts: Vec<String> = self.parts.iter().map(Value::to_string).collect();
        parts.sort();
        parts
    }

    fn texts(&self) -> Vec<&str> {
        let texts = self.parts.iter().filter(|part| part["type"] == "text");
        texts.map(|part| part["text"].as_str().unwrap()).collect()
    }

    fn states(&self) -> Vec<(&str, &str)> {
        let calls = self.parts.iter().filter(|part| part["type"] == "dynamic-tool");
        calls
            .map(|call| (call["call"].as_str().unwrap(), call["state"].as_str().unwrap()))
            .collect()
    }
}

#[test]
fn void_text_is_reset_and_other_work_is_tools_and_data() {
    insta::assert_snapshot!("ai_sdk_growth", sent(&steps()));
    insta::assert_snapshot!("ai_sdk_plan", sent(&plan_steps()));
}

#[test]
fn a_message_shows_the_answer_and_no_void_text() {
    let message = Message::default().read(&sent(&steps()));
    let answer = message.texts().pop().unwrap();
    assert!(answer.starts_with("North grew fastest, by 12 %"), "{answer}");
    assert!(!message.texts().contains(&"I rea"), "{:?}", message.texts());
    assert_eq!(message.finish.unwrap()["finishReason"], "stop");
}

#[test]
fn sources_of_an_answer_are_parts_with_their_numbers() {
    let answer = "Warm [2].\n\n## Sources\n\n- [1] [x](data:text/html,x)\n- [2] [\\[Of\\] gold](https://a.test/)";
    let inputs = vec![story::replied("t1", answer, &[])];
    let records = story::journal_of(story::asked("How warm?"), inputs).1;
    let message = Message::default().read(&render(&mut connection(false, false), &records));
    let sources: Vec<_> =
        message.parts.iter().filter(|part| part["type"] == "source-url").collect();
    let gold = json!({"type": "source-url", "sourceId": "2", "url": "https://a.test/", "title": "[Of] gold"});
    assert_eq!(sources, [&gold]);
    assert_eq!(message.texts(), [answer]);
}

fn told(lines: &[&str]) -> Vec<Record> {
    let inputs = lines.iter().map(|line| human_requests::input(line)).collect();
    story::journal_of(human_requests::asked_with_approval("Write it down?"), inputs).1
}

fn render(connection: &mut Connection, records: &[Record]) -> String {
    records.iter().flat_map(|record| connection.render_record(record, &[])).collect()
}

#[test]
fn a_paused_run_ends_its_message_with_approvals_that_the_same_message_closes() {
    let records = told(&[
        "replied t1 \"I write it down.\" file_tool(a)",
        "confirm t1.c1",
        "returned t1.c1",
        "replied t2 \"Done.\"",
    ]);
    let mut first = connection(false, true);
    let paused = render(&mut first, &records[..2]) + &first.hand_over(None, 0).concat();
    let message = Message::default().read(&paused);
    assert_eq!(message.states(), [("t1.c1", "approval-requested")]);
    assert_eq!(message.texts(), ["I write it down."]);
    let finish = message.finish.as_ref().unwrap();
    assert_eq!(finish["finishReason"], "stop");
    assert_eq!(finish["messageMetadata"]["status"], "paused");

    let mut second = connection(true, true);
    records[..2].iter().for_each(|record| second.skip_record(record));
    let rest = second.begin_late(0).concat() + &render(&mut second, &records[2..]);
    let message = Message { finish: None, ..message }.read(&rest);
    assert_eq!(message.states(), [("t1.c1", "output-available")]);
    assert_eq!(message.texts(), ["I write it down.", "Done."]);

    // A client that shows an answer in a new message finds the call there.
    let mut other = connection(false, true);
    records[..2].iter().for_each(|record| other.skip_record(record));
    let rest = other.begin_late(0).concat() + &render(&mut other, &records[2..]);
    assert_eq!(Message::default().read(&rest).states(), [("t1.c1", "output-available")]);
}

#[test]
fn skipped_calls_are_denied_and_requests_without_a_call_are_text() {
    let records = told(&[
        "replied t1 \"I write it down.\" file_tool(a)",
        "skip t1.c1",
        "model_interrupted t2",
    ]);
    let mut connection = connection(false, true);
    let frames = render(&mut connection, &records) + &connection.hand_over(None, 0).concat();
    let message = Message::default().read(&frames);
    assert_eq!(message.states(), [("t1.c1", "output-denied")]);
    let texts = message.texts();
    assert!(texts.last().unwrap().contains("Out of credits"), "{texts:?}");
}

#[test]
fn a_run_at_work_leaves_the_message_open_only_for_clients_that_reconnect() {
    let records = told(&["replied t1 \"\" read(a)"]);
    for reconnects in [true, false] {
        let mut connection = connection(false, reconnects);
        let frames = render(&mut connection, &records) + &connection.hand_over(None, 0).concat();
        let message = Message::default().read(&frames);
        assert_eq!(message.finish.is_none(), reconnects);
        assert_eq!(message.texts().is_empty(), reconnects);
    }
}

proptest! {
    #[test]
    fn the_message_is_the_same_whichever_pieces_are_lost(
        kept in proptest::collection::vec(any::<bool>(), 40),
        planned in any::<bool>(),
        late in 0..6_usize,
    ) {
        let all = if planned { plan_steps() } else { steps() };
        let whole = Message::default().read(&sent(&all));
        let is_kept = |(step, kept): &(&Step, bool)| *kept || !matches!(step, Step::Piece(_));
        let kept = kept.into_iter().chain(std::iter::repeat(true));
        let some: Vec<Step> =
            all.iter().zip(kept).filter(is_kept).map(|(step, _)| step.clone()).collect();
        let message = Message::default().read(&sent(&some));
        prop_assert_eq!(message.sorted_parts(), whole.sorted_parts());
        prop_assert_eq!(&message.finish, &whole.finish);

        let mut connection = connection(false, false);
        let mut number = 0;
        let mut frames = String::new();
        for step in &some {
            match step {
                Step::Record(record) if number < late => {
                    connection.skip_record(record);
                    number += 1;
                    if number == late {
                        frames.extend(connection.begin_late(0));
                    }
                }
                step if number >= late => frames.extend(send(&mut connection, step)),
                Step::Record(_) | Step::Piece(_) | Step::Heartbeat => {}
            }
        }
        let rest = Message::default().read(&frames);
        let (shown, expected) = (rest.texts(), whole.texts());
        prop_assert_eq!(shown.last(), expected.last());
    }
}
