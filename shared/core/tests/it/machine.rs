//! The run's machine as a table: what it is told, what viewers see of it, what it owes then.
//!
//! `machine.txt` holds the cases. A line is `input => entries | due`; `-` stands for nothing, and
//! `ignored` for an input that leaves no record, `(…)` for what is owed and waits. Waiting for the wall time is owed throughout and
//! left out.

use djinn_core::effect::{Delivery, Effect, EffectId, Limit};
use djinn_core::id::{FileName, TaskId};
use djinn_core::input::{Input, PartialMessage, RunSpec};
use djinn_core::journal::Journal;
use djinn_core::run::Run;
use djinn_core::tool::{ArgumentProblem, ToolArguments, ToolFailure};
use serde_json::{Value, json};

use crate::story;

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
            let by = by.unwrap_or_default();
            let id = EffectId::Model(call.message);
            Some(waiting(call.waits, format!("{}{by}", tried(&id, call.attempt))))
        }
        Effect::RunTool(run) => {
            let id = EffectId::Tool(run.call.id);
            Some(waiting(run.waits, tried(&id, run.attempt)))
        }
        Effect::RunChild(_)
        | Effect::AwaitHuman(_)
        | Effect::SavePlan { .. }
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

pub(crate) fn input(line: &str) -> Input {
    let mut words = line.splitn(3, ' ');
    let mut word = || words.next().unwrap_or_default();
    match word() {
        "replied" => {
            let (message, rest) = (word().to_owned(), word());
            replied(&message, rest)
        }
        "cut_off" => story::cut_off(word(), "half a sent"),
        "returned" => story::returned(word(), "fine"),
        "wrote" => story::wrote(word(), "growth.md"),
        "tool_failed" => story::failed(word(), ToolFailure::TimedOut),
        "started" => story::started(word()),
        "broke_off" => story::broke_off(word(), word().parse().unwrap()),
        "model_changed" => story::model_changed(word()),
        "model_failed" => story::model_failed(word()),
        "resumed" => story::died(word().parse().unwrap()),
        "resumed_before" => {
            Input::Resumed { epoch: word().parse().unwrap(), lost_usage: None, isolated: false }
        }
        "file_added" => {
            let name = FileName::new("late.csv").unwrap();
            Input::FileAdded { id: word().to_owned(), file: story::file(name.as_str()) }
        }
        "stop" => Input::StopRequested {
            by: story::asked("").user,
            partial: Some(word()).filter(|message| !message.is_empty()).map(|message| {
                PartialMessage {
                    message: djinn_core::id::MessageId::new(message).unwrap(),
                    text: "so far".to_owned(),
                }
            }),
        },
        "wall_time" => Input::LimitReached { limit: Limit::WallTime },
        "work_time" => Input::LimitReached { limit: Limit::WorkTime },
        "hops" => Input::LimitReached { limit: Limit::Hops },
        "kept" => Input::PlanSaved { version: word().parse().unwrap() },
        "delivered" => Input::Delivered { delivery: Delivery::AlarmRemoval },
        "stop_delivered" => {
            Input::Delivered { delivery: Delivery::StopChild(TaskId::new(word()).unwrap()) }
        }
        "asked" => Input::Started(Box::new(story::asked("again?"))),
        other => panic!("no input is called {other}"),
    }
}

/// `"text"`, then `tool(argument)` for each call; `tool(!)` has arguments that cannot be read.
fn replied(message: &str, rest: &str) -> Input {
    let rest = rest.trim().strip_prefix('"').unwrap();
    let (text, calls) = rest.split_once('"').unwrap();
    let calls: Vec<(&str, Value)> = calls
        .split_whitespace()
        .map(|call| {
            let (tool, argument) = call.strip_suffix(')').unwrap().split_once('(').unwrap();
            (tool, json!({"of": argument}))
        })
        .collect();
    let Input::ModelReplied(mut replied) = story::replied(message, text, &calls) else {
        unreachable!("a reply is a reply")
    };
    for call in &mut replied.reply.calls {
        if call.arguments == ToolArguments::Parsed(json!({"of": "!"}).as_object().unwrap().clone())
        {
            let problem = ArgumentProblem::NotJson;
            call.arguments = ToolArguments::Malformed { raw: "{".to_owned(), problem };
        }
    }
    Input::ModelReplied(replied)
}
