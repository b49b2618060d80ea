//! The agents over tables, with their real tools, while processes die around them: the same queries under the same
//! labels, the same files, and one answer.

use std::sync::Arc;
use std::time::Duration;

use djinn_core::language::Language;
use djinn_runtime::port::sandbox::{SandboxJob, SandboxWork};
use djinn_runtime::port::tool::Toolbox;
use djinn_runtime::question::UserQuestion;
use djinn_runtime::settings::Settings;
use djinn_testkit::point::Points;
use djinn_testkit::sim::Sim;
use djinn_testkit::story::StoryLine;
use djinn_tools::cite_queries_tool::CiteQueriesTool;
use djinn_tools::query_tool::QueryTool;
use djinn_tools::table_catalog::TableCatalog;
use djinn_tools::table_tool::TableTool;
use serde_json::{Value, json};

use crate::agent_story::{
    EndState, JobResult, ask_with_file, end_state, product, sim_of, survive_deaths, with_tool,
};

/// Reads `orders.csv` as a table, and answers every query with the length of its text.
fn do_job(job: SandboxJob) -> JobResult {
    let (products, value) = match job.work {
        SandboxWork::ReadTables { .. } => {
            let table = json!({
                "table": "orders", "parquet": "orders.parquet", "rows": 1,
                "columns": [{"name": "a", "type": "integer"}],
            });
            let value = json!({"orders.csv": {"tables": [table]}});
            (vec![product("orders.parquet", "data".to_owned())], value)
        }
        SandboxWork::Query { queries, .. } => {
            let length = |sql: &str| sql.len().to_string();
            let names = (1..).map(|number| format!("query-{number}.csv"));
            let products = queries.iter().zip(names.clone());
            let products = products
                .map(|(query, name)| product(&name, format!("a\n{}\n", length(&query.sql))));
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
    (products, value, String::new())
}

fn query(sql: &str) -> Value {
    json!({"queries": [{"question": "Length?", "sql": sql}]})
}

/// An analysis with two calls, of which the answer cites the second. `SELECT 22` has 9 letters.
fn analysis_lines() -> Vec<(&'static str, StoryLine)> {
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

/// A run that is the agent for one question.
fn query_lines() -> Vec<(&'static str, StoryLine)> {
    let line = StoryLine::say("I count.").with_call("run_sql", query("SELECT 22"));
    vec![("t1", line.with_latency(Duration::from_millis(70)))]
}

fn sim(points: Points, lines: Vec<(&'static str, StoryLine)>) -> Sim {
    let names = ["find_tables", "run_sql", "find_insights", "cite_queries", "python"];
    sim_of(points, lines, do_job, &names, |parts| {
        let (store, prompts, sandbox) = (parts.store(), parts.prompts(), parts.sandbox());
        let catalog = Arc::new(TableCatalog::default());
        let tables = Arc::clone(&catalog);
        let table = TableTool::new(parts.store(), parts.prompts(), parts.sandbox(), tables);
        let tools = with_tool(Toolbox::default(), table);
        let tools = with_tool(tools, QueryTool::new(store, prompts, sandbox, catalog));
        with_tool(tools, CiteQueriesTool::new(parts.store(), parts.prompts()))
    })
}

async fn analyse(sim: &mut Sim) -> EndState {
    let question = ask_with_file(sim, "orders.csv").await;
    end_state(sim, &question).await
}

/// The question to the mode `data_query`.
async fn data_question(sim: &Sim) -> UserQuestion {
    let mut question = ask_with_file(sim, "orders.csv").await;
    let modes = sim.ports.tools.list_modes(Language::En);
    let mode = modes.into_iter().find(|mode| mode.name == "data_query").unwrap();
    question.spec.agent = Some(Box::new(mode));
    question
}

async fn ask_data(sim: &mut Sim) -> EndState {
    let question = data_question(sim).await;
    end_state(sim, &question).await
}

#[tokio::test(start_paused = true)]
async fn a_death_at_any_point_changes_neither_queries_nor_the_analysis() {
    let sim_at = |points| sim(points, analysis_lines());
    let (_, files) = survive_deaths(40, sim_at, analyse).await;
    let analysis = &files["Lengths.md"];
    for words in ["It is 9 [q2], not 7.", "contains: 7.", "**[q2] Length?**", "SELECT 22"] {
        assert!(analysis.contains(words), "{words}: {analysis}");
    }
    assert!(!analysis.contains("SELECT 1\n"), "{analysis}");
    assert_eq!(files["query-t1.c1-1.csv"], "a\n8\n");
    assert_eq!(files["query-t1.c1-2.csv"], "a\n9\n");
}

#[tokio::test(start_paused = true)]
async fn a_death_at_any_point_changes_neither_the_query_of_a_question_nor_its_rows() {
    let sim_at = |points| sim(points, query_lines());
    let (ids, files) = survive_deaths(15, sim_at, ask_data).await;
    assert!(ids.contains("t1.c1.result"), "{ids:?}");
    assert_eq!(files["query-1.csv"], "a\n9\n");
}

/// An invocation has no time for a further job once the first has returned.
#[tokio::test(start_paused = true)]
async fn a_question_that_is_handed_over_between_its_calls_ends_the_same() {
    let mut short = sim(Points::new(), query_lines());
    short.invocation = Some(Duration::from_millis(61_020));
    let hand_over_margin = Duration::from_secs(1);
    short.ports.settings = Settings { hand_over_margin, ..Settings::default() }.into();
    let expected = ask_data(&mut sim(Points::new(), query_lines())).await;
    assert_eq!(ask_data(&mut short).await, expected);
    let kicks = short.points.point_names().iter().filter(|name| *name == "after kick").count();
    assert!(kicks >= 1, "no handoff");
}
