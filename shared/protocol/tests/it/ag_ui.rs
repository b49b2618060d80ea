//! AG-UI: the messages and the state that its client ends up with, whatever it receives of the pieces, and the order of
//! events that the client demands.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use djinn_core::id::MessageId;
use djinn_core::journal::Record;
use djinn_core::language::Language;
use djinn_protocol::ag_ui::{AgUi, AgUiOptions, InterruptId};
use djinn_protocol::connection::Connection;
use djinn_protocol::link::SessionLinks;
use djinn_protocol::preview::{Preview, TextKind};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::client::received;
use crate::projection::{Step, piece, plan_steps, send, steps};
use crate::story::{self, human_requests, run_id};

fn question() -> Value {
    json!({"id": "q1", "role": "user", "content": "Which region grew fastest?"})
}

fn options(messages: Vec<Value>, is_join: bool) -> AgUiOptions {
    let [thread, request] = ["thread1", "request1"].map(str::to_owned);
    AgUiOptions { thread, request, messages, state: json!({"own": 1}), is_join, is_resume: false }
}

fn connection(options: AgUiOptions) -> Connection {
    let links = SessionLinks::new("http://localhost:9000", story::asked("").session);
    let projection = AgUi::new(run_id(), options, links, Language::En);
    Connection::new(run_id(), Box::new(projection), true)
}

fn new_connection() -> Connection {
    connection(options(vec![question()], false))
}

fn sent(steps: &[Step]) -> String {
    let mut connection = new_connection();
    steps.iter().flat_map(|step| send(&mut connection, step)).collect()
}

fn render(connection: &mut Connection, records: &[Record]) -> String {
    records.iter().flat_map(|record| connection.render_record(record, &[])).collect()
}

/// The events of a stream.
fn events(stream: &str) -> Vec<Value> {
    received(stream).iter().map(|frame| serde_json::from_str(&frame.data).unwrap()).collect()
}

/// The order of events that `verifyEvents` of both versions of `@ag-ui/client` accepts. Another event is a panic.
#[derive(Debug, Clone, Default)]
struct Order {
    has_started: bool,
    has_finished: bool,
    has_failed: bool,
    open: BTreeSet<(String, String)>,
}

impl Order {
    fn check(&mut self, event: &Value) {
        let kind = event["type"].as_str().unwrap();
        assert!(!self.has_failed, "{event} after the error");
        assert!(!self.has_finished || kind == "RUN_ERROR", "{event} after the end");
        assert_eq!(self.has_started, kind != "RUN_STARTED", "{event}");
        let key =
            |entity: &str, id: &str| (entity.to_owned(), event[id].as_str().unwrap().to_owned());
        match kind {
            "RUN_STARTED" => self.has_started = true,
            "TEXT_MESSAGE_START" => self.open(&key("text", "messageId")),
            "TEXT_MESSAGE_CONTENT" => self.require(&key("text", "messageId"), event),
            "TEXT_MESSAGE_END" => self.close(&key("text", "messageId")),
            "REASONING_START" => self.open(&key("span", "messageId")),
            "REASONING_MESSAGE_START" => {
                assert_eq!(event["role"], "reasoning");
                self.open(&key("reasoning", "messageId"));
            }
            "REASONING_MESSAGE_CONTENT" => self.require(&key("reasoning", "messageId"), event),
            "REASONING_MESSAGE_END" => self.close(&key("reasoning", "messageId")),
            "REASONING_END" => self.close(&key("span", "messageId")),
            "TOOL_CALL_START" => self.open(&key("call", "toolCallId")),
            "TOOL_CALL_ARGS" => self.require(&key("call", "toolCallId"), event),
            "TOOL_CALL_END" => self.close(&key("call", "toolCallId")),
            "TOOL_CALL_RESULT" | "STATE_SNAPSHOT" | "STATE_DELTA" | "MESSAGES_SNAPSHOT"
            | "ACTIVITY_SNAPSHOT" => {}
            "RUN_FINISHED" => {
                assert!(self.open.is_empty(), "{event} while {:?} are open", self.open);
                self.has_finished = true;
            }
            "RUN_ERROR" => self.has_failed = true,
            _ => panic!("unknown event: {event}"),
        }
    }

    fn open(&mut self, key: &(String, String)) {
        assert!(self.open.insert(key.clone()), "{key:?} is open already");
    }

    fn require(&self, key: &(String, String), event: &Value) {
        assert!(self.open.contains(key), "{event} is not open");
        assert_ne!(event["delta"], "", "an empty piece");
    }

    fn close(&mut self, key: &(String, String)) {
        assert!(self.open.remove(key), "{key:?} is not open");
    }
}

/// The state of the client between its requests, as `defaultApplyEvents` builds it.
#[derive(Debug, Clone, Default, PartialEq)]
struct Client {
    messages: Vec<Value>,
    state: Value,
    interrupts: Vec<Value>,
    error: Option<Value>,
}

impl Client {
    fn asking() -> Self {
        Self { messages: vec![question()], ..Self::default() }
    }

    /// Reads the events of one response.
    fn read<'a>(mut self, events: impl IntoIterator<Item = &'a Value>) -> Self {
        let mut order = Order::default();
        for event in events {
            order.check(event);
            self.take(event);
        }
        self
    }

    /// The messages as the client sends them.
    fn request(&self) -> Vec<Value> {
        self.messages.iter().filter(|message| message["role"] != "activity").cloned().collect()
    }

    fn take(&mut self, event: &Value) {
        let id = event["messageId"].clone();
        match event["type"].as_str().unwrap() {
            "TEXT_MESSAGE_START" => self.find_or_add(&id, "assistant"),
            "REASONING_MESSAGE_START" => self.find_or_add(&id, "reasoning"),
            "TEXT_MESSAGE_CONTENT" | "REASONING_MESSAGE_CONTENT" => {
                let message = self.messages.iter_mut().find(|message| message["id"] == id).unwrap();
                let text = message["content"].as_str().unwrap_or_default().to_owned();
                message["content"] = json!(text + event["delta"].as_str().unwrap());
            }
            "TOOL_CALL_START" => {
                let call = event["toolCallId"].clone();
                assert!(self.owner(&call).is_none(), "{call} is already there");
                let parent = event["parentMessageId"].clone();
                if !self.messages.iter().any(|message| message["id"] == parent) {
                    self.messages.push(json!({"id": parent, "role": "assistant"}));
                }
                let mut messages = self.messages.iter_mut();
                let owner = messages.find(|message| message["id"] == parent).unwrap();
                assert_eq!(owner["role"], "assistant");
                if owner["toolCalls"].is_null() {
                    owner["toolCalls"] = json!([]);
                }
                let function = json!({"name": event["toolCallName"], "arguments": ""});
                let call = json!({"id": call, "type": "function", "function": function});
                owner["toolCalls"].as_array_mut().unwrap().push(call);
            }
            "TOOL_CALL_ARGS" => {
                let call = event["toolCallId"].clone();
                let owner = self.owner(&call).unwrap();
                let mut calls =
                    self.messages[owner]["toolCalls"].as_array_mut().unwrap().iter_mut();
                let found = calls.find(|other| other["id"] == call).unwrap();
                found["function"]["arguments"] = event["delta"].clone();
            }
            "TOOL_CALL_RESULT" => {
                let message = json!({
                    "id": id, "role": "tool", "toolCallId": event["toolCallId"], "content": event["content"],
                });
                let owner = self.owner(&event["toolCallId"]);
                let place = owner.map_or(self.messages.len(), |owner| {
                    let rest = self.messages[owner + 1..].iter();
                    owner + 1 + rest.take_while(|message| message["role"] == "tool").count()
                });
                self.messages.insert(place, message);
            }
            "MESSAGES_SNAPSHOT" => self.replace(event["messages"].as_array().unwrap()),
            "ACTIVITY_SNAPSHOT" => {
                let message = json!({
                    "id": id, "role": "activity", "activityType": event["activityType"],
                    "content": event["content"],
                });
                match self.messages.iter_mut().find(|other| other["id"] == id) {
                    Some(other) => *other = message,
                    None => self.messages.push(message),
                }
            }
            "STATE_SNAPSHOT" => self.state = event["snapshot"].clone(),
            "STATE_DELTA" => {
                let [patch] = event["delta"].as_array().unwrap().as_slice() else {
                    panic!("{event}")
                };
                assert_eq!((&patch["op"], &patch["path"]), (&json!("add"), &json!("/djinn/plan")));
                self.state["djinn"]
                    .as_object_mut()
                    .unwrap()
                    .insert("plan".into(), patch["value"].clone());
            }
            "RUN_FINISHED" => {
                let outcome = &event["outcome"]["interrupts"];
                self.interrupts = outcome.as_array().cloned().unwrap_or_default();
            }
            "RUN_ERROR" => self.error = Some(event.clone()),
            _ => {}
        }
    }

    /// Merges a snapshot. Activities stay, and reasoning stays unless the snapshot has reasoning.
    fn replace(&mut self, messages: &[Value]) {
        let has_reasoning = messages.iter().any(|message| message["role"] == "reasoning");
        let is_new = |id: &Value, among: &[Value]| among.iter().all(|other| other["id"] != *id);
        self.messages.retain(|message| {
            let role = message["role"].as_str().unwrap();
            !is_new(&message["id"], messages)
                || role == "activity"
                || (role == "reasoning" && !has_reasoning)
        });
        for message in messages {
            match self.messages.iter_mut().find(|other| other["id"] == message["id"]) {
                Some(other) => *other = message.clone(),
                None => self.messages.push(message.clone()),
            }
        }
    }

    fn find_or_add(&mut self, id: &Value, role: &str) {
        match self.messages.iter().find(|message| message["id"] == *id) {
            Some(message) => assert_eq!(message["role"], role),
            None => self.messages.push(json!({"id": id, "role": role, "content": ""})),
        }
    }

    fn owner(&self, call: &Value) -> Option<usize> {
        let has_call = |message: &Value| {
            let calls = message["toolCalls"].as_array();
            calls.is_some_and(|calls| calls.iter().any(|other| other["id"] == *call))
        };
        self.messages.iter().position(has_call)
    }

    /// The messages in order; and reasoning and activities by their ids, because their places depend on the pieces that
    /// arrived. Reasoning that stayed empty shows nothing.
    fn shown(&self) -> (Vec<&Value>, BTreeMap<&str, &Value>) {
        let has_place =
            |message: &&Value| message["role"] != "activity" && message["role"] != "reasoning";
        let is_shown =
            |message: &&Value| message["role"] != "reasoning" || message["content"] != "";
        let others =
            self.messages.iter().filter(|message| !has_place(message) && is_shown(message));
        (
            self.messages.iter().filter(has_place).collect(),
            others.map(|message| (message["id"].as_str().unwrap(), message)).collect(),
        )
    }

    fn texts(&self) -> Vec<&str> {
        let messages = self.messages.iter().filter(|message| message["role"] == "assistant");
        messages.filter_map(|message| message["content"].as_str()).collect()
    }
}

#[test]
fn a_run_is_messages_and_its_plan_and_children_are_activities() {
    insta::assert_snapshot!("ag_ui_growth", sent(&steps()));
    insta::assert_snapshot!("ag_ui_plan", sent(&plan_steps()));
}

#[test]
fn void_text_is_gone_and_the_state_of_the_client_stays() {
    let client = Client::asking().read(&events(&sent(&steps())));
    let answer = client.texts().pop().unwrap();
    assert!(answer.starts_with("North grew fastest, by 12 %"), "{answer}");
    assert!(!client.texts().iter().any(|text| text.contains("I reaI")), "{:?}", client.texts());
    assert_eq!(client.state["own"], 1);
    assert_eq!(client.state["djinn"]["run"], run_id().as_str());

    let planned = Client::asking().read(&events(&sent(&plan_steps())));
    let steps = planned.state["djinn"]["plan"]["steps"].as_array().unwrap();
    assert!(steps.iter().all(|step| step["status"] == "completed"), "{steps:?}");
}

fn told(lines: &[&str]) -> Vec<Record> {
    let inputs = lines.iter().map(|line| human_requests::input(line)).collect();
    story::journal_of(human_requests::asked_with_approval("Write it down?"), inputs).1
}

/// Each event of a run, and what its client receives: the table of the mapping.
#[test]
fn each_event_has_its_words() {
    let kinds = |lines: &[&str]| {
        let records = told(lines);
        let mut connection = new_connection();
        render(&mut connection, &records[..records.len() - 1]);
        let stream = render(&mut connection, &records[records.len() - 1..]);
        let kinds = events(&stream).into_iter();
        kinds.map(|event| event["type"].as_str().unwrap().to_owned()).collect::<Vec<_>>().join(" ")
    };
    for (lines, expected) in [
        (&[][..], "RUN_STARTED STATE_SNAPSHOT"),
        (
            &["replied t1 \"I read.\" read(a)"][..],
            "TEXT_MESSAGE_START TEXT_MESSAGE_CONTENT TEXT_MESSAGE_END TOOL_CALL_START TOOL_CALL_ARGS TOOL_CALL_END",
        ),
        (&["replied t1 \"\" read(a)"], "TOOL_CALL_START TOOL_CALL_ARGS TOOL_CALL_END"),
        (&["replied t1 \"\" read(a)", "returned t1.c1"], "TOOL_CALL_RESULT"),
        (&["replied t1 \"\" ask_user(a)"], ""),
        (&["replied t1 \"\" file_tool(a)"], "TOOL_CALL_START TOOL_CALL_ARGS TOOL_CALL_END"),
        (&["replied t1 \"\" file_tool(a)", "skip t1.c1"], "TOOL_CALL_RESULT"),
        (&["replied t1 \"\" file_tool(a)", "confirm t1.c1"], ""),
        (
            &["replied t1 \"Done.\""],
            "TEXT_MESSAGE_START TEXT_MESSAGE_CONTENT TEXT_MESSAGE_END RUN_FINISHED",
        ),
        (
            &["replied t1 \"\" file_tool(a)", "halt t1.c1"],
            "TOOL_CALL_RESULT TEXT_MESSAGE_START TEXT_MESSAGE_CONTENT TEXT_MESSAGE_END RUN_FINISHED",
        ),
    ] {
        assert_eq!(kinds(lines), expected, "{lines:?}");
    }
}

#[test]
fn a_failed_run_is_an_error_and_frees_the_thread_after_a_response() {
    for is_resume in [false, true] {
        let inputs = vec![story::model_failed("t1")];
        let records = story::journal_of(story::asked("Why?"), inputs).1;
        let options = AgUiOptions { is_resume, ..options(vec![question()], false) };
        let events = events(&render(&mut connection(options), &records));
        let client = Client::asking().read(&events);
        let error = client.error.unwrap();
        assert!(
            error["message"].as_str().unwrap().len() > 10 && error["code"].is_string(),
            "{error}"
        );
        let has_finished = events.iter().any(|event| event["type"] == "RUN_FINISHED");
        assert_eq!(has_finished, is_resume);
    }
}

#[test]
fn a_pause_has_an_interrupt_for_each_request_and_a_response_continues_after_it() {
    let records = told(&[
        "replied t1 \"I write it down.\" file_tool(a) send(b)",
        "confirm t1.c1",
        "returned t1.c1",
        "modify t1.c2",
        "returned t1.c2",
        "replied t2 \"Done.\"",
    ]);
    let mut first = new_connection();
    let paused = render(&mut first, &records[..2]) + &first.hand_over(None, 0).concat();
    insta::assert_snapshot!("ag_ui_pause", paused);
    let client = Client::asking().read(&events(&paused));
    let ids: Vec<_> =
        client.interrupts.iter().map(|it| InterruptId::parse(it["id"].as_str().unwrap())).collect();
    let ids: Vec<_> = ids.into_iter().map(|id| id.unwrap()).collect();
    let requests: Vec<_> = ids.iter().map(|id| (id.record, id.request.to_string())).collect();
    assert_eq!(requests, [(1, "t1.c1".to_owned()), (1, "t1.c2".to_owned())]);
    for interrupt in &client.interrupts {
        assert_eq!(interrupt["reason"], "tool_call");
        assert!(client.owner(&interrupt["toolCallId"]).is_some(), "{interrupt}");
    }
    let of = &client.interrupts[0]["responseSchema"]["properties"];
    assert_eq!(of["arguments"]["default"], json!({"of": "a"}));

    // The rest of the run, with one request still open for a while.
    let resume = |client: &Client, until: usize| {
        let mut rest = connection(options(client.request(), true));
        records[..2].iter().for_each(|record| rest.skip_record(record));
        rest.begin_late(0).concat()
            + &render(&mut rest, &records[2..until])
            + &(if until < records.len() {
                rest.hand_over(None, 0).concat()
            } else {
                String::new()
            })
    };
    let partly = client.clone().read(&events(&resume(&client, 4)));
    assert_eq!(partly.interrupts.len(), 1, "the other request stays pending");
    let id = InterruptId::parse(partly.interrupts[0]["id"].as_str().unwrap()).unwrap();
    assert_eq!((id.record, id.request.to_string()), (3, "t1.c2".to_owned()));
    let whole = client.clone().read(&events(&resume(&client, records.len())));
    assert_eq!(whole.texts(), ["I write it down.", "Done."]);
    assert_eq!(whole.interrupts, Vec::<Value>::new());

    // A client that lost a part of that response sends the same request again.
    let all = events(&resume(&client, records.len()));
    for cut in 0..all.len() {
        let cut_client = client.clone().read(&all[..cut]);
        let again = cut_client.clone().read(&events(&resume(&cut_client, records.len())));
        assert_eq!(again.shown(), whole.shown(), "cut after {cut} events");
    }
}

#[test]
fn a_run_at_work_ends_its_response_with_a_sentence_that_a_join_drops() {
    let mut first = new_connection();
    let before: String = steps()[..6].iter().flat_map(|step| send(&mut first, step)).collect();
    let client = Client::asking().read(&events(&(before + &first.hand_over(None, 0).concat())));
    assert_eq!(client.interrupts, Vec::<Value>::new());
    assert!(client.texts().last().unwrap().contains("continue"), "{:?}", client.texts());
    let mut second = connection(options(client.request(), true));
    let rest: String = steps().iter().flat_map(|step| send(&mut second, step)).collect();
    let whole = Client::asking().read(&events(&sent(&steps())));
    assert_eq!(client.read(&events(&rest)).shown(), whole.shown());
}

/// A piece of the run's text or reasoning, possibly of another attempt, late, or after a gap.
fn any_piece() -> impl Strategy<Value = Preview> {
    let kinds = prop_oneof![Just(TextKind::Text), Just(TextKind::Reasoning)];
    (1..4_u32, 1..4_u32, kinds, 0..6_usize, "[ab]{0,4}").prop_map(
        |(turn, attempt, kind, offset, text)| {
            let message = MessageId::for_turn(turn);
            Preview { kind, message, ..piece("t1", attempt, offset, &text) }
        },
    )
}

/// The steps of a story with pieces between them, and without some of its own.
fn disturbed(planned: bool, kept: &[bool], pieces: &[(usize, Preview)]) -> Vec<Step> {
    static STORIES: LazyLock<[Vec<Step>; 2]> = LazyLock::new(|| [steps(), plan_steps()]);
    let all = &STORIES[usize::from(planned)];
    let mut disturbed = Vec::new();
    for (nth, (step, kept)) in
        all.iter().zip(kept.iter().chain(std::iter::repeat(&true))).enumerate()
    {
        let own = pieces.iter().filter(|(place, _)| *place == nth);
        disturbed.extend(own.map(|(_, piece)| Step::Piece(piece.clone())));
        if *kept || !matches!(step, Step::Piece(_)) {
            disturbed.push(step.clone());
        }
    }
    disturbed
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn a_client_that_joins_after_any_event_shows_what_one_shows_who_never_left(
        kept in proptest::collection::vec(any::<bool>(), 40),
        pieces in proptest::collection::vec((1..12_usize, any_piece()), 0..12),
        cuts in proptest::collection::vec(0..60_usize, 0..4),
        planned in any::<bool>(),
    ) {
        let whole = Client::asking().read(&events(&sent(&disturbed(planned, &[], &[]))));
        let disturbed = disturbed(planned, &kept, &pieces);
        let mut client = Client::asking();
        let mut is_join = false;
        for cut in cuts.into_iter().map(Some).chain([None]) {
            let mut connection = connection(options(client.request(), is_join));
            let stream: String = disturbed.iter().flat_map(|step| send(&mut connection, step)).collect();
            let all = events(&stream);
            client = client.read(&all[..cut.unwrap_or(all.len()).min(all.len())]);
            is_join = true;
        }
        prop_assert_eq!(client.shown(), whole.shown());
        prop_assert_eq!(&client.state, &whole.state);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 10_000, ..ProptestConfig::default() })]

    #[test]
    fn events_are_in_the_order_that_clients_demand(
        kept in proptest::collection::vec(any::<bool>(), 40),
        pieces in proptest::collection::vec((1..12_usize, any_piece()), 0..20),
        until in 1..20_usize,
        late in 0..6_u64,
        planned in any::<bool>(),
    ) {
        let mut connection = connection(options(vec![question()], late > 0));
        let mut stream = String::new();
        for step in disturbed(planned, &kept, &pieces).iter().take(until.max(6)) {
            match step {
                Step::Record(record) if record.number < late => {
                    connection.skip_record(record);
                    if record.number + 1 == late {
                        stream.extend(connection.begin_late(0));
                    }
                }
                step if connection.next_record_number() >= late => {
                    stream.extend(send(&mut connection, step));
                }
                Step::Record(_) | Step::Piece(_) | Step::Heartbeat => {}
            }
        }
        if !connection.has_ended() && connection.next_record_number() > late.saturating_sub(1) {
            stream.extend(connection.hand_over(None, 0));
        }
        let mut order = Order::default();
        events(&stream).iter().for_each(|event| order.check(event));
        prop_assert!(order.has_finished || !order.has_started);
    }
}
