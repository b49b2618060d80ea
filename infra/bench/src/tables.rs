//! Questions over tables: queries relative to `print(1)`, and the list of many tables for the model.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, anyhow, ensure};
use djinn_agents::DatabaseRelation;
use djinn_core::id::{FileName, RequestId, RunId, SessionName, TenantId};
use djinn_core::language::Language;
use djinn_core::time_zone::TimeZone;
use djinn_runtime::port::database::{
    Database, DatabaseConnection, DatabaseError, DatabaseQuery, DatabaseRows, DatabaseTable,
};
use djinn_runtime::port::sandbox::table::{QueryColumn, QueryTable, QueryText, TableColumn};
use djinn_runtime::port::sandbox::{
    JobContext, JobEnd, Sandbox as _, SandboxFile, SandboxJob, SandboxWork,
};
use djinn_runtime::port::tool::{BoxFuture, Tool, ToolContext};
use djinn_runtime::port::tool_progress::ToolProgress;
use djinn_scripted::Script;
use sandbox::LocalSandbox;
use serde_json::{Map, Value, json};

use crate::agent_server::{AgentOptions, AgentServer};
use crate::backend::Backend;
use crate::figure::{Figure, FigureLimit};
use crate::sample::Sample;
use crate::sandbox::{InstantSandbox, bench_session, run_block};

/// Timed queries of each size and timed lists, after a warm-up.
const TIMED: usize = 20;
const WARM_UP: usize = 3;

/// The numbers of rows, with the names of their figures and their targets.
const SIZES: [(usize, &str, f64); 2] = [
    (75_000, "`run_sql` over 75 000 rows of Parquet, against `print(1)`, medians", 4.0),
    (1_500_000, "`run_sql` over 1.5 million rows of Parquet, against `print(1)`, medians", 9.0),
];
const SQL: &str = "SELECT region, sum(amount) AS total FROM orders WHERE day >= DATE '2024-01-01' \
                   GROUP BY 1 ORDER BY 2 DESC";
/// The columns of the orders, with their types.
const COLUMNS: [(&str, &str); 4] =
    [("id", "integer"), ("day", "date"), ("region", "text"), ("amount", "decimal")];
const PARQUET: &str = "orders.parquet";

/// Tables that `find_tables` lists, the columns of each, and the values of each column.
const TABLES: usize = 100;
const TABLE_COLUMNS: usize = 50;
const VALUES: usize = 12;

/// Compares a query with `print(1)`, in turns.
pub(crate) async fn measure_queries(sandbox: &LocalSandbox, python: &Path) -> Result<Vec<Figure>> {
    let mut figures = Vec::with_capacity(SIZES.len());
    for (rows, name, most) in SIZES {
        let content = write_orders(python, rows)?;
        let megabytes = content.len() as f64 / 1e6;
        let mut print = Sample::default();
        let mut query = Sample::default();
        for nth in 0..WARM_UP + TIMED {
            let print_took = run_block(sandbox, "print(1)").await?;
            let query_took = run_query(sandbox, &content).await?;
            if nth >= WARM_UP {
                print.add(print_took);
                query.add(query_took);
            }
        }
        let (query, print) = (query.median(), print.median());
        figures.push(Figure {
            name,
            limit: FigureLimit::AtMost(most),
            unit: "×",
            measured: query / print,
            about: format!("{query:.0} ms and {print:.0} ms; a file of {megabytes:.1} MB"),
        });
    }
    Ok(figures)
}

/// Returns a Parquet file with orders of two years and five regions.
fn write_orders(python: &Path, rows: usize) -> Result<Vec<u8>> {
    let folder = tempfile::tempdir()?;
    let orders = format!(
        "SELECT i AS id, DATE '2023-01-01' + CAST(hash(i) % 730 AS INTEGER) AS day, \
         'Region ' || hash(i + 1) % 5 AS region, CAST(hash(i + 2) % 10000 AS DECIMAL(9, 2)) AS amount \
         FROM range({rows}) AS numbers(i)"
    );
    let code =
        format!("import duckdb; duckdb.sql(\"\"\"{orders}\"\"\").write_parquet('{PARQUET}')");
    let status = Command::new(python).args(["-c", &code]).current_dir(folder.path()).status()?;
    ensure!(status.success(), "DuckDB wrote no orders: {status}");
    Ok(fs::read(folder.path().join(PARQUET))?)
}

async fn run_query(sandbox: &LocalSandbox, content: &[u8]) -> Result<Duration> {
    let parquet = FileName::new(PARQUET)?;
    let column = |(name, kind): (&str, &str)| QueryColumn { name: name.into(), kind: kind.into() };
    let table = QueryTable {
        name: "orders".to_owned(),
        parquet: Some(parquet.clone()),
        database: None,
        columns: COLUMNS.map(column).into(),
    };
    let work = SandboxWork::Query {
        tables: vec![table],
        queries: vec![QueryText { question: String::new(), sql: SQL.to_owned() }],
        accepted: Vec::new(),
        seconds: 20,
        time_zone: TimeZone::default(),
    };
    let files = vec![SandboxFile { name: parquet, content: content.to_vec() }];
    let job = SandboxJob { work, files, state: Vec::new() };
    let context = JobContext::new(&bench_session()?);
    let began = Instant::now();
    let answer = sandbox.run_job(&context, job).await?;
    let took = began.elapsed();
    let rows = answer.value.pointer("/results/0/row_count").and_then(Value::as_u64);
    ensure!(answer.end == JobEnd::Done && rows == Some(5), "{:?}: {}", answer.end, answer.value);
    Ok(took)
}

/// A database whose tables have many columns.
struct WideDatabase;

impl Database for WideDatabase {
    fn describe<'a>(
        &'a self,
        _: &'a DatabaseConnection,
        _: &'a DatabaseRelation,
        _: &'a TenantId,
        _: TimeZone,
    ) -> BoxFuture<'a, Result<DatabaseTable, DatabaseError>> {
        let column = |nth: usize| TableColumn {
            name: format!("column_{nth}"),
            kind: "text".to_owned(),
            distinct: VALUES as u64,
            samples: (0..VALUES).map(|value| format!("value {value}")).collect(),
            ..TableColumn::default()
        };
        let columns: Vec<TableColumn> = (0..TABLE_COLUMNS).map(column).collect();
        let names = columns.iter().map(|column| column.name.clone()).collect();
        let foreign_keys = Vec::new();
        let table = DatabaseTable { rows: 1_000, columns, names, keys: Vec::new(), foreign_keys };
        Box::pin(async { Ok(table) })
    }

    fn query<'a>(
        &'a self,
        _: &'a DatabaseConnection,
        _: &'a DatabaseQuery,
    ) -> BoxFuture<'a, Result<DatabaseRows, DatabaseError>> {
        Box::pin(async { Err(DatabaseError::Changed) })
    }
}

/// Measures a call of `find_tables` in a run without earlier calls. The tables were described before.
pub(crate) async fn measure_find_tables() -> Result<Figure> {
    let folder = tempfile::tempdir()?;
    write_tables(folder.path())?;
    let backend = Backend::start(Script::default()).await?;
    let variables = vec![("DJINN_CONFIG", folder.path().to_str().context("no UTF-8")?.to_owned())];
    let changes = AgentOptions {
        code: Some(Arc::new(InstantSandbox)),
        database: Some(Arc::new(WideDatabase)),
        variables,
        ..AgentOptions::default()
    };
    let agent = AgentServer::start(&backend.address(), changes).await?;
    let tool = agent.ports().tools.find_tool("find_tables").context("no such tool")?;
    let mut sample = Sample::default();
    let mut characters = 0;
    for nth in 0..WARM_UP + TIMED {
        let began = Instant::now();
        characters = count_listed(&*tool, nth).await?;
        if nth >= WARM_UP {
            sample.add(began.elapsed());
        }
    }
    Ok(Figure {
        name: "`find_tables` over 100 tables of 50 columns with 12 values each, median",
        limit: FigureLimit::AtMost(20.0),
        unit: "ms",
        measured: sample.median(),
        about: format!("p95 {:.1} ms of {TIMED}; a text of {characters} bytes", sample.p95()),
    })
}

/// Writes the files of tables of one database.
fn write_tables(folder: &Path) -> Result<()> {
    let connection = "[connections.shop]\nhost = \"localhost\"\ndatabase = \"shop\"\nuser = \"djinn\"\n\
                      password = \"iam\"\n";
    fs::write(folder.join("djinn.toml"), connection)?;
    fs::create_dir(folder.join("tables"))?;
    let mut text = String::new();
    for nth in 0..TABLES {
        text.clear();
        write!(text, "---\nname: sales_of_store_{nth}\nsource: shop\n---\n")?;
        fs::write(folder.join(format!("tables/sales_of_store_{nth}.md")), &text)?;
    }
    Ok(())
}

/// Calls `find_tables` in a run of its own, and returns the size of the text for the model.
async fn count_listed(tool: &dyn Tool, nth: usize) -> Result<usize> {
    let session = bench_session()?;
    let request = RequestId::new(format!("tables-{nth}"))?;
    let context = ToolContext {
        run: RunId::of(&session.tenant, &session.owner, &SessionName::new("bench")?, &request),
        path: "".parse().context("the path of a root")?,
        user: session.owner.clone(),
        session,
        files: Vec::new(),
        call: "t1.c1".parse().context("the id of a call")?,
        attempt: 1,
        interrupts: 0,
        language: Language::En,
        time_zone: TimeZone::default(),
        max_observe: 100_000,
        max_input_tokens: 0,
        state: None,
        mask_pii: false,
        progress: ToolProgress::default(),
    };
    let arguments: Map<String, Value> =
        json!({"task": "Which store sells most?"}).as_object().cloned().unwrap_or_default();
    let output = tool.run(&context, &arguments).await.map_err(|error| anyhow!("{error:?}"))?;
    let last = format!("sales_of_store_{}", TABLES - 1);
    ensure!(output.text.contains(&last), "a table is missing: {}", output.text);
    Ok(output.text.len())
}
