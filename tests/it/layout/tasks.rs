//! A task is a step of a plan at work; any run below another is a child. In the crates that know of both the
//! word stands where plans are, and where clients are shown them.

use super::source::{Source, sources};
use super::{none, one};

/// The crates that know of both.
const CRATES: [&str; 4] =
    ["shared/aws/src/", "shared/core/src/", "shared/protocol/src/", "shared/runtime/src/"];

/// Where the word is meant: the beginnings of paths, below those crates.
const HOME: [&str; 19] = [
    // Plans, their bounds and the ids of their tasks.
    "shared/core/src/budget.rs",
    "shared/core/src/id",
    "shared/core/src/role.rs",
    "shared/core/src/run/plan_solve",
    "shared/core/src/run/view.rs",
    "shared/core/src/run/workflow",
    "shared/core/src/workflow",
    "shared/core/src/settings.rs",
    "shared/runtime/src/render.rs",
    "shared/runtime/src/render/plan",
    // The prompts of that name.
    "shared/runtime/src/prompt/fragments.rs",
    // What JoyAgent's clients call it.
    "shared/protocol/src/joyagent",
    // The parameter that agents have by default.
    "shared/core/src/agent.rs",
    "shared/core/src/agent_loop/agent_calls.rs",
    "shared/core/src/input/run_spec.rs",
    "shared/runtime/src/perform/model/file_calls.rs",
    "shared/runtime/src/render/agent.rs",
    "shared/runtime/src/render/arguments.rs",
    // Those of tokio.
    "shared/runtime/src/driver/background.rs",
];

#[test]
fn the_word_task_is_for_plans() {
    none(sources().iter().flat_map(complain));
}

fn complain(source: &Source) -> Vec<String> {
    let path = source.path.as_str();
    let begins = |beginnings: &[&str]| beginnings.iter().any(|start| path.starts_with(start));
    if !begins(&CRATES) || begins(&HOME) {
        return Vec::new();
    }
    let lines = source.text.lines().zip(1..).filter(|(_, line)| !source.is_test(*line));
    let wrong = lines.filter(|(text, _)| names_task(text));
    wrong.map(|(_, line)| format!("{path}:{line} says task of what may be any child")).collect()
}

/// Whether a line says it, but of a plan, a step, tokio or the JSON of older journals.
fn names_task(line: &str) -> bool {
    let lower = line.to_lowercase();
    let is_meant = ["plan", "step", "tokio", "task::", "\"task", "task(", ".task()"]
        .iter()
        .any(|word| lower.contains(word));
    let words = lower.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
    !is_meant && words.into_iter().any(|word| word == "task" || word == "tasks")
}

#[test]
fn a_task_that_is_a_child_is_noticed() {
    let complaints = |path, text| complain(&Source::parse(path, text));
    let driver = "shared/runtime/src/driver.rs";
    one(complaints(driver, "/// Has a task worked on.\nfn f() {}\n"), "driver.rs:1 says task of");
    one(complaints(driver, "fn f() {\n    let tasks = 1;\n}\n"), "driver.rs:2 says task of");
    assert_eq!(complaints(driver, "/// The tasks of a plan.\nuse tokio::task::Id;\n"), [""; 0]);
    assert_eq!(complaints("shared/core/src/run/plan_solve.rs", "struct A;\n// A task.\n"), [""; 0]);
}
