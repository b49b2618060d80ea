//! The projections: what each protocol's client is sent, and that a client who comes back at any
//! cursor ends up where one who never left does.

use std::time::Duration;

use djinn_core::entry::Entry;
use djinn_core::error_code::{ErrorCode, Failure};
use djinn_core::id::Path;
use djinn_core::id::{ChildId, MessageId};
use djinn_core::journal::Record;
use djinn_core::language::Language;
use djinn_core::settings::SummaryPolicy;
use djinn_protocol::connection::{Connection, Projection};
use djinn_protocol::cursor::Cursor;
use djinn_protocol::joyagent::{JoyAgent, Translator};
use djinn_protocol::joyagent_ui::{JoyAgentUi, refusal_frame};
use djinn_protocol::link::SessionLinks;
use djinn_protocol::native::NativeProjection;
use djinn_protocol::preview::{Live, Preview, TextKind};
use proptest::prelude::*;
use serde_json::json;

use crate::client::{NativeState, Received, UiState, received};
use crate::page::Page;
use crate::story::{self, run_id};

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Protocol {
    Raw,
    Ui,
    Native,
}

pub(crate) const PROTOCOLS: [Protocol; 3] = [Protocol::Raw, Protocol::Ui, Protocol::Native];

/// Something that happens to a connection, in order.
#[derive(Debug, Clone)]
pub(crate) enum Step {
    Piece(Preview),
    Record(Record),
    Heartbeat,
}

pub(crate) fn connection(protocol: Protocol, previews: bool) -> Connection {
    let asked = story::asked("");
    let links = SessionLinks::new("http://localhost:9000", asked.session.clone());
    let translator = Translator::new(run_id(), asked.request, links.clone(), Language::En);
    let projection: Box<dyn Projection> = match protocol {
        Protocol::Raw => Box::new(JoyAgent::new(translator)),
        Protocol::Ui => Box::new(JoyAgentUi::new(translator)),
        Protocol::Native => Box::new(NativeProjection::new(links)),
    };
    Connection::new(run_id(), projection, previews)
}

/// The frames of what comes early, and of what waited for it.
pub(crate) fn live(connection: &mut Connection, live: &Live) -> Vec<String> {
    let mut frames = connection.render_live(live);
    frames.extend(waited(connection));
    frames
}

/// The frames of a record, and of what waited for it.
pub(crate) fn show(connection: &mut Connection, record: &Record, tasks: &[Entry]) -> Vec<String> {
    let mut frames = connection.render_record(record, tasks);
    frames.extend(waited(connection));
    frames
}

fn waited(connection: &mut Connection) -> Vec<String> {
    std::iter::from_fn(|| connection.render_next_ready()).flatten().collect()
}

pub(crate) fn send(connection: &mut Connection, step: &Step) -> Vec<String> {
    match step {
        Step::Piece(piece) => live(connection, &Live::Preview(piece.clone())),
        Step::Record(record) => show(connection, record, &story::entries_of_tasks(record)),
        Step::Heartbeat => vec![connection.heartbeat()],
    }
}

pub(crate) fn piece(message: &str, attempt: u32, offset: usize, text: &str) -> Preview {
    Preview {
        path: Path::default(),
        message: MessageId::new(message).unwrap(),
        attempt,
        kind: TextKind::Text,
        offset: offset as u64,
        text: text.to_owned(),
        at_ms: 1_000,
    }
}

/// The story of most tests with its text arriving in pieces, an attempt that fails and a heartbeat.
pub(crate) fn steps() -> Vec<Step> {
    let mut inputs = story::growth();
    inputs.insert(0, story::broke_off("t1", 1));
    inputs.insert(4, story::died(2));
    let (_, records) = story::journal("Which region grew fastest?", inputs);
    let mut steps = vec![Step::Record(records[0].clone())];
    steps.extend([
        Step::Piece(piece("t1", 1, 0, "I rea")),
        Step::Heartbeat,
        Step::Record(records[1].clone()),
        Step::Piece(piece("t1", 2, 0, "I read ")),
        Step::Piece(piece("t1", 2, 7, "the sales.")),
    ]);
    steps.extend(records[2..5].iter().cloned().map(Step::Record));
    steps.push(Step::Piece(piece("t2", 1, 0, "North grew")));
    steps.push(Step::Record(records[5].clone()));
    steps.push(Step::Piece(piece("t2", 2, 0, "North ")));
    let (answer, before) = records[6..].split_last().unwrap();
    steps.extend(before.iter().cloned().map(Step::Record));
    steps.push(Step::Piece(piece("t3", 1, 0, "North grew fastest,")));
    steps.push(Step::Piece(piece("t3", 1, 19, " by 12 %")));
    steps.push(Step::Record(answer.clone()));
    steps
}

#[test]
fn only_our_own_protocol_tells_that_older_turns_were_summed_up() {
    let mut asked = story::asked("why?");
    story::with_history(&mut asked, 2_000, 1_000);
    asked.settings.context.keep_turns = 1;
    let (_, records) = story::journal_of(
        asked,
        vec![story::broke_off("t1.compact", 1), story::replied("t1.compact", "Notes.", &[])],
    );
    assert_eq!(records[2].entries[0].id.to_string(), "t1.compact");
    for protocol in PROTOCOLS {
        let mut connection = connection(protocol, true);
        let frames: Vec<String> =
            records.iter().flat_map(|record| connection.render_record(record, &[])).collect();
        let told = frames.iter().filter(|frame| frame.contains("compact")).count();
        assert_eq!(told, if protocol == Protocol::Native { 2 } else { 0 }, "{frames:#?}");
        assert_eq!(connection.next_record_number(), 3);
    }
}

/// What JoyAgent's page makes of a stream in one of its protocols.
pub(crate) fn page(protocol: Protocol, deep: bool, stream: &str) -> Option<Page> {
    let frames = received(stream);
    let data = frames.iter().map(|frame| frame.data.as_str());
    match protocol {
        Protocol::Native => None,
        Protocol::Ui => Some(Page::of_ui(deep, data)),
        Protocol::Raw => Some(Page::of_raw(deep, data)),
    }
}

fn stream(protocol: Protocol, previews: bool, steps: &[Step]) -> String {
    let mut connection = connection(protocol, previews);
    steps.iter().flat_map(|step| send(&mut connection, step)).collect()
}

#[test]
fn each_protocol_shows_the_story_in_its_own_words() {
    for protocol in PROTOCOLS {
        let name = format!("{protocol:?}").to_lowercase();
        let stream = stream(protocol, true, &steps());
        if let Some(page) = page(protocol, false, &stream) {
            page.check_unlocked();
        }
        insta::assert_snapshot!(name, stream);
    }
}

/// A plan of two steps at once, whose tasks write at the same time, and a summary.
pub(crate) fn plan_steps() -> Vec<Step> {
    let (_, records) = story::journal_of(story::asked_to_plan("Gold or silver?"), story::prices());
    let within = |task: &str, piece: Preview| {
        Step::Piece(Preview { path: Path::to(ChildId::new(task).unwrap()), ..piece })
    };
    let mut records = records.into_iter().map(Step::Record);
    let mut steps: Vec<Step> = records.by_ref().take(1).collect();
    steps.push(Step::Piece(piece("t1", 1, 0, "I pl")));
    steps.extend(records.by_ref().take(1));
    steps.extend([
        within("s1.1", piece("t1", 1, 0, "Gold ")),
        within("s2.1", piece("t1", 1, 0, "Silver ")),
        within("s1.1", piece("t1", 1, 5, "is dear.")),
    ]);
    steps.extend(records);
    steps
}

#[test]
fn each_protocol_shows_a_plan_and_a_group_a_task() {
    for protocol in PROTOCOLS {
        let name = format!("plan_{protocol:?}").to_lowercase();
        let stream = stream(protocol, true, &plan_steps());
        if let Some(page) = page(protocol, true, &stream) {
            page.check_unlocked();
        }
        insta::assert_snapshot!(name, stream);
    }
}

#[test]
fn without_previews_a_client_gets_the_same_events_whole() {
    for protocol in PROTOCOLS {
        let frames = received(&stream(protocol, false, &steps()));
        let partial = |frame: &&Received| {
            frame.event.as_deref() == Some("preview") || frame.data.contains("\"isFinal\":false")
        };
        assert_eq!(frames.iter().find(partial), None, "{protocol:?}");
        assert_eq!(
            fold(protocol, &frames),
            fold(protocol, &received(&stream(protocol, true, &steps())))
        );
    }
}

#[test]
fn a_hand_over_says_how_to_go_on_in_each_protocol() {
    for protocol in PROTOCOLS {
        let handed_over = |delay| {
            let mut connection = connection(protocol, true);
            let steps = steps();
            let before = steps[..5].iter().flat_map(|step| send(&mut connection, step));
            let before: String = before.collect();
            (before, connection.hand_over(delay, 9_000).concat())
        };
        let name = format!("hand_over_{protocol:?}").to_lowercase();
        let (before, last) = handed_over(None);
        // Only clients that come back are told when.
        let (_, delayed) = handed_over(Some(Duration::from_secs(10)));
        let retry = if protocol == Protocol::Native { "retry: 10000\n" } else { "" };
        assert_eq!(delayed, format!("{retry}{last}"));
        if let Some(page) = page(protocol, false, &(before + &last)) {
            page.check();
            assert_eq!(page.unlocked, protocol == Protocol::Ui, "the raw one can come back");
        }
        insta::assert_snapshot!(name, last);
    }
}

#[test]
fn a_summary_that_broke_off_leaves_nothing_with_a_client_that_came_back() {
    let mut asked = story::asked("Which region grew fastest?");
    asked.settings.summary_policy = Some(SummaryPolicy::Always);
    let mut inputs = story::growth();
    let end = story::replied("summary", "North grew fastest, by 12 %.$$$growth.md", &[]);
    inputs.extend([story::broke_off("summary", 1), end]);
    let (_, records) = story::journal_of(asked, inputs);
    let [known @ .., reset, end] = &records[..] else { panic!("{records:?}") };
    for protocol in [Protocol::Raw, Protocol::Ui] {
        let mut connection = connection(protocol, true);
        known.iter().for_each(|record| connection.skip_record(record));
        connection.resume();
        assert_eq!(connection.render_record(reset, &[]), Vec::<String>::new(), "{protocol:?}");
        assert_eq!(connection.render_record(end, &[]).len(), 1);
    }
}

#[test]
fn a_refusal_unlocks_the_ui() {
    let failure = Failure::new(ErrorCode::SessionBusy, run_id().to_string());
    let stream = refusal_frame("r1", &failure, Language::En, 5);
    let mut ui = UiState::default();
    ui.take(&received(&stream)[0]);
    assert!(ui.finished);
    page(Protocol::Ui, false, &stream).unwrap().check_unlocked();
    insta::assert_snapshot!(stream);
}

#[test]
fn failures_and_usage_reach_the_final_event() {
    let (_, records) = story::journal(
        "why?",
        vec![story::replied("t1", "I look.", &[("read", json!({"of": "a"}))]), story::stop()],
    );
    let steps: Vec<_> = records.into_iter().map(Step::Record).collect();
    let last = received(&stream(Protocol::Ui, true, &steps)).pop().unwrap();
    let envelope: serde_json::Value = serde_json::from_str(&last.data).unwrap();
    assert_eq!(envelope["finished"], true);
    assert_eq!(envelope["useTokens"], 110);
    assert_eq!(envelope["useTimes"], 1);
    let text = envelope["response"].as_str().unwrap();
    assert!(text.starts_with("Stopped."), "{text}");
}

#[derive(Debug, PartialEq)]
enum Folded {
    Ui(UiState),
    Native(NativeState),
}

fn fold(protocol: Protocol, frames: &[Received]) -> Folded {
    let mut ui = UiState::default();
    let mut native = NativeState::default();
    for frame in frames.iter().filter(|frame| frame.data != "heartbeat") {
        match protocol {
            Protocol::Ui => ui.take(frame),
            Protocol::Raw => ui.raw(&serde_json::from_str(&frame.data).unwrap()),
            Protocol::Native => native.take(frame),
        }
    }
    match protocol {
        Protocol::Native => Folded::Native(native.by_id()),
        Protocol::Raw | Protocol::Ui => Folded::Ui(ui.by_id()),
    }
}

/// A cursor as a client sends it back: the last id it got.
pub(crate) fn last_id(frames: &[Received]) -> Option<Cursor> {
    let id = frames.iter().rev().find_map(|frame| frame.id.as_deref())?;
    Some(Cursor::parse(id).unwrap())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn coming_back_at_any_cursor_gives_the_state_of_never_having_left(
        cuts in proptest::collection::vec(0usize..60, 1..6),
        protocol in proptest::sample::select(PROTOCOLS.to_vec()),
        planned in any::<bool>(),
    ) {
        let steps = if planned { plan_steps() } else { steps() };
        let records: Vec<Record> = steps.iter().filter_map(|step| match step {
            Step::Record(record) => Some(record.clone()),
            Step::Piece(_) | Step::Heartbeat => None,
        }).collect();
        let uncut = received(&stream(protocol, true, &steps));
        let mut frames: Vec<Received> = Vec::new();
        let mut from = 0;
        for cut in cuts.into_iter().map(Some).chain([None]) {
            // The client comes back with its last cursor; the run has gone on meanwhile.
            let mut connection = connection(protocol, true);
            if let Some(cursor) = last_id(&frames) {
                let known = usize::try_from(cursor.record).unwrap() + 1;
                records[..known].iter().for_each(|record| connection.skip_record(record));
                connection.resume();
            }
            let happened = steps[..from].iter().filter(|step| matches!(step, Step::Record(_)));
            let mut sent: Vec<String> = Vec::new();
            for step in happened.chain(&steps[from..]) {
                sent.extend(send(&mut connection, step));
            }
            let arrived = received(&sent.concat());
            let kept = cut.map_or(arrived.len(), |cut| cut.min(arrived.len()));
            frames.extend_from_slice(&arrived[..kept]);
            from = (from + kept).min(steps.len());
        }
        let ids: Vec<u64> = frames.iter().filter_map(|frame| frame.id.as_deref())
            .map(|id| Cursor::parse(id).unwrap().record).collect();
        prop_assert!(ids.is_sorted(), "cursors went back: {ids:?}");
        prop_assert_eq!(fold(protocol, &frames), fold(protocol, &uncut));
    }

    #[test]
    fn a_frame_carries_the_newest_record_that_is_complete(
        protocol in proptest::sample::select(PROTOCOLS.to_vec()),
        planned in any::<bool>(),
    ) {
        let mut connection = connection(protocol, true);
        let mut complete: Option<u64> = None;
        for step in if planned { plan_steps() } else { steps() } {
            let frames = received(&send(&mut connection, &step).concat());
            let ids: Vec<Option<u64>> = frames.iter()
                .map(|frame| frame.id.as_deref().map(|id| Cursor::parse(id).unwrap().record))
                .collect();
            match &step {
                Step::Piece(_) | Step::Heartbeat => {
                    prop_assert!(ids.iter().all(|id| *id == complete));
                }
                Step::Record(record) => {
                    if let Some((last, before)) = ids.split_last() {
                        prop_assert!(before.iter().all(|id| *id == complete));
                        prop_assert_eq!(*last, Some(record.number));
                    }
                    complete = Some(record.number);
                }
            }
        }
    }
}
