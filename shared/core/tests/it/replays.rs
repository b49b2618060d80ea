//! Runs that were kept with all runs below them: today's code decides each of their records as it was
//! written. `cargo xtask replay RUN --save tests/replays/NAME.jsonl` adds one.

use std::fs;
use std::path::PathBuf;

use djinn_core::input::Input;
use djinn_core::journal::Record;
use djinn_core::replay::{SavedRecord, find_difference};

fn read_replays() -> Vec<(PathBuf, Vec<SavedRecord>)> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/replays");
    let files = fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    let read = |file: PathBuf| {
        let text = fs::read_to_string(&file).unwrap();
        let lines = text.lines().map(|line| serde_json::from_str(line).unwrap());
        let saved = lines.collect();
        (file, saved)
    };
    files.map(read).collect()
}

fn records(saved: &[SavedRecord]) -> Vec<Record> {
    saved.iter().map(|saved| saved.record.clone()).collect()
}

#[test]
fn kept_runs_are_decided_as_they_were() {
    let replays = read_replays();
    assert!(replays.len() >= 2, "some are kept");
    for (file, saved) in replays {
        for run in saved.chunk_by(|one, next| one.path == next.path) {
            let found = find_difference(&records(run)).unwrap();
            assert_eq!(found, None, "{}: {}", file.display(), run[0].path);
        }
    }
}

#[test]
fn a_record_that_is_decided_otherwise_is_found() {
    let (_, saved) = read_replays().remove(0);
    let run = saved.chunk_by(|one, next| one.path == next.path).next().unwrap();
    let mut changed = records(run);
    changed[1].entries.pop();
    let found = find_difference(&changed).unwrap().unwrap();
    assert_eq!((found.kept.number, *found.decided.unwrap()), (1, run[1].record.clone()));
    let mut ignored = records(run);
    ignored[1].inputs = vec![Input::HumanRequestExpired { request: "t9".parse().unwrap() }];
    assert_eq!(find_difference(&ignored[..2]).unwrap().unwrap().decided, None);
}
