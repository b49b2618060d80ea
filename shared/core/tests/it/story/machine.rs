//! The lines of `machine.txt` as inputs.

use djinn_core::effect::{Delivery, Limit};
use djinn_core::id::{ChildId, FileName, MessageId};
use djinn_core::input::{Input, PartialMessage};
use djinn_core::tool::{ArgumentProblem, ToolArguments, ToolFailure};
use serde_json::{Value, json};

use crate::story;

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
        "delayed" => {
            let message = word().to_owned();
            let (attempt, until_ms) = word().split_once(" until ").unwrap();
            story::delayed(&message, attempt.parse().unwrap(), until_ms.parse().unwrap())
        }
        "stalled" => {
            let effect = word();
            let attempt = word().parse().unwrap();
            if effect.contains(".c") {
                story::tool_stalled(effect, attempt)
            } else {
                story::model_stalled(effect, attempt)
            }
        }
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
                    message: MessageId::new(message).unwrap(),
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
            Input::Delivered { delivery: Delivery::StopChild(ChildId::new(word()).unwrap()) }
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
