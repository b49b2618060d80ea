//! What tasks do is shown while they are at work, from a log that may lose it, and ends up the same.

use djinn_core::id::Path;
use std::collections::{BTreeMap, BTreeSet};

use djinn_core::entry::{Entry, Event};
use djinn_core::id::{ChildId, MessageId};
use djinn_core::input::Input;
use djinn_core::journal::{Journal, Record};
use djinn_protocol::connection::Connection;
use djinn_protocol::preview::{EarlyEntry, Live, Preview, TextKind};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::client::{NativeState, received};
use crate::projection::{PROTOCOLS, Protocol, connection, live, show};
use crate::story;

/// A planned run, and what its tasks did.
struct Told {
    records: Vec<Record>,
    tasks: BTreeMap<ChildId, Vec<Entry>>,
}

/// Two tasks at once, the second of which ends first; then the planner is done. The roles of a task's
/// tools are known when it has used one of them.
fn told() -> Told {
    let plan = json!({"command": "create", "title": "t", "steps": ["a", "b"],
        "depends_on": [[], []]});
    let mut asked = story::asked_to_plan("why?");
    asked.settings.plan.employees = true;
    let (mut journal, first) = Journal::open(asked, 1, story::write(0), 0);
    let mut records = vec![first];
    let mut tell = |journal: &mut Journal, input: Input| {
        let n = journal.next_number();
        let (next, record) = journal.decide_record(vec![input], 1, story::write(n), 0).unwrap();
        *journal = next;
        records.push(record);
    };
    tell(&mut journal, story::planned("t1", &plan));
    let mut tasks = BTreeMap::new();
    for task in [ChildId::for_step(2, 1), ChildId::for_step(1, 1)] {
        let asked = journal.run().child_spec(&task).unwrap();
        let inputs = vec![
            story::replied("t1", "I look.", &[("read", json!({"of": "x"}))]),
            story::returned("t1.c1", "found"),
            story::names(&json!({"file_tool": format!("Clerk of {task}")}).to_string()),
            story::broke_off("t2", 1),
            story::replied("t2", "I write.", &[("file_tool", json!({"of": "y"}))]),
            story::wrote("t2.c1", &format!("{task}.md")),
            story::replied("t3", &format!("{task} is done."), &[]),
        ];
        let (of_task, did) = story::journal_of(asked, inputs);
        let entries: Vec<Entry> = did.into_iter().flat_map(|record| record.entries).collect();
        assert_eq!(of_task.entry_count(), entries.len() as u64);
        let ended = of_task.run().child_result().unwrap().clone();
        tasks.insert(
            task.clone(),
            entries.into_iter().map(|e| e.below(&Path::to(task.clone()))).collect(),
        );
        tell(&mut journal, Input::ChildEnded(Box::new(ended)));
    }
    tell(&mut journal, story::planned("t2", &json!({"command": "finish"})));
    tell(&mut journal, story::replied("summary", "It is done.$$$s1.1.md", &[]));
    Told { records, tasks }
}

impl Told {
    /// A record as whoever shows it does, with what its tasks did.
    fn show(&self, connection: &mut Connection, record: &Record) -> Vec<String> {
        let ended = record.entries.iter().filter_map(|entry| match &entry.event {
            Event::ChildEnded { child, .. } => self.tasks.get(child),
            _ => None,
        });
        let entries: Vec<Entry> = ended.flatten().cloned().collect();
        show(connection, record, &entries)
    }

    fn early(&self, task: usize, nth: usize) -> Option<Live> {
        let (_, entries) = self.tasks.iter().nth(task)?;
        let entry = entries.get(nth)?.clone();
        // Each record has a moment of its own.
        let ends_record = entries.get(nth + 1).is_none_or(|next| next.at_ms != entry.at_ms);
        Some(Live::Entry(Box::new(EarlyEntry { index: nth as u64, ends_record, entry })))
    }
}

/// A piece of what a task says first, as the live log has it for minutes.
fn piece(told: &Told, task: usize) -> Live {
    Live::Preview(Preview {
        path: told.tasks.keys().nth(task).cloned().map(Path::to).unwrap_or_default(),
        message: MessageId::for_turn(1),
        attempt: 1,
        kind: TextKind::Text,
        offset: 0,
        text: "I lo".to_owned(),
        at_ms: 0,
    })
}

/// What a client ends up with, whatever the order was.
pub(crate) fn folded(protocol: Protocol, frames: &str) -> String {
    let frames = received(frames);
    if protocol == Protocol::Native {
        let mut state = NativeState::default();
        frames.iter().for_each(|frame| state.take(frame));
        state.entries.sort_by_key(|entry| entry["id"].to_string());
        return format!("{state:#?}");
    }
    // What is whole replaces what came before under its id; the UI's lane is part of it, the place in
    // that lane is not.
    let mut events: BTreeMap<String, Value> = BTreeMap::new();
    for frame in &frames {
        let mut event: Value = serde_json::from_str(&frame.data).unwrap();
        if protocol == Protocol::Ui {
            event = event["resultMap"]["eventData"].take();
            event["taskOrder"].take();
            event["messageOrder"].take();
        }
        events.insert(event["messageId"].as_str().unwrap().to_owned(), event);
    }
    format!("{events:#?}")
}

#[test]
fn a_tools_events_carry_its_role_once_that_is_known() {
    let told = told();
    for protocol in PROTOCOLS {
        let mut connection = connection(protocol, true);
        let frames: Vec<Vec<String>> =
            told.records.iter().map(|record| told.show(&mut connection, record)).collect();
        let both = frames[2].concat() + &frames[3].concat();
        let carries = |what: &str| received(&both).iter().filter(|f| f.data.contains(what)).count();
        for task in ["s1.1", "s2.1"] {
            assert_eq!(carries(&format!("Clerk of {task}")), 1, "{protocol:?}");
        }
        let name = format!("employees_{protocol:?}").to_lowercase();
        insta::assert_snapshot!(name, frames[2].concat());
    }
}

#[test]
fn an_entry_is_shown_early_once_and_the_next_one_only_after_it() {
    let told = told();
    let mut connection = connection(Protocol::Native, true);
    let early = |connection: &mut Connection, task, nth| {
        live(connection, &told.early(task, nth).unwrap()).concat()
    };
    // Nobody knows the task yet: what it does waits for the record that begins it.
    told.show(&mut connection, &told.records[0]);
    assert_eq!(early(&mut connection, 0, 0), "");
    let first = told.show(&mut connection, &told.records[1]).pop().unwrap();
    assert!(first.contains(r#""id":"s1.1.t1","path":"s1.1""#), "{first}");
    // The newest complete record is the cursor: who comes back is told of the task at its end.
    assert!(first.contains(&format!("id: {}:1\n", story::run_id())), "{first}");
    assert_eq!(early(&mut connection, 0, 0), "", "it comes again");
    assert_eq!(early(&mut connection, 0, 2), "", "the one before has not come");
    let late = early(&mut connection, 0, 1);
    assert!(late.contains("call.requested") && late.contains("call.completed"), "{late}");
    // The end of the other task shows none of it.
    let other = told.show(&mut connection, &told.records[2]).concat();
    assert!(other.contains(r#""id":"s2.1.t1""#) && !other.contains("s1.1.t1"), "{other}");
    assert_eq!(early(&mut connection, 1, 0), "", "it has ended");
    let rest = told.show(&mut connection, &told.records[3]).concat();
    assert!(!rest.contains(r#""id":"s1.1.t1.c1.result""#) && rest.contains(r#""id":"s1.1.t2""#));
}

#[test]
fn a_client_that_comes_back_after_a_task_is_shown_no_piece_of_it() {
    let told = told();
    for protocol in PROTOCOLS {
        let mut connection = connection(protocol, true);
        // Record 2 is the end of the second task.
        told.records[..3].iter().for_each(|record| connection.skip_record(record));
        connection.resume();
        assert_eq!(live(&mut connection, &piece(&told, 1)), [""; 0], "{protocol:?}");
        assert_eq!(live(&mut connection, &piece(&told, 0)).len(), 1, "{protocol:?}: it is at work");
    }
}

/// What happens next: the next entry of a task arrives, or is lost; so does a piece of its text,
/// soon or late; the next record is shown; the client is cut off and comes back.
#[derive(Debug, Clone)]
enum Step {
    Early { task: usize, lost: bool },
    Piece { task: usize },
    Record,
    Cut,
}

fn any_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => (0usize..2, prop::bool::weighted(0.1))
            .prop_map(|(task, lost)| Step::Early { task, lost }),
        2 => (0usize..2).prop_map(|task| Step::Piece { task }),
        2 => Just(Step::Record),
        1 => Just(Step::Cut),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, ..ProptestConfig::default() })]

    #[test]
    fn a_client_ends_up_with_the_same_whatever_the_live_log_loses(
        steps in proptest::collection::vec(any_step(), 0..60),
        protocol in proptest::sample::select(PROTOCOLS.to_vec()),
    ) {
        let told = told();
        let mut whole = connection(protocol, true);
        let late: String =
            told.records.iter().flat_map(|record| told.show(&mut whole, record)).collect();

        let mut client = connection(protocol, true);
        let (mut frames, mut of_connection) = (String::new(), String::new());
        let (mut shown, mut at) = (0, [0usize; 2]);
        for step in steps.into_iter().chain(told.records.iter().map(|_| Step::Record)) {
            match step {
                Step::Early { task, lost } => {
                    let early = told.early(task, at[task]).filter(|_| !lost);
                    of_connection.extend(early.iter().flat_map(|early| live(&mut client, early)));
                    at[task] += 1;
                }
                Step::Piece { task } => of_connection.extend(live(&mut client, &piece(&told, task))),
                Step::Record => {
                    let Some(record) = told.records.get(shown) else { continue };
                    of_connection.extend(told.show(&mut client, record));
                    shown += 1;
                }
                Step::Cut => {
                    client = connection(protocol, true);
                    told.records[..shown].iter().for_each(|record| client.skip_record(record));
                    if shown > 0 {
                        client.resume();
                    }
                    at = [0; 2];
                    prop_assert!(is_told_once(protocol, &of_connection));
                    frames.push_str(&std::mem::take(&mut of_connection));
                }
            }
        }
        prop_assert!(is_told_once(protocol, &of_connection));
        frames.push_str(&of_connection);
        prop_assert_eq!(folded(protocol, &frames), folded(protocol, &late));
    }
}

/// Whether no entry was sent twice on one connection.
pub(crate) fn is_told_once(protocol: Protocol, frames: &str) -> bool {
    if protocol != Protocol::Native {
        return true;
    }
    let id = |data: &str| serde_json::from_str::<Value>(data).unwrap()["id"].to_string();
    let entries = received(frames);
    let is_piece = |event: Option<&str>| matches!(event, Some("preview" | "progress"));
    let entries = entries.iter().filter(|frame| !is_piece(frame.event.as_deref()));
    let ids: Vec<String> = entries.map(|frame| id(&frame.data)).collect();
    ids.iter().collect::<BTreeSet<_>>().len() == ids.len()
}
