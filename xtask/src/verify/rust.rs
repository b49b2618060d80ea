//! What cargo itself verifies.

use std::num::NonZero;
use std::process::Command;
use std::thread::available_parallelism;

use anyhow::{Result, ensure};
use djinn_settings::table::contributor::{ALWAYS_HAND_OVER, RUSTDOC};

use super::built_programs::{BuiltPrograms, workspace_cargo};
use super::test_process;
use crate::process::{cargo_command, run};
use crate::terminal::print_line;
use crate::{venv, workspace};

pub(super) fn check_format() -> Result<()> {
    run(&mut cargo_command(&["fmt", "--all", "--check"]))
}

/// Builds everything that the later steps run, with all lints.
pub(super) fn build_all() -> Result<()> {
    BuiltPrograms::new().map(drop)
}

/// The documentation of the libraries, out of what is built: `cargo doc` would check every
/// dependency once more. There are no tests in it; what would be one fails here too.
pub(super) fn build_rustdoc() -> Result<()> {
    // Not the program that runs: a build since then has put another in its place.
    let ours = workspace::profile_dir("debug").join("xtask");
    run(workspace_cargo(&["test", "--doc"]).env("RUSTDOC", ours).env(RUSTDOC.name, "1"))
}

/// Every test that is not `#[ignore]`d. All of them run even if one fails: a second run costs more
/// than the rest of the first.
pub(super) fn run_tests() -> Result<()> {
    // Many tests start servers and watch clocks; with more threads than cores they only disturb each
    // other, and with dozens they run out of ports and memory.
    let threads = available_parallelism().map_or(2, NonZero::get).clamp(2, 8).to_string();
    let mut failed = Vec::new();
    for (name, mut tests) in BuiltPrograms::new()?.all_tests() {
        print_line(&format!("    {name}"));
        // A snapshot that differs fails and leaves nothing in the tree.
        tests.env("RUST_TEST_THREADS", &threads).env("INSTA_UPDATE", "no");
        if let Err(error) = test_process::run_tests(&mut tests) {
            failed.push(format!("{name}: {error:#}"));
        }
    }
    ensure!(failed.is_empty(), "{}", failed.join("\n"));
    Ok(())
}

/// What is not told again with a hand-over after every record, by the beginning of its name.
const ONCE: &[&str] = &[
    // No run.
    "documents::",
    "events_page::",
    "layout::",
    "prompts::",
    "table::",
    "template::",
    // Invokes the executor by itself, and looks at every invocation.
    "event::",
    "executor::",
    // Counts the requests to the stores.
    "cost::",
    "files::however_many_uploads_are_announced",
    // Has more records than a run may have hops.
    "crowd::",
    // Looks at when a response ends.
    "idle::",
    // A response ends where its run waits for people; clients that come back by themselves would for ever.
    "clarify::",
    "confirm::",
    "fallback::an_account_that_somebody_can_top_up",
    "fault::a_model_that_never_recovers",
    "feedback::",
    "joyagent::change_of_an_argument_that",
    "joyagent::a_plan_that_is_to_be_looked_at",
    "joyagent::an_answer_is_an_event",
    "joyagent::parameters_in_the_place",
    "joyagent::people_answer_in_chinese",
    "large::",
    "links::",
    "limits::a_day_that_is_used_up",
    "limits::two_hundred_executors",
    "pages::a_page_of_another_site_reads_nothing",
    "people::",
    "repeats::what_was_counted_before_an_interrupt",
    "safety::images::plans_tasks_and_questions",
    "safety::inject::",
    "safety::texts::a_changed_plan",
    "safety::texts::a_message_to_a_run",
    "safety::texts::answers_and_their_comments",
    "safety::texts::nothing_is_shown",
    "shares::guests",
    "shares::only_who_asked",
    "streams::",
    "top_up::",
    "web::injected::where_people_are_asked",
    // Show every preview, and a driver without a client writes few.
    "answer::the_demos_answer_is_streamed",
    "story::the_story_in",
    "agents::an_agent_calls_an_agent",
    // Wait for what a call says at its moment, and a hand-over has it made again elsewhere.
    "progress::",
    // Names the epoch of the driver that resumes.
    "restart::a_process_that_is_asked_to_end",
    "restart::the_same_request_in_the_next_process",
    "restart::whoever_comes_back_to_a_run_that_nobody_drives",
    // Is handed over before its buffer is full, or reads one response only.
    "viewer::a_client_that_never_reads",
    "viewer::a_long_answer_that_is_read",
    "viewer::a_slow_line",
    "viewer::pieces_that_follow_each_other",
    // Counts the frames of one connection.
    "come_back::a_plan_at_work_is_followed_on_from_any_frame",
    "come_back::a_plans_stream_cut_after_any_frame",
    "come_back::a_run_at_work_is_followed_on_from_any_frame",
    "come_back::a_tree",
    // Holds four calls until a fifth starts, and after the first one's record none does.
    "tool::calls_of_one_reply_run_at_the_same_time",
    // Holds a call that no task waits for; who leaves after a record waits for what it has started.
    "employees::a_task_that_has_ended_waits_for_nobody",
    "employees::the_events_of_a_tool_carry_its_role",
];

/// The tests of the whole with a hand-over after every record.
pub(super) fn run_hand_over() -> Result<()> {
    let mut command = BuiltPrograms::new()?.test_command("tests", "it", &[])?;
    command.args(ONCE.iter().flat_map(|name| ["--skip", name]));
    test_process::run_tests(command.env(ALWAYS_HAND_OVER.name, "1").env("INSTA_UPDATE", "no"))
}

/// The tests that run the built functions, one at a time: they watch clocks.
pub(super) fn run_lambdasim() -> Result<()> {
    test_process::run_tests(&mut lambdasim_tests()?)
}

/// Builds the functions, and says how the tests that run them are started.
pub(crate) fn lambdasim_tests() -> Result<Command> {
    BuiltPrograms::new()?.ignored_test_command("tests", "lambdasim", &["--skip", "kills::"])
}

/// Runs whose functions are killed, and a `cargo dev ask` that is.
pub(super) fn run_kills() -> Result<()> {
    test_process::run_tests(&mut kills_tests()?)?;
    test_process::run_tests(&mut BuiltPrograms::new()?.ignored_test_command("xtask", "ask", &[])?)
}

/// Builds the functions with the tools of tests, and says how the tests that kill them are started.
pub(crate) fn kills_tests() -> Result<Command> {
    BuiltPrograms::new()?.ignored_test_command("tests", "lambdasim", &["kills::", "--nocapture"])
}

/// The tests that need cargo-lambda, one at a time: each has a host of its own.
pub(super) fn run_watch() -> Result<()> {
    let tests = BuiltPrograms::new()?.ignored_test_command("tests", "watch", &[])?;
    test_process::run_tests(&mut venv::ensure_venv()?.with_venv(tests)?)
}
