//! A report while it is written, as JoyAgent's clients see it.

use std::collections::BTreeMap;

use djinn_core::agent::{AgentSpec, AnswerFormat, CallBefore};
use djinn_core::entry::{Entry, Event};
use djinn_core::id::{MessageId, Path, RunId};
use djinn_core::input::Input;
use djinn_core::language::Language;
use djinn_core::tool::EffectClass;
use djinn_protocol::connection::Connection;
use djinn_protocol::joyagent::Translator;
use djinn_protocol::link::SessionLinks;
use djinn_protocol::preview::{EarlyEntry, Live, Preview, TextKind};
use serde_json::{Value, json};

use crate::client::received;
use crate::projection::{PROTOCOLS, Protocol, connection, live, page, show};
use crate::story;
use crate::tree::{Told, helper};

const FIRST: &str = "<h1>Sales</h1><p>East gr";
const SECOND: &str = "ew.</p>";

/// The agent of reports.
pub(crate) fn writer() -> AgentSpec {
    AgentSpec {
        name: "report_tool".to_owned(),
        tools: Vec::new(),
        before: vec![CallBefore::Name("collect".to_owned())],
        after: Some("render".to_owned()),
        answer: AnswerFormat::File,
        max_steps: 4,
        ..helper()
    }
}

/// A call of it.
pub(crate) fn call() -> (&'static str, Value) {
    let arguments = json!({
        "fileType": "html", "task": "Write about sales.", "fileName": "sales.html", "fileDescription": "Sales",
    });
    ("report_tool", arguments)
}

/// The same reply where reports are offered, too.
pub(crate) fn offer(input: Input) -> Input {
    let Input::ModelReplied(mut replied) = input else { unreachable!("no reply") };
    let kinds = [
        ("report_tool", EffectClass::Agent),
        ("collect", EffectClass::Read),
        ("render", EffectClass::Idempotent),
    ];
    let like = replied.offered[0].clone();
    replied.offered.extend(kinds.map(|(name, effect)| {
        let (name, visible) = (name.to_owned(), effect == EffectClass::Agent);
        djinn_core::tool::OfferedTool { name, effect, visible, ..like.clone() }
    }));
    Input::ModelReplied(replied)
}

/// Its run, whose first reply is cut off.
pub(crate) fn write(told: &mut Told) {
    inputs().into_iter().for_each(|input| told.tell(input));
}

/// What its run is told.
pub(crate) fn inputs() -> Vec<Input> {
    let document = format!("{FIRST}{SECOND}");
    vec![
        offer(story::replied("before", "", &[("collect", json!({}))])),
        story::returned("before.c1", "# sales.csv"),
        story::cut_off("t1", FIRST),
        story::broke_off("t2", 1),
        story::replied("t2", SECOND, &[]),
        offer(story::replied("after", &document, &[("render", json!({}))])),
        story::wrote("after.c1", "sales.html"),
    ]
}

fn piece(message: &str, attempt: u32, offset: usize, text: &str) -> Live {
    Live::Preview(Preview {
        path: "t1.c1".parse::<Path>().unwrap(),
        message: MessageId::new(message).unwrap(),
        attempt,
        kind: TextKind::Text,
        offset: offset as u64,
        text: text.to_owned(),
        at_ms: 1_000,
    })
}

/// What its run says, as the live log brings it.
fn early_entries(told: &Told) -> Vec<Live> {
    let path: Path = "t1.c1".parse().unwrap();
    let mut early = Vec::new();
    for record in &told.1 {
        for (nth, entry) in record.entries.iter().enumerate() {
            let ends_record = nth + 1 == record.entries.len();
            let entry = entry.clone().below(&path);
            early.push(EarlyEntry { index: early.len() as u64, ends_record, entry });
        }
    }
    early.into_iter().map(|entry| Live::Entry(Box::new(entry))).collect()
}

/// A run that calls it, and what is done below.
fn told() -> (Told, Told, Vec<Entry>) {
    let mut asked = story::asked("Write about sales.");
    asked.settings.budget.steps = 200;
    let mut root = Told::of(asked);
    root.tell(offer(story::replied("t1", "I have it written.", &[call()])));
    let mut child = root.called("t1.c1", writer());
    write(&mut child);
    root.tell(child.end());
    root.tell(story::replied("t2", "It is in sales.html.", &[]));
    let path: Path = "t1.c1".parse().unwrap();
    let of_record = |record: &djinn_core::journal::Record| record.entries.clone();
    let below = child.1[1..].iter().flat_map(of_record).map(|entry| entry.below(&path)).collect();
    (root, child, below)
}

/// The whole stream of a client that was there from the beginning.
fn stream(protocol: Protocol) -> String {
    let (root, child, below) = told();
    let mut connection = connection(protocol, true);
    let mut frames = Vec::new();
    let mut records = root.1.iter();
    for record in records.by_ref().take(2) {
        frames.extend(show(&mut connection, record, &[]));
    }
    let mut early = early_entries(&child).into_iter();
    let mut next = |connection: &mut Connection, count: usize| -> Vec<String> {
        early.by_ref().take(count).flat_map(|entry| live(connection, &entry)).collect()
    };
    // What was collected.
    frames.extend(next(&mut connection, 2));
    for (message, attempt, offset, text) in [("t1", 1, 0, &FIRST[..9]), ("t1", 1, 9, &FIRST[9..])] {
        frames.extend(live(&mut connection, &piece(message, attempt, offset, text)));
    }
    frames.extend(next(&mut connection, 1));
    frames.extend(live(&mut connection, &piece("t2", 1, 0, "n wro")));
    frames.extend(next(&mut connection, 1));
    frames.extend(live(&mut connection, &piece("t2", 2, 0, SECOND)));
    frames.extend(next(&mut connection, 100));
    for (nth, record) in records.enumerate() {
        let below = if nth == 0 { below.as_slice() } else { &[] };
        frames.extend(show(&mut connection, record, below));
    }
    frames.concat()
}

#[test]
fn a_report_is_shown_as_it_is_written_and_then_whole_with_its_file() {
    for protocol in PROTOCOLS {
        let frames = stream(protocol);
        if let Some(page) = page(protocol, false, &frames) {
            page.check_unlocked();
        }
        let name = format!("report_{protocol:?}").to_lowercase();
        insta::assert_snapshot!(name, frames);
    }
}

#[test]
fn a_page_has_the_report_at_every_moment_and_nothing_of_a_failed_attempt_in_the_end() {
    let frames = received(&stream(Protocol::Raw));
    let mut shown = String::new();
    let mut texts = Vec::new();
    for frame in &frames {
        let event: Value = serde_json::from_str(&frame.data).unwrap();
        if event["messageType"] != "html" {
            continue;
        }
        let data = event["resultMap"]["data"].as_str().unwrap();
        if event["resultMap"]["isFinal"] == true {
            shown.clear();
        }
        shown.push_str(data);
        texts.push(shown.clone());
    }
    let whole = format!("{FIRST}{SECOND}");
    let wrong = format!("{FIRST}n wro");
    let expected = [&FIRST[..9], FIRST, &wrong, FIRST, &whole, &whole].map(str::to_owned);
    assert_eq!(texts, expected);
}

/// The newest event of each message, as a client of the raw protocol keeps them.
fn newest_events(entries: &[Entry]) -> BTreeMap<String, Value> {
    let asked = story::asked("");
    let links = SessionLinks::new("http://localhost:9000", asked.session.clone());
    let run = RunId::new("run_00000000000000000000000000000000").unwrap();
    let mut translator = Translator::new(run, asked.request, links, Language::En);
    let events = entries.iter().flat_map(|entry| translator.translate_entry(entry));
    let events: Vec<_> = events.map(|event| json!(event)).collect();
    events
        .into_iter()
        .map(|event| (event["messageId"].as_str().unwrap().to_owned(), event))
        .filter(|(_, event)| event["resultMap"]["data"] != "")
        .collect()
}

#[test]
fn what_is_shown_late_of_a_report_is_a_part_of_it_all_the_same() {
    let (root, _, below) = told();
    let of_root: Vec<Entry> = root.1.iter().flat_map(|record| record.entries.clone()).collect();
    let is_end = |entry: &Entry| matches!(entry.event, Event::ChildEnded { .. });
    let end = of_root.iter().position(is_end).unwrap();
    let (before, after) = of_root.split_at(end);
    let expected = newest_events(&[before, &below, after].concat());
    let report = &expected.iter().find(|(id, _)| id.ends_with(".report")).unwrap().1["resultMap"];
    assert_eq!(report["data"], format!("{FIRST}{SECOND}"));
    assert_eq!(report["fileInfo"][0]["fileName"], "sales.html");
    // The end of the run below, and what came of the call, come first.
    for late in 0..=below.len() {
        let (early, late) = below.split_at(late);
        let shown = newest_events(&[before, early, &after[..2], late, &after[2..]].concat());
        assert_eq!(shown, expected, "after {} entries", early.len());
    }
}
