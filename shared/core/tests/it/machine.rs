//! The run's machine as a table: what it is told, what viewers see of it, what it owes then.
//!
//! `machine.txt` holds the cases. A line is `input => entries | due`; `-` stands for nothing, and
//! `ignored` for an input that leaves no record, `(…)` for what is owed and waits. Waiting for the wall time is owed throughout and
//! left out.

use djinn_core::effect::{Effect, EffectId};
use djinn_core::input::{Input, RunSpec};
use djinn_core::journal::Journal;
use djinn_core::run::Run;

use crate::story;
use crate::story::machine::input;

#[test]
fn the_machine_does_what_its_table_says() {
    let cases = check(include_str!("machine.txt"), story::asked, input, owed);
    assert!(cases >= 20, "only {cases} cases were found");
}

/// Plays every case of a table and says how many there are.
pub(crate) fn check(
    table: &str,
    asked: fn(&str) -> RunSpec,
    input: fn(&str) -> Input,
    owed: fn(&Run) -> Vec<String>,
) -> usize {
    let mut cases = 0;
    for case in table.split("\n## ").skip(1) {
        let (name, lines) = case.split_once('\n').unwrap();
        let (mut journal, _) = Journal::open(asked("why?"), 1, story::write(0), 0);
        for line in lines.lines().filter(|line| line.contains("=>")) {
            let (told, expected) = line.split_once("=>").unwrap();
            let n = journal.next_number();
            let at_ms = i64::try_from(n).unwrap() * 100;
            let decided =
                journal.decide_record(vec![input(told.trim())], 1, story::write(n), at_ms);
            let seen = match decided {
                None => "ignored".to_owned(),
                Some((next, record)) => {
                    journal = next;
                    let entries: Vec<_> =
                        record.entries.iter().map(|entry| entry.id.to_string()).collect();
                    format!("{} | {}", or_dash(&entries), or_dash(&owed(journal.run())))
                }
            };
            assert_eq!(seen, expected.trim(), "case `{name}`, line `{line}`");
        }
        cases += 1;
    }
    cases
}

pub(crate) fn owed(run: &Run) -> Vec<String> {
    let due = run.due().into_iter().filter_map(|effect| match effect {
        Effect::Wait { .. } => None,
        Effect::CallModel(call) => {
            let by = call.fallback.as_ref().map(|fallback| format!("@{}", fallback.model));
            let delay = call.retry_at_ms.map(|at_ms| format!("~{at_ms}"));
            let by = by.unwrap_or_default();
            let delay = delay.unwrap_or_default();
            let id = EffectId::Model(call.message);
            Some(waiting(call.waits, format!("{}{by}{delay}", tried(&id, call.attempt))))
        }
        Effect::RunTool(run) => {
            let id = EffectId::Tool(run.call.id);
            Some(waiting(run.waits, tried(&id, run.attempt)))
        }
        Effect::RunChild(_)
        | Effect::AwaitHuman(_)
        | Effect::SavePlan { .. }
        | Effect::SaveAnswer(_)
        | Effect::Deliver(_) => Some(effect.id().to_string()),
    });
    due.collect()
}

fn tried(id: &EffectId, attempt: u32) -> String {
    if attempt == 1 { id.to_string() } else { format!("{id}#{attempt}") }
}

/// What is owed, as it stands in a table if it waits.
pub(crate) fn waiting(waits: bool, owed: String) -> String {
    if waits { format!("({owed})") } else { owed }
}

fn or_dash(words: &[String]) -> String {
    if words.is_empty() { "-".to_owned() } else { words.join(" ") }
}
