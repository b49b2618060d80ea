//! What the clients of each protocol are sent when people are asked, and when they have answered.

use djinn_core::input::Input;
use serde_json::json;

use crate::projection::{PROTOCOLS, Protocol, connection, page};
use crate::story::{self, confirm, human_requests, top_up};

#[test]
fn each_protocol_asks_people_in_its_own_words() {
    let told = |lines: &[&str], input: fn(&str) -> Input| -> Vec<Input> {
        lines.iter().map(|line| input(line)).collect()
    };
    let calls = [
        "replied t1 \"I write it down.\" file_tool(a)",
        "modify t1.c1",
        "interrupted t1.c1",
        "confirm t1.c1.again1",
        "returned t1.c1",
        "model_interrupted t2",
        "halt t2.again1",
    ];
    let plan = [
        "plans t1 create a; publish b<",
        "task_done s1.1",
        "say s1.1.result",
        "reword steps.s2",
        "task_done s1.2",
        "confirm s1.2.result",
        "stop",
    ];
    let budget = [
        "replied t1 \"\" read(a)",
        "returned t1.c1",
        "replied t2 \"\" read(b)",
        "returned t2.c1",
        "skip budget.1",
    ];
    let stories = [
        ("budget", top_up::asked("How far?"), told(&budget, top_up::input)),
        (
            "calls",
            human_requests::asked_with_approval("Write it down?"),
            told(&calls, human_requests::input),
        ),
        ("plan", confirm::asked("Gold or silver?"), told(&plan, confirm::input)),
    ];
    for (story, asked, inputs) in stories {
        let (_, records) = story::journal_of(asked, inputs);
        for protocol in PROTOCOLS {
            let mut connection = connection(protocol, true);
            let frames = records.iter().flat_map(|record| {
                connection.render_record(record, &story::entries_of_tasks(record))
            });
            let frames: String = frames.collect();
            if let Some(page) = page(protocol, story == "plan", &frames) {
                page.check();
            }
            let name = format!("asks_{story}_{}", format!("{protocol:?}").to_lowercase());
            insta::assert_snapshot!(name, frames);
        }
    }
}

#[test]
fn the_requests_of_a_turn_make_frames_that_grow_with_it_and_not_with_its_square() {
    let told = |calls: usize| -> usize {
        let arguments = json!({"text": "x".repeat(10_000)});
        let calls: Vec<_> = (0..calls).map(|_| ("send", arguments.clone())).collect();
        let replied = human_requests::with_declared(story::replied("t1", "", &calls));
        let asked = human_requests::asked_with_approval("Send them?");
        let (_, records) = story::journal_of(asked, vec![replied]);
        let mut connection = connection(Protocol::Raw, true);
        records
            .iter()
            .flat_map(|record| connection.render_record(record, &[]))
            .map(|f| f.len())
            .sum()
    };
    let (two, eight) = (told(2), told(8));
    assert!(two > 40_000 && eight < 4 * two + 10_000, "{two} and {eight} bytes");
}
