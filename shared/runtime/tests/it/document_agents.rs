//! The agents that write code and documents, with their real tools, while processes die around them: no block is
//! lost, none sees other variables than it would have, and there is one document.

use std::time::Duration;

use djinn_core::status::RunStatus;
use djinn_runtime::port::sandbox::{SandboxJob, SandboxWork};
use djinn_runtime::port::tool::Toolbox;
use djinn_testkit::chaos::Chaos;
use djinn_testkit::point::{Fate, Points};
use djinn_testkit::sim::Sim;
use djinn_testkit::story::StoryLine;
use djinn_tools::collect_tool::CollectTool;
use djinn_tools::look_tool::LookTool;
use djinn_tools::python_tool::PythonTool;
use djinn_tools::render_tool::RenderTool;
use serde_json::json;

use crate::agent_story::{
    EndState, JobResult, ask_with_file, end_state, product, read_files, sim_of, survive_deaths,
    with_tool,
};

/// A block writes down what it found.
fn do_job(job: SandboxJob) -> JobResult {
    let given: Vec<_> = job.files.iter().map(|file| file.name.to_string()).collect();
    let state = String::from_utf8(job.state).unwrap();
    match job.work {
        SandboxWork::Python { code, earlier } => {
            let found = format!("{code} after {earlier:?} with [{state}] over {given:?}");
            let products = vec![product(&format!("{code}.txt"), found)];
            (products, json!({}), format!("{state}{code};"))
        }
        SandboxWork::Render { name, text, .. } => {
            (vec![product(name.as_str(), format!("<html>{text}"))], json!({}), String::new())
        }
        SandboxWork::Look { .. } => (Vec::new(), json!({}), String::new()),
        work => panic!("nobody asks for {work:?}"),
    }
}

/// One draws in two blocks, then another writes of it.
fn lines() -> Vec<(&'static str, StoryLine)> {
    let block = |code: &str| StoryLine::say("I write.").with_call("python", json!({"code": code}));
    let report = json!({
        "fileType": "html", "task": "Of two.txt.", "fileName": "r.html", "fileDescription": "all",
    });
    vec![
        ("t1", StoryLine::say("Draw.").with_call("code_interpreter", json!({"task": "Draw it."}))),
        ("t1.c1.t1", block("one")),
        ("t1.c1.t2", block("two").with_latency(Duration::from_millis(70))),
        ("t1.c1.t3", StoryLine::say("It is in two.txt.")),
        ("t2", StoryLine::say("Write.").with_call("report_tool", report)),
        ("t2.c1.t1", StoryLine::say("All is well.").with_latency(Duration::from_millis(90))),
        ("t3", StoryLine::say("See r.html.")),
    ]
}

fn sim(points: Points) -> Sim {
    let names = ["python", "look", "collect", "render", "file_tool", "search_round", "cite"];
    sim_of(points, lines(), do_job, &names, |parts| {
        let python = PythonTool::new(parts.store(), parts.prompts(), parts.sandbox());
        let look = LookTool::new(parts.store(), parts.prompts(), parts.sandbox());
        let collect = CollectTool::new(parts.store(), parts.prompts(), parts.sandbox());
        let render = RenderTool::new(parts.store(), parts.prompts(), parts.sandbox());
        let tools = with_tool(with_tool(Toolbox::default(), python), look);
        with_tool(with_tool(tools, collect), render)
    })
}

async fn run(sim: &mut Sim) -> EndState {
    let question = ask_with_file(sim, "given.csv").await;
    end_state(sim, &question).await
}

#[tokio::test(start_paused = true)]
async fn a_block_finds_what_those_before_it_left() {
    let (_, files) = run(&mut sim(Points::new())).await;
    let text = |name: &str| files[name].as_str();
    assert_eq!(text("one.txt"), "one after [] with [] over [\"given.csv\"]");
    let two = "two after [\"one\"] with [one;] over [\"one.txt\", \"given.csv\"]";
    assert_eq!(text("two.txt"), two);
    assert_eq!(text("r.html"), "<html>All is well.");
    let names: Vec<&str> = files.keys().map(String::as_str).collect();
    assert_eq!(names, ["given.csv", "one.txt", "r.html", "two.txt"], "no state is a file");
}

#[tokio::test(start_paused = true)]
async fn a_death_at_any_point_changes_neither_blocks_nor_documents() {
    survive_deaths(60, sim, run).await;
}

/// Whether the run finished in the weather of a seed; what it made is what it makes in good weather.
async fn endure(seed: u64) -> bool {
    let (_, expected) = run(&mut sim(Points::new())).await;
    let chaos = Chaos::of(seed);
    let weather = chaos.clone();
    let points = Points::with_decision(move |_, point| match point.process {
        0 => Fate::Passes,
        _ => weather.draw_fate(),
    });
    let mut sim = sim(points);
    let question = ask_with_file(&sim, "given.csv").await;
    let ended = sim.endure_chaos(&question, &chaos).await;
    assert_eq!(ended, Ok(()), "seed {seed}");
    let entries = sim.read_history(&question.run_key()).await.unwrap();
    let end = entries.iter().find_map(|entry| entry.event.run_result()).unwrap();
    let files = read_files(&sim.ports.store, &question.session_key()).await;
    let has_finished = end.status == RunStatus::Finished;
    if has_finished {
        assert_eq!(files, expected, "seed {seed}");
    }
    for (name, text) in files {
        assert_eq!(expected.get(&name), Some(&text), "seed {seed}: {name}");
    }
    has_finished
}

/// Processes die and freeze, the store fails, kicks come twice or never, the client leaves, somebody stops the run.
#[test]
fn what_is_made_in_bad_weather_is_what_is_made_in_good() {
    let seeds = 0..60;
    let has_finished = |seed: &u64| {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = runtime.enable_time().start_paused(true).build().unwrap();
        runtime.block_on(endure(*seed))
    };
    let finished = seeds.filter(has_finished).count();
    assert!((30..60).contains(&finished), "{finished} of 60 finished");
}
