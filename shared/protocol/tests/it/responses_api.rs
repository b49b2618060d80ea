//! The Responses API: the items that a client ends up with, whatever it receives of the pieces and wherever it resumes.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use djinn_core::journal::Record;
use djinn_core::language::Language;
use djinn_protocol::connection::{Connection, Frame, Projection as _};
use djinn_protocol::link::SessionLinks;
use djinn_protocol::preview::{Preview, TextKind};
use djinn_protocol::responses_api::{
    ResponsesApi, ResponsesApiForm, ResponsesApiOptions, SequenceNumber,
};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::client::received;
use crate::projection::{Step, piece, plan_steps, send, steps};
use crate::story::{self, human_requests, run_id};

const STREAM: ResponsesApiForm = ResponsesApiForm::Stream { after: None };

fn projection(form: ResponsesApiForm) -> ResponsesApi {
    let links = SessionLinks::new("http://localhost:9000", story::asked("").session);
    let [model, session] = ["djinn", "session1"].map(str::to_owned);
    let options =
        ResponsesApiOptions { model, session, previous: None, is_background: false, form };
    ResponsesApi::new(run_id(), options, links, Language::En)
}

fn connection(form: ResponsesApiForm) -> Connection {
    Connection::new(run_id(), Box::new(projection(form)), form != ResponsesApiForm::Document)
}

fn sent(form: ResponsesApiForm, steps: &[Step]) -> String {
    let mut connection = connection(form);
    steps.iter().flat_map(|step| send(&mut connection, step)).collect()
}

fn events(stream: &str) -> Vec<Value> {
    received(stream).iter().map(|frame| serde_json::from_str(&frame.data).unwrap()).collect()
}

fn document(steps: &[Step]) -> Value {
    serde_json::from_str(&sent(ResponsesApiForm::Document, steps)).unwrap()
}

/// A model that reasons before its text, with an attempt that breaks off and a death.
fn reasoning_steps() -> Vec<Step> {
    let inputs = vec![
        story::broke_off("t1", 1),
        story::died(2),
        story::thought("t1", "Compare the regions.", "North grew fastest — by 12 %."),
    ];
    let (_, records) = story::journal("Which region grew fastest?", inputs);
    let reasoning = |attempt, offset, text: &str| {
        Step::Piece(Preview { kind: TextKind::Reasoning, ..piece("t1", attempt, offset, text) })
    };
    let text = |attempt, offset, text: &str| Step::Piece(piece("t1", attempt, offset, text));
    let mut records = records.into_iter().map(Step::Record);
    let mut steps: Vec<Step> = records.by_ref().take(1).collect();
    steps.extend([reasoning(1, 0, "Which "), text(1, 0, "Nor"), text(1, 3, "th")]);
    steps.extend(records.by_ref().take(1));
    steps.extend([reasoning(2, 0, "Com"), reasoning(2, 3, "pare it")]);
    steps.extend(records.by_ref().take(1));
    steps.extend([
        reasoning(3, 0, "Compare "),
        reasoning(3, 8, "the regions."),
        text(3, 0, "North grew "),
        text(3, 11, "fastest — "),
        text(3, 23, "by 12"),
    ]);
    steps.extend(records);
    steps
}

/// The pieces that do not begin the text that follows.
fn replaced_steps() -> Vec<Step> {
    let (_, records) = story::journal("Why?", vec![story::replied("t1", "Because.", &[])]);
    let mut steps: Vec<Step> = records.into_iter().map(Step::Record).collect();
    steps.insert(1, Step::Piece(piece("t1", 1, 0, "<call>")));
    steps
}

/// The stories, each with its document.
static STORIES: LazyLock<[(Vec<Step>, Value); 3]> = LazyLock::new(|| {
    [steps(), plan_steps(), reasoning_steps()].map(|steps| {
        let document = document(&steps);
        (steps, document)
    })
});

/// The items of a client that follows the rules of the official clients. Another event is a panic.
#[derive(Debug, Clone, Default, PartialEq)]
struct Client {
    last: Option<u64>,
    items: BTreeMap<u64, ShownItem>,
    response: Option<Value>,
}

#[derive(Debug, Clone, Default, PartialEq)]
struct ShownItem {
    id: String,
    is_text: bool,
    has_part: bool,
    text: String,
    status: Option<String>,
}

impl Client {
    fn take(&mut self, event: &Value) {
        let number = event["sequence_number"].as_u64().unwrap();
        assert!(self.last.is_none_or(|last| last < number), "{event} after {:?}", self.last);
        assert!(number < 1 << 53, "{event} has a number that JSON clients read inexactly");
        assert_eq!(self.response, None, "{event} after the end");
        self.last = Some(number);
        let kind = event["type"].as_str().unwrap();
        match kind {
            "response.created" | "response.in_progress" => {
                assert_eq!(event["response"]["status"], "in_progress");
                return;
            }
            "response.completed" | "response.failed" | "response.incomplete" => {
                let open = self.items.values().filter(|item| item.status.is_none()).count();
                assert_eq!(open, 0, "{event} while items are open");
                self.response = Some(event["response"].clone());
                return;
            }
            _ => {}
        }
        let index = event["output_index"].as_u64().unwrap();
        if kind == "response.output_item.added" {
            let id = event["item"]["id"].as_str().unwrap().to_owned();
            let is_text = event["item"]["type"] == "message";
            let item = ShownItem { id, is_text, ..ShownItem::default() };
            assert_eq!(self.items.insert(index, item), None, "{event} is added again");
            return;
        }
        let item = self.items.get_mut(&index).unwrap_or_else(|| panic!("{event} has no item"));
        assert_eq!(item.status, None, "{event} after its end");
        if kind == "response.output_item.done" {
            assert_eq!(event["item"]["id"], item.id);
            item.status = Some(event["item"]["status"].as_str().unwrap().to_owned());
            if item.status.as_deref() == Some("completed") && item.is_text {
                let text = &event["item"]["content"][0]["text"];
                assert_eq!(*text, item.text, "the pieces are the whole text");
            }
            return;
        }
        assert_eq!(event["item_id"], item.id);
        assert_eq!(kind.contains("reasoning"), !item.is_text, "{event}");
        if kind.ends_with("part.added") {
            assert!(!std::mem::replace(&mut item.has_part, true), "{event} is added again");
        } else {
            assert!(item.has_part, "{event} before its part");
        }
        if kind.ends_with("text.delta") {
            assert_ne!(event["delta"], "", "an empty piece");
            item.text.push_str(event["delta"].as_str().unwrap());
        }
    }

    /// The texts of the client's complete items.
    fn texts(&self) -> Vec<&str> {
        let complete = self.items.values().filter(|item| item.is_text);
        let complete = complete.filter(|item| item.status.as_deref() == Some("completed"));
        complete.map(|item| item.text.as_str()).collect()
    }
}

/// The texts of a response.
fn texts_of(response: &Value) -> Vec<&str> {
    let items = response["output"].as_array().unwrap().iter();
    items.filter_map(|item| item["content"][0]["text"].as_str()).collect()
}

/// The steps, without the pieces that get lost.
fn keep(steps: &[Step], kept: &[bool]) -> Vec<Step> {
    let kept = kept.iter().copied().chain(std::iter::repeat(true));
    let is_kept = |(step, kept): &(&Step, bool)| *kept || !matches!(step, Step::Piece(_));
    steps.iter().zip(kept).filter(is_kept).map(|(step, _)| step.clone()).collect()
}

/// A connection that resumes after the client's last event, and the steps that are still to come.
fn resume(client: &Client, steps: &[Step]) -> (Connection, usize) {
    let after = client.last.and_then(|last| SequenceNumber::parse(&last.to_string()));
    let mut connection = connection(ResponsesApiForm::Stream { after });
    let Some(complete) = after.and_then(SequenceNumber::last_complete_record) else {
        return (connection, 0);
    };
    let is_last = |step: &Step| matches!(step, Step::Record(record) if record.number == complete);
    let place = steps.iter().position(is_last).unwrap();
    let skipped = steps[..=place].iter();
    skipped.for_each(|step| {
        if let Step::Record(record) = step {
            connection.skip_record(record);
        }
    });
    connection.resume();
    (connection, place + 1)
}

#[test]
fn events_of_a_run_open_and_close_every_item_once() {
    for (name, steps) in
        [("growth", steps()), ("plan", plan_steps()), ("reasoning", reasoning_steps())]
    {
        insta::assert_snapshot!(format!("responses_api_{name}"), sent(STREAM, &steps));
    }
}

#[test]
fn heartbeat_after_an_id_is_no_event() {
    crate::chat_completions::assert_every_event_has_data(&sent(STREAM, &steps()));
}

#[test]
fn document_has_the_texts_of_the_stream() {
    for (steps, document) in STORIES.iter() {
        let mut client = Client::default();
        events(&sent(STREAM, steps)).iter().for_each(|event| client.take(event));
        assert_eq!(client.response.as_ref(), Some(document));
        assert_eq!(client.texts(), texts_of(document));
        assert_eq!(document["status"], "completed");
    }
}

#[test]
fn text_that_differs_from_its_pieces_is_an_item_of_its_own() {
    let steps = replaced_steps();
    let all = events(&sent(STREAM, &steps));
    for cut in 0..=all.len() {
        let mut client = Client::default();
        all[..cut].iter().for_each(|event| client.take(event));
        let shows_piece = client.items.values().any(|item| item.status.is_none());
        let is_in_piece = shows_piece && !client.items.values().any(|item| item.text != "<call>");
        if client.response.is_some() || is_in_piece {
            continue;
        }
        let (mut connection, next) = resume(&client, &steps);
        for step in &steps[next..] {
            events(&send(&mut connection, step).concat())
                .iter()
                .for_each(|event| client.take(event));
        }
        assert_eq!(client.texts(), ["Because."], "cut at {cut}");
    }
}

#[test]
fn paused_run_completes_its_response_with_the_requests() {
    let asked = human_requests::asked_with_approval("Write it down?");
    let input = human_requests::input("replied t1 \"I write it down.\" file_tool(a)");
    let (_, records) = story::journal_of(asked, vec![input]);
    let end = |form, records: &[Record]| {
        let mut connection = connection(form);
        let shown = records.iter().flat_map(|record| connection.render_record(record, &[]));
        let mut frames: Vec<String> = shown.collect();
        frames.extend(connection.hand_over(None, 0));
        frames.concat()
    };
    let mut client = Client::default();
    events(&end(STREAM, &records)).iter().for_each(|event| client.take(event));
    let response = client.response.clone().unwrap();
    assert_eq!(response["status"], "completed");
    assert_eq!(response["metadata"]["run_status"], "paused");
    let texts = client.texts();
    assert_eq!(texts.first(), Some(&"I write it down."));
    assert!(texts.last().unwrap().contains("`file_tool`"), "{texts:?}");
    let document: Value = serde_json::from_str(&end(ResponsesApiForm::Document, &records)).unwrap();
    assert_eq!(document, response);
}

#[test]
fn response_of_a_run_at_work_ends_without_a_last_event() {
    let (_, records) = story::journal("Why?", vec![]);
    let mut stream = connection(STREAM);
    let mut own_document = connection(ResponsesApiForm::Document);
    for record in &records {
        stream.render_record(record, &[]);
        own_document.render_record(record, &[]);
    }
    assert_eq!(stream.hand_over(None, 0), Vec::<String>::new());
    let document: Value = serde_json::from_str(&own_document.hand_over(None, 0).concat()).unwrap();
    assert_eq!([&document["status"], &document["output"]], [&json!("in_progress"), &json!([])]);
}

#[test]
fn late_client_begins_the_response_anew_with_later_numbers() {
    let steps = steps();
    let records: Vec<&Record> = steps
        .iter()
        .filter_map(|step| if let Step::Record(record) = step { Some(record) } else { None })
        .collect();
    let mut connection = connection(STREAM);
    records[..3].iter().for_each(|record| connection.skip_record(record));
    let mut frames = connection.begin_late(0);
    frames.extend(records[3..].iter().flat_map(|record| connection.render_record(record, &[])));
    let events = events(&frames.concat());
    let mut client = Client::default();
    events.iter().for_each(|event| client.take(event));
    assert_eq!(events[0]["type"], "response.created");
    assert_eq!(client.response, Some(document(&steps)));
}

#[test]
fn numbers_stay_below_the_exact_integers_of_json_clients() {
    assert_eq!(SequenceNumber::MAX_RECORDS, 1_048_576);
    for bad in ["", "-1", "+1", "1.5", "x", " 1", "9007199254740992", "99999999999999999999"] {
        assert_eq!(SequenceNumber::parse(bad), None, "{bad:?}");
    }
    let complete =
        |text| SequenceNumber::parse(text).and_then(SequenceNumber::last_complete_record);
    assert_eq!(complete("9007199254740991"), Some(SequenceNumber::MAX_RECORDS - 2));
    assert_eq!([complete("0"), complete("4294967297")], [None, None]);
    assert_eq!(complete("8589934592"), Some(0));
}

#[test]
fn record_without_exact_numbers_is_shown_and_is_no_place_to_resume() {
    let (_, records) = story::journal("Why?", vec![]);
    let first_number = |record| {
        let mut projection = projection(STREAM);
        projection.begin_record(record);
        let frames = projection.project_entry(&records[0].entries[0]);
        let Some(Frame::Data { data, .. }) = frames.first() else { panic!("{frames:?}") };
        let event: Value = serde_json::from_str(data).unwrap();
        SequenceNumber::parse(&event["sequence_number"].to_string())
    };
    assert!(first_number(SequenceNumber::MAX_RECORDS - 1).is_some());
    assert_eq!(first_number(SequenceNumber::MAX_RECORDS), None);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    #[test]
    fn client_that_resumes_anywhere_has_the_same_texts(
        which in 0usize..3,
        losses in proptest::collection::vec(proptest::collection::vec(any::<bool>(), 40), 4),
        cuts in proptest::collection::vec(0usize..60, 3),
    ) {
        let (all, document) = &STORIES[which];
        let mut client = Client::default();
        let lasts = cuts.into_iter().map(Some).chain([None]);
        for (cut, kept) in lasts.zip(&losses) {
            if client.response.is_some() {
                break;
            }
            let (mut connection, next) = resume(&client, all);
            let steps = keep(&all[next..], kept);
            let frames: String = steps.iter().flat_map(|step| send(&mut connection, step)).collect();
            let events = events(&frames);
            let count = cut.unwrap_or(events.len()).min(events.len());
            events[..count].iter().for_each(|event| client.take(event));
        }
        prop_assert_eq!(client.texts(), texts_of(document));
        prop_assert_eq!(client.response.as_ref(), Some(document));
    }
}
