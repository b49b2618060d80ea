//! The agents over tables, with their real tools, while processes die around them: the same queries under the same
//! labels, the same files, and one answer.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use djinn_core::id::FileName;
use djinn_core::settings::RunSettings;
use djinn_runtime::port::file::{Files, NewFile};
use djinn_runtime::port::sandbox::{
    JobContext, JobEnd, JobOutput, Sandbox, SandboxAnswer, SandboxError, SandboxFile, SandboxJob,
    SandboxWork,
};
use djinn_runtime::port::tool::{BoxFuture, OfferedAgents, Toolbox};
use djinn_testkit::point::Points;
use djinn_testkit::sim::Sim;
use djinn_testkit::story::{StoryLine, StoryModel};
use djinn_tools::agent_files::AgentFiles;
use djinn_tools::cite_queries_tool::CiteQueriesTool;
use djinn_tools::query_tool::QueryTool;
use djinn_tools::table_catalog::TableCatalog;
use djinn_tools::table_tool::TableTool;
use djinn_tools::{ToolAdapter, TypedTool};
use serde_json::{Value, json};

use crate::story::visible;

/// Reads `orders.csv` as a table, and answers every query with the length of its text.
struct TableSandbox(Points);

impl Sandbox for TableSandbox {
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
    let (products, value) = match job.work {
        SandboxWork::ReadTables { .. } => {
            let table = json!({
                "table": "orders", "parquet": "orders.parquet", "rows": 1,
                "columns": [{"name": "a", "type": "integer"}],
            });
            let value = json!({"orders.csv": {"tables": [table]}});
            (vec![file("orders.parquet", "data".to_owned())], value)
        }
        SandboxWork::Query { queries, .. } => {
            let length = |sql: &str| sql.len().to_string();
            let names = (1..).map(|number| format!("query-{number}.csv"));
            let products = queries.iter().zip(names.clone());
            let products =
                products.map(|(query, name)| file(&name, format!("a\n{}\n", length(&query.sql))));
            let results = queries.iter().zip(names).map(|(query, name)| {
                json!({
                    "question": query.question, "sql": query.sql, "rows": format!("[[{}]]", length(&query.sql)),
                    "columns": [{"key": "a", "name": "a", "type": "integer"}], "row_count": 1, "file": name,
                })
            });
            let results: Vec<Value> = results.collect();
            (products.collect(), json!({"results": results}))
        }
        work => panic!("nobody asks for {work:?}"),
    };
    SandboxAnswer {
        end: JobEnd::Done,
        seconds: 0.2,
        output: JobOutput::default(),
        value,
        products,
        left_out: Vec::new(),
        state: Vec::new(),
    }
}

fn query(sql: &str) -> Value {
    json!({"queries": [{"question": "Length?", "sql": sql}]})
}

/// An analysis with two calls, of which the answer cites the second. `SELECT 22` has 9 letters.
fn lines() -> Vec<(&'static str, StoryLine)> {
    vec![
        (
            "t1",
            StoryLine::say("Have it analysed.")
                .with_call("data_analysis", json!({"task": "Lengths"})),
        ),
        ("t1.c1.t1", StoryLine::say("First.").with_call("run_sql", query("SELECT 1"))),
        (
            "t1.c1.t2",
            StoryLine::say("Second.")
                .with_call("run_sql", query("SELECT 22"))
                .with_latency(Duration::from_millis(70)),
        ),
        ("t1.c1.t3", StoryLine::say("It is 9 [q2], not 7 [q3].")),
        ("t2", StoryLine::say("See Lengths.md.")),
    ]
}

fn sim(points: Points, lines: Vec<(&'static str, StoryLine)>) -> Sim {
    let mut sim = Sim::new(StoryModel::new(lines, points.clone()), Toolbox::default(), points);
    let sandbox: Arc<dyn Sandbox> = Arc::new(TableSandbox(sim.points.clone()));
    let store = || Arc::clone(&sim.ports.store);
    let prompts = || Arc::clone(&sim.ports.prompts);
    let sandbox = || Arc::clone(&sandbox);
    let catalog = Arc::new(TableCatalog::default());
    let mut tools = Toolbox::default();
    tools = with_tool(tools, TableTool::new(store(), prompts(), sandbox(), catalog));
    tools = with_tool(tools, QueryTool::new(store(), prompts(), sandbox()));
    tools = with_tool(tools, CiteQueriesTool::new(store(), prompts()));
    let names = ["find_tables", "run_sql", "cite_queries", "python"].map(str::to_owned);
    let agents = AgentFiles::new(BTreeSet::from(names)).read("", &[]).agents;
    sim.ports.tools = tools.with_agents(agents.into()).with_offered_agents(OfferedAgents::All);
    sim
}

fn with_tool(tools: Toolbox, tool: impl TypedTool + 'static) -> Toolbox {
    tools.with_tool(ToolAdapter::new(tool))
}

/// The end state: the ids of all entries, and the files with their texts.
async fn run(sim: &mut Sim) -> (BTreeSet<String>, BTreeMap<String, String>) {
    let question = sim.make_question(RunSettings::default());
    let session = question.session_key();
    let given = NewFile {
        name: FileName::new("orders.csv").unwrap(),
        description: String::new(),
        internal: false,
        media_type: "text/csv".to_owned(),
        uploaded: false,
        writer: session.owner.clone(),
    };
    sim.ports.store.write_file(&session, &given, b"a\n1\n").await.unwrap();
    let entries = sim.run_to_end(&question).await.unwrap();
    let lines = visible(&entries);
    let ids = lines.iter().filter_map(|line| line.split(' ').next()).map(str::to_owned);
    let mut files = BTreeMap::new();
    for file in sim.ports.store.list_files(&session).await.unwrap() {
        let bytes = sim.ports.store.read_file(&session, &file, file.size).await.unwrap();
        files.insert(file.name.to_string(), String::from_utf8(bytes).unwrap());
    }
    (ids.collect(), files)
}

#[tokio::test(start_paused = true)]
async fn a_death_at_any_point_changes_neither_queries_nor_the_analysis() {
    let points = Points::new();
    let expected = run(&mut sim(points.clone(), lines())).await;
    let analysis = &expected.1["Lengths.md"];
    for words in ["It is 9 [q2], not 7.", "contains: 7.", "**[q2] Length?**", "SELECT 22"] {
        assert!(analysis.contains(words), "{words}: {analysis}");
    }
    assert!(!analysis.contains("SELECT 1\n"), "{analysis}");
    assert_eq!(expected.1["query-t1.c1-1.csv"], "a\n8\n");
    assert_eq!(expected.1["query-t1.c1-2.csv"], "a\n9\n");
    let passed = points.passed_points();
    assert!(passed.len() > 40, "{} points", passed.len());
    for (at, point) in passed.iter().enumerate().filter(|(_, point)| point.process != 0) {
        let mut sim = sim(Points::killing_at(at), lines());
        let name = format!("process {} dies at {} ({at})", point.process, point.name);
        assert_eq!(run(&mut sim).await, expected, "{name}");
        assert!(!sim.has_alarm(), "an alarm is left: {name}");
    }
}
