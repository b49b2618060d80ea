//! The lanes of JoyAgent's page: what tasks do at the same time, in whatever order it arrives, and what
//! becomes of texts whose attempts are void.

use djinn_core::id::Path;
use std::collections::BTreeMap;

use djinn_core::entry::{Entry, Event};
use djinn_core::id::{ChildId, MessageId};
use djinn_core::input::Input;
use djinn_core::journal::Record;
use djinn_core::tool::{ToolFailure, ToolResult};
use djinn_protocol::connection::{Connection, MissingEntry};
use djinn_protocol::preview::{EarlyEntry, Live, Preview, TextKind};
use proptest::prelude::*;
use serde_json::json;

use crate::page::{Chip, Page};
use crate::projection::{PROTOCOLS, Protocol, connection, live, page, piece, show};
use crate::story;

const TASKS: u32 = 12;

/// A run of twelve steps at once, and what each of its tasks did.
struct Told {
    records: Vec<Record>,
    tasks: BTreeMap<ChildId, Vec<Entry>>,
}

/// Each looks, writes a file and says that it is done; the last step ends first.
fn told() -> Told {
    let steps: Vec<String> = (1..=TASKS).map(|nth| format!("Step {nth}")).collect();
    let none: Vec<[u32; 0]> = steps.iter().map(|_| []).collect();
    let plan = json!({"command": "create", "title": "t", "steps": steps, "depends_on": none});
    let mut asked = story::asked_to_plan("why?");
    asked.settings.plan.max_parallel_tasks = TASKS;
    let mut inputs = vec![story::planned("t1", &plan)];
    let (journal, _) = story::journal_of(asked.clone(), inputs.clone());
    let mut tasks = BTreeMap::new();
    for task in (1..=TASKS).rev().map(|step| ChildId::for_step(step, 1)) {
        let did = vec![
            story::replied("t1", "I look.", &[("read", json!({"of": "x"}))]),
            story::failed("t1.c1", ToolFailure::Error),
            story::replied("t2", "I write.", &[("file_tool", json!({"of": "y"}))]),
            story::wrote("t2.c1", &format!("{task}.md")),
            story::replied("t3", &format!("{task} is done."), &[]),
        ];
        let of_task = journal.run().child_spec(&task).unwrap();
        let (of_task, records) = story::journal_of(of_task, did);
        let entries = records.into_iter().flat_map(|record| record.entries);
        tasks.insert(
            task.clone(),
            entries.map(|entry| entry.below(&Path::to(task.clone()))).collect(),
        );
        inputs.push(Input::ChildEnded(Box::new(of_task.run().child_result().unwrap().clone())));
    }
    inputs.push(story::planned("t2", &json!({"command": "finish"})));
    inputs.push(story::replied("summary", "All twelve are done.$$$s1.1.md", &[]));
    Told { records: story::journal_of(asked, inputs).1, tasks }
}

impl Told {
    fn show(&self, connection: &mut Connection, record: &Record) -> Vec<String> {
        let ended = record.inputs.iter().filter_map(|input| match input {
            Input::ChildEnded(ended) => self.tasks.get(&ended.report.child),
            _ => None,
        });
        let entries: Vec<Entry> = ended.flatten().cloned().collect();
        show(connection, record, &entries)
    }

    fn early(&self, task: &ChildId, nth: usize) -> Live {
        let (entry, next) = (self.tasks[task][nth].clone(), self.tasks[task].get(nth + 1));
        // Each record has a moment of its own.
        let ends_record = next.is_none_or(|next| next.at_ms != entry.at_ms);
        Live::Entry(Box::new(EarlyEntry { index: nth as u64, ends_record, entry }))
    }
}

fn said(task: &str, turn: u32, attempt: u32, kind: TextKind, text: &str) -> Live {
    Live::Preview(Preview {
        path: Path::to(ChildId::new(task).unwrap()),
        message: MessageId::for_turn(turn),
        attempt,
        kind,
        offset: 0,
        text: text.to_owned(),
        at_ms: 0,
    })
}

fn shown(protocol: Protocol, deep: bool, frames: &[String]) -> Page {
    page(protocol, deep, &frames.concat()).unwrap()
}

fn chips(page: &Page, lane: &str) -> Vec<Chip> {
    let lanes = page.lanes();
    let lane = lanes.into_iter().find(|known| known.id.ends_with(&format!(".{lane}")));
    lane.map(|lane| lane.chips).unwrap_or_default()
}

fn texts(page: &Page, lane: &str) -> Vec<String> {
    chips(page, lane).into_iter().map(|chip| chip.text).collect()
}

#[test]
fn twelve_steps_at_once_are_told_each_in_its_lane_and_once() {
    let told = told();
    for protocol in [Protocol::Ui, Protocol::Raw] {
        let mut connection = connection(protocol, true);
        let mut frames = told.show(&mut connection, &told.records[0]);
        frames.extend(told.show(&mut connection, &told.records[1]));
        for task in told.tasks.keys() {
            frames.extend(live(&mut connection, &told.early(task, 0)));
            frames
                .extend(live(&mut connection, &said(&task.to_string(), 3, 1, TextKind::Text, "s")));
        }
        for record in &told.records[2..] {
            frames.extend(told.show(&mut connection, record));
        }
        let page = shown(protocol, true, &frames);
        page.check_unlocked();
        let statuses = page.plan["stepStatus"].as_array().unwrap();
        assert!(statuses.iter().all(|status| status == "completed"), "{statuses:?}");
        for step in 1..=TASKS {
            let lane = format!("s{step}.1");
            let lane_chips = chips(&page, &lane);
            let kinds: Vec<&str> = lane_chips.iter().map(|chip| chip.kind.as_str()).collect();
            assert_eq!(
                kinds,
                [
                    "tool_thought",
                    "tool_result",
                    "tool_thought",
                    "file",
                    "tool_thought",
                    "task_summary"
                ],
                "{lane}"
            );
            assert_eq!(lane_chips[0].text, "I look.");
            assert_eq!(lane_chips[3].files, [format!("{lane}.md")]);
            assert_eq!(lane_chips[5].text, format!("{lane} is done."));
        }
    }
}

#[test]
fn a_piece_waits_for_what_stands_before_it_in_its_lane() {
    let told = told();
    let task = ChildId::for_step(4, 1);
    let mut connection = connection(Protocol::Ui, true);
    let mut frames = told.show(&mut connection, &told.records[0]);
    // Others are faster: what comes first belongs behind the file of the turn before.
    let third = said("s4.1", 3, 1, TextKind::Text, "s4.1 is ");
    assert_eq!(live(&mut connection, &third), [""; 0], "its task has not begun");
    frames.extend(told.show(&mut connection, &told.records[1]));
    for nth in [5, 3, 4, 1, 2] {
        assert_eq!(live(&mut connection, &told.early(&task, nth)), [""; 0], "{nth}");
    }
    let all = live(&mut connection, &told.early(&task, 0));
    assert!(all.last().unwrap().contains("s4.1 is "), "{all:#?}");
    frames.extend(all);
    let page = shown(Protocol::Ui, true, &frames);
    page.check();
    assert_eq!(
        texts(&page, "s4.1"),
        ["I look.", "read", "I write.", "写入文件 s4.1.md", "s4.1 is "]
    );
    // What follows is added to it.
    let Live::Preview(third) = third else { unreachable!() };
    let more = Preview { offset: 8, text: "done.".to_owned(), ..third };
    assert!(
        live(&mut connection, &Live::Preview(more)).concat().contains(r#""toolThought":"done.""#)
    );
}

#[test]
fn waiting_entries_are_bounded_and_missing_ones_are_named_until_they_come() {
    let mut told = told();
    let task = ChildId::for_step(4, 1);
    // Of its entries the two results are 700 KB each.
    for entry in told.tasks.get_mut(&task).unwrap() {
        if let Event::CallCompleted { result: outcome, .. } = &mut entry.event {
            let detail = "x".repeat(700 * 1024);
            *outcome = ToolResult::Failed { reason: ToolFailure::Error, detail };
        }
    }
    for protocol in PROTOCOLS {
        let mut connection = connection(protocol, true);
        told.show(&mut connection, &told.records[0]);
        told.show(&mut connection, &told.records[1]);
        let missing = |connection: &Connection| -> Vec<u64> {
            connection
                .missing_entries()
                .filter(|missing| missing.path == Path::to(task.clone()))
                .map(|missing| missing.nth)
                .collect()
        };
        assert_eq!(missing(&connection), [0; 0]);
        // Text of a later turn, and what stands behind the first entry.
        live(&mut connection, &said("s4.1", 2, 1, TextKind::Text, "I wr"));
        assert_eq!(missing(&connection), [0]);
        for nth in [2, 1, 5, 3, 4] {
            assert_eq!(live(&mut connection, &told.early(&task, nth)), [""; 0]);
            assert_eq!(missing(&connection), [0]);
        }
        // The second result was dropped: the first one is nearer.
        let first = live(&mut connection, &told.early(&task, 0)).concat();
        assert!(first.contains("I look.") && first.contains("I write."), "{}", first.len());
        assert_eq!(missing(&connection), [5]);
        live(&mut connection, &told.early(&task, 5));
        assert_eq!(missing(&connection), [0; 0]);
        assert!(!connection.has_ready());
        // Its end tells what was not told, and no more of it is missing.
        live(&mut connection, &said("s4.1", 4, 1, TextKind::Text, "And"));
        assert_eq!(missing(&connection), [6]);
        told.records[2..].iter().for_each(|record| drop(told.show(&mut connection, record)));
        assert_eq!(missing(&connection), [0; 0]);
    }
}

#[test]
fn nothing_is_left_of_the_text_of_a_void_attempt() {
    // The second attempt says nothing before it calls.
    let calls = || story::replied("t1", "", &[("read", json!({"of": "x"}))]);
    let end = || vec![story::returned("t1.c1", "found"), story::replied("t2", "It is 4.", &[])];
    let crash = vec![story::died(2), calls()];
    let reset = vec![story::broke_off("t1", 1), calls()];
    let quiet = vec![calls()];
    for (name, inputs) in [("a crash", crash), ("a reset", reset), ("a new call", quiet)] {
        let inputs = inputs.into_iter().chain(end()).chain([story::replied(
            "summary",
            "It is 4, as x says.",
            &[],
        )]);
        let (_, records) = story::journal("why?", inputs.collect());
        for protocol in [Protocol::Ui, Protocol::Raw] {
            let mut connection = connection(protocol, true);
            let mut frames = show(&mut connection, &records[0], &[]);
            let half = Live::Preview(piece("t1", 1, 0, "I think that"));
            frames.extend(live(&mut connection, &half));
            for record in &records[1..] {
                frames.extend(show(&mut connection, record, &[]));
                // What the first attempt wrote may be read late.
                let late = piece("t1", 1, 12, " it is 5");
                frames.extend(live(&mut connection, &Live::Preview(late)));
                let page = shown(protocol, false, &frames);
                assert_eq!(page.problems(), [""; 0], "{name}");
            }
            let page = shown(protocol, false, &frames);
            let lane = page.lanes().swap_remove(0);
            assert!(!lane.chips.iter().any(|chip| chip.text.contains("I think")), "{lane:#?}");
        }
    }
}

#[test]
fn thoughts_are_shown_and_an_attempt_that_starts_over_keeps_none_of_its_texts() {
    let inputs = vec![
        story::thought("t1", "Is it 4? Yes.", "It is 4."),
        story::replied("summary", "Four, in short.", &[]),
    ];
    let (_, records) = story::journal("why?", inputs);
    let reasons = |attempt, text: &str| Preview {
        kind: TextKind::Reasoning,
        ..piece("t1", attempt, 0, text)
    };
    for protocol in [Protocol::Ui, Protocol::Raw] {
        let mut connection = connection(protocol, true);
        let mut frames = show(&mut connection, &records[0], &[]);
        for piece in [reasons(1, "Is it"), piece("t1", 1, 0, "It is 5"), reasons(2, "Is it 4? ")] {
            frames.extend(live(&mut connection, &Live::Preview(piece)));
        }
        let page = shown(protocol, false, &frames);
        page.check();
        let first = page.lanes().swap_remove(0);
        assert!(!first.chips.iter().any(|chip| chip.text.contains('5')), "{first:#?}");
        frames.extend(live(&mut connection, &Live::Preview(piece("t1", 2, 0, "It is"))));
        for record in &records[1..] {
            frames.extend(show(&mut connection, record, &[]));
        }
        let page = shown(protocol, false, &frames);
        page.check_unlocked();
        let lane = page.lanes().swap_remove(0);
        assert_eq!(lane.chips[0].text, "Is it 4? Yes.");
    }
}

#[test]
fn all_that_the_planner_thinks_is_kept() {
    let (_, records) = story::journal_of(story::asked_to_plan("Gold?"), story::prices());
    let mut connection = connection(Protocol::Ui, true);
    let mut frames = Vec::new();
    for record in &records {
        if record.number == 4 {
            frames.extend(live(&mut connection, &Live::Preview(piece("t2", 1, 0, "I p"))));
            let page = shown(Protocol::Ui, true, &frames);
            assert_eq!(page.thought, "I plan.\n\nI p");
        }
        frames.extend(show(&mut connection, record, &story::entries_of_tasks(record)));
    }
    let page = shown(Protocol::Ui, true, &frames);
    page.check_unlocked();
    assert_eq!(page.thought, "I plan.\n\nI plan.");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]

    #[test]
    fn a_page_shows_each_task_once_and_in_its_order_however_its_entries_come(
        order in Just((0..8usize).flat_map(|nth| (0..3usize).map(move |task| (task, nth)))
            .collect::<Vec<_>>()).prop_shuffle(),
        records in proptest::collection::vec(0usize..24, 4),
    ) {
        let told = told();
        let mut connection = connection(Protocol::Ui, true);
        let mut frames = told.show(&mut connection, &told.records[0]);
        let mut at = 1;
        for (nth, (task, entry)) in order.into_iter().enumerate() {
            while records.iter().filter(|when| **when <= nth).count() >= at && at < 4 {
                frames.extend(told.show(&mut connection, &told.records[at]));
                at += 1;
            }
            let task = ChildId::for_step([12, 11, 4][task], 1);
            if entry < told.tasks[&task].len() {
                frames.extend(live(&mut connection, &told.early(&task, entry)));
            }
            let turn = u32::try_from(entry % 3).unwrap() + 1;
            let word = told.tasks[&task].iter().find_map(|entry| match &entry.event {
                Event::MessageCompleted { message, text, .. }
                    if message.turn_number() == Some(turn) => Some(text.clone()),
                _ => None,
            });
            let begins = word.unwrap_or_default().chars().take(4).collect::<String>();
            frames.extend(live(&mut connection, &said(&task.to_string(), turn, 1, TextKind::Text, &begins)));
        }
        for record in &told.records[at..] {
            frames.extend(told.show(&mut connection, record));
        }
        let page = shown(Protocol::Ui, true, &frames);
        prop_assert_eq!(page.problems(), [""; 0]);
        prop_assert!(page.unlocked);
        for lane in page.lanes() {
            let kinds: Vec<&str> = lane.chips.iter().map(|chip| chip.kind.as_str()).collect();
            let file = kinds.iter().position(|kind| *kind == "file");
            prop_assert_eq!(file, Some(3), "{:?}", kinds);
        }
    }
}

#[test]
fn a_thousand_entries_of_a_run_at_work_wait_for_the_first_one() {
    let told = told();
    let child = ChildId::for_step(4, 1);
    let mut connection = connection(Protocol::Native, true);
    told.show(&mut connection, &told.records[0]);
    told.show(&mut connection, &told.records[1]);
    let early = |index: u64| {
        let entry = told.tasks[&child][0].clone();
        Live::Entry(Box::new(EarlyEntry { index, ends_record: true, entry }))
    };
    for index in (1..1_000).rev() {
        assert_eq!(live(&mut connection, &early(index)), [""; 0]);
    }
    let shown = live(&mut connection, &early(0)).concat();
    assert_eq!(shown.matches("I look.").count(), 1_000);
}

#[test]
fn whoever_comes_knows_which_runs_are_at_work_and_misses_what_it_is_told_of() {
    let told = told();
    let child = Path::to(ChildId::for_step(4, 1));
    for protocol in PROTOCOLS {
        let mut connection = connection(protocol, true);
        assert_eq!(connection.lanes_at_work().count(), 0);
        told.show(&mut connection, &told.records[0]);
        told.show(&mut connection, &told.records[1]);
        assert_eq!(connection.lanes_at_work().count(), TASKS as usize);
        connection.expect_entry(&child, 1);
        let missing = MissingEntry { path: child.clone(), nth: 0, is_recorded: false };
        assert_eq!(connection.missing_entries().collect::<Vec<_>>(), [missing]);
        for nth in 0..2 {
            live(&mut connection, &told.early(&ChildId::for_step(4, 1), nth));
        }
        assert_eq!(connection.missing_entries().count(), 0);
        told.records[2..].iter().for_each(|record| drop(told.show(&mut connection, record)));
        assert_eq!(connection.lanes_at_work().count(), 0);
    }
}
