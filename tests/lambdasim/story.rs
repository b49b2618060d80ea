//! What the scripted model says, by the names of messages.

use std::time::Duration;

use djinn_scripted::Response;
use serde_json::json;

/// A run's story.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Story {
    kind: Kind,
    /// What is waited before every chunk of a reply but the first; one with a call has five, others
    /// three.
    pace: Duration,
}

#[derive(Debug, Clone, Copy)]
enum Kind {
    /// A ReAct run that writes so many parts, one a turn.
    Parts(usize),
    /// A plan of three steps at once and one that needs them; each task but the last writes a file.
    Plan,
}

/// What the three tasks that are at work at once look into.
const METALS: [&str; 3] = ["gold", "silver", "copper"];

impl Story {
    pub(crate) const fn parts(count: usize, pace: Duration) -> Self {
        Self { kind: Kind::Parts(count), pace }
    }

    pub(crate) const fn plan(pace: Duration) -> Self {
        Self { kind: Kind::Plan, pace }
    }

    /// How its question is asked.
    pub(crate) fn mode(self) -> &'static str {
        match self.kind {
            Kind::Parts(_) => "react",
            Kind::Plan => "plan_solve",
        }
    }

    /// What the model says in a message: `t1`, `summary`, or with its task `s1.1.t1`.
    pub(crate) fn says(self, message: &str) -> Response {
        let response = match self.kind {
            Kind::Parts(count) => part(count, message),
            Kind::Plan => of_plan(message),
        };
        response.delta_chars(10_000).delay(self.pace)
    }
}

fn part(count: usize, message: &str) -> Response {
    let turn: Option<usize> = message.strip_prefix('t').and_then(|turn| turn.parse().ok());
    match turn {
        None => Response::default().reply(format!("There are {count} parts.$$$part-1.md")),
        Some(turn) if turn > count => Response::default().reply("All parts are written."),
        Some(turn) => write(&format!("part-{turn}.md")),
    }
}

fn of_plan(message: &str) -> Response {
    let planning = |arguments| Response::default().say("I plan.").call("planning", arguments);
    match message.split('.').collect::<Vec<_>>()[..] {
        ["t1"] => planning(json!({
            "command": "create", "title": "Metals",
            "steps": [METALS[0], METALS[1], METALS[2], "compare them"],
            "depends_on": [[], [], [], [1, 2, 3]],
        })),
        ["t2"] => planning(json!({"command": "finish"})),
        ["s4", _, _] => Response::default().reply("Gold is the dearest."),
        [step, _, "t1"] => write(&format!("{}.md", metal(step))),
        [step, _, _] => Response::default().reply(format!("I know {}.", metal(step))),
        _ => Response::default().reply("Gold leads.$$$gold.md"),
    }
}

fn metal(step: &str) -> &'static str {
    let number: usize = step.trim_start_matches('s').parse().unwrap();
    METALS[number - 1]
}

/// Says that it writes a file, and does.
fn write(name: &str) -> Response {
    Response::default().say(format!("I write {name}.")).call(
        "file_tool",
        json!({
            "command": "upload", "filename": name, "description": "A part",
            "content": format!("This is {name}."),
        }),
    )
}
