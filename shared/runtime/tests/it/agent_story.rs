//! Runs whose agents have their real tools, over a sandbox that follows rules, while processes die around them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use djinn_core::entry::Entry;
use djinn_core::id::FileName;
use djinn_core::settings::RunSettings;
use djinn_runtime::port::SessionKey;
use djinn_runtime::port::file::{Files, NewFile};
use djinn_runtime::port::sandbox::{
    JobContext, JobEnd, JobOutput, Sandbox, SandboxAnswer, SandboxError, SandboxFile, SandboxJob,
};
use djinn_runtime::port::tool::{BoxFuture, OfferedAgents, Toolbox};
use djinn_runtime::prompt::Prompts;
use djinn_runtime::question::UserQuestion;
use djinn_testkit::memory::MemoryStore;
use djinn_testkit::point::Points;
use djinn_testkit::sim::Sim;
use djinn_testkit::story::{StoryLine, StoryModel};
use djinn_tools::agent_files::AgentFiles;
use djinn_tools::{ToolAdapter, TypedTool};
use serde_json::Value;

use crate::story::visible;

/// The products, the value and the state that a job leaves.
pub(crate) type JobResult = (Vec<SandboxFile>, Value, String);

/// What a run leaves: the ids of all entries, and the files with their texts.
pub(crate) type EndState = (BTreeSet<String>, BTreeMap<String, String>);

/// Does each job at once, by a rule that a test can foresee.
struct RuledSandbox {
    points: Points,
    rule: fn(SandboxJob) -> JobResult,
}

impl Sandbox for RuledSandbox {
    fn max_bytes(&self) -> u64 {
        1_000_000
    }

    fn run_job<'a>(
        &'a self,
        _: &'a JobContext,
        job: SandboxJob,
    ) -> BoxFuture<'a, Result<SandboxAnswer, SandboxError>> {
        Box::pin(async move {
            self.points.pass("before job".to_owned()).await;
            tokio::time::sleep(Duration::from_millis(200)).await;
            self.points.wait_until_alive().await;
            let (products, value, state) = (self.rule)(job);
            self.points.pass("after job".to_owned()).await;
            Ok(SandboxAnswer {
                end: JobEnd::Done,
                seconds: 0.2,
                output: JobOutput::default(),
                value,
                products,
                left_out: Vec::new(),
                state: state.into_bytes(),
            })
        })
    }
}

/// What tools are built from.
pub(crate) struct ToolParts<'a> {
    sim: &'a Sim,
    sandbox: Arc<dyn Sandbox>,
}

impl ToolParts<'_> {
    pub(crate) fn store(&self) -> Arc<MemoryStore> {
        Arc::clone(&self.sim.ports.store)
    }

    pub(crate) fn prompts(&self) -> Arc<Prompts> {
        Arc::clone(&self.sim.ports.prompts)
    }

    pub(crate) fn sandbox(&self) -> Arc<dyn Sandbox> {
        Arc::clone(&self.sandbox)
    }
}

/// A simulation of these lines, with the shipped agents whose tools are among `names`.
pub(crate) fn sim_of(
    points: Points,
    lines: Vec<(&'static str, StoryLine)>,
    rule: fn(SandboxJob) -> JobResult,
    names: &[&str],
    add_tools: impl FnOnce(&ToolParts<'_>) -> Toolbox,
) -> Sim {
    let mut sim = Sim::new(StoryModel::new(lines, points.clone()), Toolbox::default(), points);
    let sandbox = Arc::new(RuledSandbox { points: sim.points.clone(), rule });
    let tools = add_tools(&ToolParts { sim: &sim, sandbox });
    let names = names.iter().map(|name| (*name).to_owned()).collect();
    let agents = AgentFiles::new(names).read("", &[]).agents;
    sim.ports.tools = tools.with_agents(agents.into()).with_offered_agents(OfferedAgents::All);
    sim
}

pub(crate) fn with_tool(tools: Toolbox, tool: impl TypedTool + 'static) -> Toolbox {
    tools.with_tool(ToolAdapter::new(tool))
}

pub(crate) fn product(name: &str, text: String) -> SandboxFile {
    SandboxFile { name: FileName::new(name).unwrap(), content: text.into_bytes() }
}

/// The question, in a session that has a table in this file.
pub(crate) async fn ask_with_file(sim: &Sim, name: &str) -> UserQuestion {
    let question = sim.make_question(RunSettings::default());
    let session = question.session_key();
    let given = NewFile {
        name: FileName::new(name).unwrap(),
        description: String::new(),
        internal: false,
        media_type: "text/csv".to_owned(),
        uploaded: false,
        writer: session.owner.clone(),
    };
    sim.ports.store.write_file(&session, &given, b"a\n1\n").await.unwrap();
    question
}

pub(crate) async fn read_files(
    store: &MemoryStore,
    session: &SessionKey,
) -> BTreeMap<String, String> {
    let mut files = BTreeMap::new();
    for file in store.list_files(session).await.unwrap() {
        let bytes = store.read_file(session, &file, file.size).await.unwrap();
        files.insert(file.name.to_string(), String::from_utf8(bytes).unwrap());
    }
    files
}

/// Runs to the end.
pub(crate) async fn end_state(sim: &mut Sim, question: &UserQuestion) -> EndState {
    let entries = sim.run_to_end(question).await.unwrap();
    (ids(&entries), read_files(&sim.ports.store, &question.session_key()).await)
}

fn ids(entries: &[Entry]) -> BTreeSet<String> {
    let lines = visible(entries);
    lines.iter().filter_map(|line| line.split(' ').next()).map(str::to_owned).collect()
}

/// Runs once, then once for each point at which a process may die, with the same end. Returns the end.
pub(crate) async fn survive_deaths(
    least_points: usize,
    sim_at: impl Fn(Points) -> Sim,
    run: impl AsyncFn(&mut Sim) -> EndState,
) -> EndState {
    let points = Points::new();
    let expected = run(&mut sim_at(points.clone())).await;
    let passed = points.passed_points();
    assert!(passed.len() > least_points, "{} points", passed.len());
    for (at, point) in passed.iter().enumerate().filter(|(_, point)| point.process != 0) {
        let mut sim = sim_at(Points::killing_at(at));
        let name = format!("process {} dies at {} ({at})", point.process, point.name);
        assert_eq!(run(&mut sim).await, expected, "{name}");
        assert!(!sim.has_alarm(), "an alarm is left: {name}");
    }
    expected
}
