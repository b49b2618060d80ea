//! What the scripted model says, by the names of messages.

use std::path::Path;
use std::time::Duration;

use djinn_scripted::ScriptedResponse;
use serde_json::json;

/// What the model does in a run, and how fast it speaks.
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
    /// A ReAct run whose tools leave their mark on the world.
    Marks,
    /// A plan like the other, whose tasks' tools leave their mark on the world.
    MarkedPlan,
    /// A ReAct run that calls two of our agents at once, and then a third alone.
    Tree,
    /// A ReAct run whose agents' tools leave their mark on the world; one of them calls the other.
    MarkedTree,
    /// A ReAct run that makes five calls at once, the third of which takes its process down.
    Poisoned,
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

    /// With the tools of `worker.rs`.
    pub(crate) const fn marks(pace: Duration) -> Self {
        Self { kind: Kind::Marks, pace }
    }

    /// With the tools of `worker.rs`.
    pub(crate) const fn marked_plan(pace: Duration) -> Self {
        Self { kind: Kind::MarkedPlan, pace }
    }

    pub(crate) const fn tree(pace: Duration) -> Self {
        Self { kind: Kind::Tree, pace }
    }

    /// With the tools of `worker.rs` and the agents of [`add_agents`].
    pub(crate) const fn marked_tree(pace: Duration) -> Self {
        Self { kind: Kind::MarkedTree, pace }
    }

    /// With the tools of `worker.rs`.
    pub(crate) const fn poisoned(pace: Duration) -> Self {
        Self { kind: Kind::Poisoned, pace }
    }

    /// How its question is asked.
    pub(crate) fn mode(self) -> &'static str {
        match self.kind {
            Kind::Plan | Kind::MarkedPlan => "plan_solve",
            Kind::Parts(_) | Kind::Marks | Kind::Tree | Kind::MarkedTree | Kind::Poisoned => {
                "react"
            }
        }
    }

    /// Whether agents are to be offered.
    pub(crate) fn calls_agents(self) -> bool {
        matches!(self.kind, Kind::Tree | Kind::MarkedTree)
    }

    /// What the model says in a message: `t1`, `summary`, or with its task `s1.1.t1`.
    pub(crate) fn says(self, message: &str) -> ScriptedResponse {
        let response = match self.kind {
            Kind::Parts(count) => part(count, message),
            Kind::Plan => of_plan(message),
            Kind::Marks => mark(message),
            Kind::MarkedPlan => of_marked_plan(message),
            Kind::Tree => of_tree(message),
            Kind::MarkedTree => of_marked_tree(message),
            Kind::Poisoned => poisoned(message),
        };
        response.delta_chars(10_000).delay(self.pace)
    }
}

fn part(count: usize, message: &str) -> ScriptedResponse {
    let turn: Option<usize> = message.strip_prefix('t').and_then(|turn| turn.parse().ok());
    match turn.filter(|turn| *turn <= count) {
        None => ScriptedResponse::default()
            .reply(format!("There are {count} parts, from part-1.md on.")),
        Some(turn) => write(&format!("part-{turn}.md")),
    }
}

fn of_plan(message: &str) -> ScriptedResponse {
    let planning =
        |arguments| ScriptedResponse::default().say("I plan.").call("planning", arguments);
    match message.split('.').collect::<Vec<_>>()[..] {
        ["t1"] => planning(json!({
            "command": "create", "title": "Metals",
            "steps": [METALS[0], METALS[1], METALS[2], "compare them"],
            "depends_on": [[], [], [], [1, 2, 3]],
        })),
        ["t2"] => planning(json!({"command": "finish"})),
        ["s4", _, _] => ScriptedResponse::default().reply("Gold is the dearest."),
        [step, _, "t1"] => write(&format!("{}.md", metal(step))),
        [step, _, _] => ScriptedResponse::default().reply(format!("I know {}.", metal(step))),
        _ => ScriptedResponse::default().reply("Gold leads.$$$gold.md"),
    }
}

/// Two turns of calls of every kind, one that writes a file, and the end.
fn mark(message: &str) -> ScriptedResponse {
    let about = |tool: &str| (tool.to_owned(), json!({"about": message}));
    match message.rsplit('.').next() {
        Some("t1") => {
            ScriptedResponse::default().say("I begin.").calls(["read", "put", "post"].map(about))
        }
        Some("t2") => ScriptedResponse::default().say("I go on.").calls(["post", "put"].map(about)),
        Some("t3") => write("part-1.md"),
        _ => ScriptedResponse::default().reply("All is done: see part-1.md."),
    }
}

/// A question is looked into and a report written at once; then the answer is judged.
fn of_tree(message: &str) -> ScriptedResponse {
    let ask = ScriptedResponse::default();
    match message {
        "t1" => ask.say("I have it looked into and written.").calls([
            ("researcher", json!({"task": "What is known of gold?"})),
            ("writer", json!({"task": "Write of gold.", "file_name": "report.md"})),
        ]),
        "t1.c1.t1" | "t1.c2.t1" => {
            write(if message == "t1.c1.t1" { "gold.md" } else { "draft.md" })
        }
        "t1.c1.t2" => ask.reply("Gold is dear."),
        "t1.c2.t2" => ask.reply("# Gold"),
        "t2" => {
            let judged = json!({"question": "What is to be done?", "answer": "Gold leads."});
            ask.say("Is it right?").call("reviewer", judged)
        }
        "t2.c1.t1" => ask.reply(r#"{"verdict": "accept", "problems": [], "missing": []}"#),
        _ => ask.reply("Gold leads: see report.md."),
    }
}

/// The agents of [`Story::marked_tree`], as files of a configuration folder.
pub(crate) fn add_agents(folder: &Path) {
    let folder = folder.join("agents");
    std::fs::create_dir_all(&folder).unwrap();
    for (name, tools) in [("chief", "keeper"), ("keeper", "read, put, post")] {
        let file =
            format!("---\nname: {name}\ndescription: Works.\ntools: [{tools}]\n---\nWork.\n");
        std::fs::write(folder.join(format!("{name}.md")), file).unwrap();
    }
}

/// Two agents at once, one of which calls another that works as the other does: calls of every kind, and
/// a second turn of some.
fn of_marked_tree(message: &str) -> ScriptedResponse {
    let ask = ScriptedResponse::default();
    let call = |agent: &str| (agent.to_owned(), json!({"task": "Work."}));
    match message {
        "t1" => ask.say("Both work.").calls(["chief", "keeper"].map(call)),
        "t1.c1.t1" => ask.say("They work.").calls(["keeper"].map(call)),
        "t2" => ask.say("I read myself.").call("read", json!({"about": "all"})),
        "t1.c1.t1.c1.t1" | "t1.c1.t1.c1.t2" | "t1.c2.t1" | "t1.c2.t2" => mark(message),
        _ => ask.reply("The work is done."),
    }
}

/// Reads and writes, with something between them that no process survives.
fn poisoned(message: &str) -> ScriptedResponse {
    let calls = ["read", "put", "die", "read", "put"].iter().enumerate();
    let calls = calls.map(|(nth, tool)| ((*tool).to_owned(), json!({"nth": nth})));
    match message {
        "t1" => ScriptedResponse::default().say("I do five things.").calls(calls),
        _ => ScriptedResponse::default().reply("Four of them are done."),
    }
}

/// Each of the three steps at once has a turn of calls of every kind and one that writes a file.
fn of_marked_plan(message: &str) -> ScriptedResponse {
    match message.split('.').collect::<Vec<_>>()[..] {
        ["s4", _, "t1"] => {
            ScriptedResponse::default().say("I compare.").call("post", json!({"about": "all"}))
        }
        ["s1" | "s2" | "s3", _, "t1"] => mark(message),
        [step @ ("s1" | "s2" | "s3"), _, "t2"] => write(&format!("{}.md", metal(step))),
        _ => of_plan(message),
    }
}

fn metal(step: &str) -> &'static str {
    let number: usize = step.trim_start_matches('s').parse().unwrap();
    METALS[number - 1]
}

/// Says that it writes a file, and does.
fn write(name: &str) -> ScriptedResponse {
    ScriptedResponse::default().say(format!("I write {name}.")).call(
        "file_tool",
        json!({
            "command": "upload", "filename": name, "description": "A part",
            "content": format!("This is {name}."),
        }),
    )
}
