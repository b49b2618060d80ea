//! The verification steps run by cargo.

use std::num::NonZero;
use std::process::Command;
use std::thread::available_parallelism;

use anyhow::{Result, ensure};
use djinn_settings::table::contributor::{ALWAYS_HAND_OVER, RUSTDOC};

use super::built_programs::{BuiltPrograms, workspace_cargo};
use super::{clients, test_process};
use crate::process::{cargo_command, run};
use crate::terminal::print_line;
use crate::{page, venv, workspace};

pub(super) fn check_format() -> Result<()> {
    run(&mut cargo_command(&["fmt", "--all", "--check"]))
}

/// Builds everything needed by the later steps, with all lints.
pub(super) fn build_all() -> Result<()> {
    BuiltPrograms::new().map(drop)
}

/// Builds the libraries' documentation from the existing build: `cargo doc` would check every dependency
/// again. The documentation contains no tests; a test in the documentation would fail here.
pub(super) fn build_rustdoc() -> Result<()> {
    // Not the running program: a later build may have replaced the file.
    let ours = workspace::profile_dir("debug").join("xtask");
    run(workspace_cargo(&["test", "--doc"]).env("RUSTDOC", ours).env(RUSTDOC.name, "1"))
}

/// Runs every test without `#[ignore]`. All tests run even after a failure: a second run costs more than the
/// rest of the first.
pub(super) fn run_tests() -> Result<()> {
    // Many tests start servers and depend on time. More threads than cores only cause interference, and
    // dozens of threads exhaust ports and memory.
    let threads = available_parallelism().map_or(2, NonZero::get).clamp(2, 8).to_string();
    let mut failures = Vec::new();
    for (name, mut tests) in BuiltPrograms::new()?.all_tests() {
        print_line(&format!("    {name}"));
        // A different snapshot fails without leaving files in the tree.
        tests.env("RUST_TEST_THREADS", &threads).env("INSTA_UPDATE", "no");
        if let Err(error) = test_process::run_tests(&mut tests) {
            failures.push(format!("{name}: {error:#}"));
        }
    }
    ensure!(failures.is_empty(), "{}", failures.join("\n"));
    Ok(())
}

/// Tests not repeated with a handoff after every record, by the prefix of the name.
const ONCE: &[&str] = &[
    // Without a run.
    "documents::",
    "events_page::",
    "layout::",
    "prompts::",
    "table::",
    "template::",
    // Invokes the executor directly, and checks every invocation.
    "event::",
    "executor::",
    // Counts the requests to the stores.
    "cost::",
    "files::however_many_uploads_are_announced",
    // Has more records than the maximum number of hops.
    "crowd::",
    // Checks the end of a response.
    "idle::",
    // A response ends where the run waits for users; clients that reconnect by themselves would loop forever.
    "ag_ui::",
    "ai_sdk::",
    "chat_clients::",
    "chat_completions::",
    "mcp_server::",
    "responses_api::",
    "clarify::",
    "confirm::",
    "fallback::an_account_that_somebody_can_top_up",
    "fault::a_model_that_never_recovers",
    "human_requests::",
    "original_ui::data_question_without_tables",
    "next_agents::what_a_user_was_asked_before",
    "router::router_offers_the_modes",
    "workflows::a_person_approves_a_step",
    "workflows::missing_arguments_are_asked_for",
    "joyagent::change_of_an_argument_that",
    "joyagent::a_plan_that_is_to_be_looked_at",
    "joyagent::an_answer_is_an_event",
    "joyagent::parameters_in_the_place",
    "joyagent::feedback_routes_find_a_run",
    "joyagent::people_answer_in_chinese",
    "large::",
    "links::",
    "limits::a_day_that_is_used_up",
    "limits::limit_if_priced",
    "limits::two_hundred_executors",
    "outside_calls::used_up_credits",
    "user_keys::",
    "pages::a_page_of_another_site_reads_nothing",
    "people::",
    "repeats::what_was_counted_before_an_interrupt",
    "responses::",
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
    // Expect every preview, and a driver without a client writes few.
    "answer::the_demos_answer_is_streamed",
    "story::the_story_in",
    "agents::an_agent_calls_an_agent",
    // These tests wait for a call's output at a certain moment, and a handoff repeats the call elsewhere.
    "progress::",
    // The test checks the epoch of the resuming driver.
    "restart::a_process_that_is_asked_to_end",
    "restart::the_same_request_in_the_next_process",
    "restart::whoever_comes_back_to_a_run_that_nobody_drives",
    // A handoff comes before the buffer is full, or the test reads only one response.
    "viewer::a_client_that_never_reads",
    "viewer::a_long_answer_that_is_read",
    "viewer::a_slow_line",
    "viewer::pieces_that_follow_each_other",
    "viewer::words_that_a_model_writes_at_once",
    // The test counts the frames of one connection.
    "come_back::a_plan_at_work_is_followed_on_from_any_frame",
    "come_back::a_plans_stream_cut_after_any_frame",
    "come_back::a_run_at_work_is_followed_on_from_any_frame",
    "come_back::a_tree",
    // The test holds four calls until a fifth starts, and no call starts after the first call's record.
    "tool::calls_of_one_reply_run_at_the_same_time",
    // The test holds a call that no task waits for; a driver that leaves after a record waits for started
    // calls.
    "employees::a_task_that_has_ended_waits_for_nobody",
    "employees::the_events_of_a_tool_carry_its_role",
];

/// Runs the integration tests with a handoff after every record.
pub(super) fn run_hand_over() -> Result<()> {
    let mut command = BuiltPrograms::new()?.test_command("tests", "it", &[])?;
    command.args(ONCE.iter().flat_map(|name| ["--skip", name]));
    test_process::run_tests(command.env(ALWAYS_HAND_OVER.name, "1").env("INSTA_UPDATE", "no"))
}

/// Runs the tests of the built functions, one at a time, because the tests depend on time.
pub(super) fn run_lambdasim() -> Result<()> {
    test_process::run_tests(&mut lambdasim_tests()?)
}

/// Builds the functions and the page, and returns the command for the functions' tests, some of which open a browser.
pub(crate) fn lambdasim_tests() -> Result<Command> {
    let venv = venv::ensure_venv()?;
    page::build()?;
    clients::install_packages(&venv)?;
    let words = ["--skip", "kills::"];
    venv.with_venv(BuiltPrograms::new()?.ignored_test_command("tests", "lambdasim", &words)?)
}

/// Tests runs with killed functions, and a killed `cargo dev ask`.
pub(super) fn run_kills() -> Result<()> {
    test_process::run_tests(&mut kills_tests()?)?;
    test_process::run_tests(&mut BuiltPrograms::new()?.ignored_test_command("xtask", "ask", &[])?)
}

/// Builds the functions with test tools, and returns the command for tests that kill functions.
pub(crate) fn kills_tests() -> Result<Command> {
    BuiltPrograms::new()?.ignored_test_command("tests", "lambdasim", &["kills::", "--nocapture"])
}

/// Runs the tests with cargo-lambda, one at a time: each test starts a host.
pub(super) fn run_watch() -> Result<()> {
    let tests = BuiltPrograms::new()?.ignored_test_command("tests", "watch", &[])?;
    test_process::run_tests(&mut venv::ensure_venv()?.with_venv(tests)?)
}
