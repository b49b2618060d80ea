//! The agents that write code and documents, with their real tools, while processes die around them: no block is
//! lost, none sees other variables than it would have, and there is one document.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use djinn_core::entry::Entry;
use djinn_core::id::FileName;
use djinn_core::settings::RunSettings;
use djinn_core::status::RunStatus;
use djinn_runtime::port::SessionKey;
use djinn_runtime::port::file::{Files, NewFile};
use djinn_runtime::port::sandbox::{
    JobContext, JobEnd, JobOutput, Sandbox, SandboxAnswer, SandboxError, SandboxFile, SandboxJob,
    SandboxWork,
};
use djinn_runtime::port::tool::{BoxFuture, OfferedAgents, Toolbox};
use djinn_runtime::question::UserQuestion;
use djinn_testkit::chaos::Chaos;
use djinn_testkit::memory::MemoryStore;
use djinn_testkit::point::{Fate, Points};
use djinn_testkit::sim::Sim;
use djinn_testkit::story::{StoryLine, StoryModel};
use djinn_tools::agent_files::AgentFiles;
use djinn_tools::collect_tool::CollectTool;
use djinn_tools::look_tool::LookTool;
use djinn_tools::python_tool::PythonTool;
use djinn_tools::render_tool::RenderTool;
use djinn_tools::{ToolAdapter, TypedTool};
use serde_json::json;

use crate::story::visible;

/// Does what it is asked at once, by rules that a test can foresee: a block writes down what it found.
struct WrittenSandbox(Points);

impl Sandbox for WrittenSandbox {
    fn max_bytes(&self) -> u64 {
        1_000_000
    }

    fn run_job<'a>(
        &'a self,
        _: &'a JobContext,
        job: SandboxJob,
    ) -> BoxFuture<'a, Result<SandboxAnswer, SandboxError>> {
        Box::pin(async move {
            self.0.pass("before job".to_owned()).await;
            tokio::time::sleep(Duration::from_millis(200)).await;
            self.0.wait_until_alive().await;
            let answer = do_job(job);
            self.0.pass("after job".to_owned()).await;
            Ok(answer)
        })
    }
}

fn do_job(job: SandboxJob) -> SandboxAnswer {
    let file = |name: &str, text: String| SandboxFile {
        name: FileName::new(name).unwrap(),
        content: text.into_bytes(),
    };
    let given: Vec<_> = job.files.iter().map(|file| file.name.to_string()).collect();
    let state = String::from_utf8(job.state).unwrap();
    let (products, value, state) = match job.work {
        SandboxWork::Python { code, earlier } => {
            let found = format!("{code} after {earlier:?} with [{state}] over {given:?}");
            (vec![file(&format!("{code}.txt"), found)], json!({}), format!("{state}{code};"))
        }
        SandboxWork::Render { name, text, .. } => {
            (vec![file(name.as_str(), format!("<html>{text}"))], json!({}), String::new())
        }
        SandboxWork::Look { .. } => (Vec::new(), json!({}), String::new()),
        work => panic!("nobody asks for {work:?}"),
    };
    SandboxAnswer {
        end: JobEnd::Done,
        seconds: 0.2,
        output: JobOutput::default(),
        value,
        products,
        left_out: Vec::new(),
        state: state.into_bytes(),
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

fn with_tool(tools: Toolbox, tool: impl TypedTool + 'static) -> Toolbox {
    tools.with_tool(ToolAdapter::new(tool))
}

fn sim(points: Points) -> Sim {
    let mut sim = Sim::new(StoryModel::new(lines(), points.clone()), Toolbox::default(), points);
    let sandbox: Arc<dyn Sandbox> = Arc::new(WrittenSandbox(sim.points.clone()));
    let parts = || {
        let (store, prompts) = (Arc::clone(&sim.ports.store), Arc::clone(&sim.ports.prompts));
        (store, prompts, Arc::clone(&sandbox))
    };
    let mut tools = Toolbox::default();
    let (store, prompts, sandbox_of) = parts();
    tools = with_tool(tools, PythonTool::new(store, prompts, sandbox_of));
    let (store, prompts, sandbox_of) = parts();
    tools = with_tool(tools, LookTool::new(store, prompts, sandbox_of));
    let (store, prompts, sandbox_of) = parts();
    tools = with_tool(tools, CollectTool::new(store, prompts, sandbox_of));
    let (store, prompts, sandbox_of) = parts();
    tools = with_tool(tools, RenderTool::new(store, prompts, sandbox_of));
    let names = ["python", "look", "collect", "render", "file_tool", "search_round", "cite"]
        .map(str::to_owned);
    let agents = AgentFiles::new(BTreeSet::from(names)).read("", &[]).agents;
    sim.ports.tools = tools.with_agents(agents.into()).with_offered_agents(OfferedAgents::All);
    sim
}

/// The end state: the ids of all entries, and the files with their texts.
async fn run(sim: &mut Sim) -> (BTreeSet<String>, BTreeMap<String, String>) {
    let question = ask_with_file(sim).await;
    let entries = sim.run_to_end(&question).await.unwrap();
    (ids(&entries), read_files(&sim.ports.store, &question.session_key()).await)
}

/// The question, in a session that has a file.
async fn ask_with_file(sim: &Sim) -> UserQuestion {
    let question = sim.make_question(RunSettings::default());
    let session = question.session_key();
    let given = NewFile {
        name: FileName::new("given.csv").unwrap(),
        description: String::new(),
        internal: false,
        media_type: "text/csv".to_owned(),
        uploaded: false,
        writer: session.owner.clone(),
    };
    sim.ports.store.write_file(&session, &given, b"a\n1\n").await.unwrap();
    question
}

fn ids(entries: &[Entry]) -> BTreeSet<String> {
    let lines = visible(entries);
    lines.iter().filter_map(|line| line.split(' ').next()).map(str::to_owned).collect()
}

async fn read_files(store: &MemoryStore, session: &SessionKey) -> BTreeMap<String, String> {
    let mut files = BTreeMap::new();
    for file in store.list_files(session).await.unwrap() {
        let bytes = store.read_file(session, &file, file.size).await.unwrap();
        files.insert(file.name.to_string(), String::from_utf8(bytes).unwrap());
    }
    files
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
    let points = Points::new();
    let expected = run(&mut sim(points.clone())).await;
    let passed = points.passed_points();
    assert!(passed.len() > 60, "{} points", passed.len());
    for (at, point) in passed.iter().enumerate().filter(|(_, point)| point.process != 0) {
        let mut sim = sim(Points::killing_at(at));
        let name = format!("process {} dies at {} ({at})", point.process, point.name);
        assert_eq!(run(&mut sim).await, expected, "{name}");
        assert!(!sim.has_alarm(), "an alarm is left: {name}");
    }
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
    let question = ask_with_file(&sim).await;
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
