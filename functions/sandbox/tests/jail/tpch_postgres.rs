//! The 22 queries of TPC-H over PostgreSQL: checked, written again and run, they return the rows that DuckDB returns.

use bytes::Bytes;
use djinn_agents::DatabaseRelation;
use djinn_core::id::{FileName, TenantId, UserId};
use djinn_core::time_zone::TimeZone;
use djinn_postgres::PostgresDatabase;
use djinn_runtime::port::UserKey;
use djinn_runtime::port::database::{
    Database as _, DatabaseConnection, DatabaseQuery, DatabaseView,
};
use djinn_runtime::port::sandbox::table::{
    CheckedStatement, DatabaseSource, FetchedResult, QueryColumn, QueryTable, QueryValue, SqlResult,
};
use djinn_runtime::port::sandbox::{JobEnd, SandboxFile, SandboxJob, SandboxWork};
use futures::SinkExt as _;
use serde_json::Value;

use crate::postgres_server::Server;
use crate::python::{TestSandbox, start};
use crate::tpch::{
    QUERIES_OF_JOB, generate_tables, list_queries, run_over_files, run_queries, show_rows,
};
use crate::tpch_questions::answer_over_postgres;

/// The tables with their keys, in the order of the columns of the generator.
const TABLES: &str = "
    CREATE TABLE region (r_regionkey int PRIMARY KEY, r_name text, r_comment text);
    CREATE TABLE nation (n_nationkey int PRIMARY KEY, n_name text, n_regionkey int, n_comment text);
    CREATE TABLE supplier (s_suppkey int PRIMARY KEY, s_name text, s_address text, s_nationkey int, s_phone text,
      s_acctbal numeric, s_comment text);
    CREATE TABLE customer (c_custkey int PRIMARY KEY, c_name text, c_address text, c_nationkey int, c_phone text,
      c_acctbal numeric, c_mktsegment text, c_comment text);
    CREATE TABLE part (p_partkey int PRIMARY KEY, p_name text, p_mfgr text, p_brand text, p_type text, p_size int,
      p_container text, p_retailprice numeric, p_comment text);
    CREATE TABLE partsupp (ps_partkey int, ps_suppkey int, ps_availqty int, ps_supplycost numeric, ps_comment text,
      PRIMARY KEY (ps_partkey, ps_suppkey));
    CREATE TABLE orders (o_orderkey int PRIMARY KEY, o_custkey int, o_orderstatus text, o_totalprice numeric,
      o_orderdate date, o_orderpriority text, o_clerk text, o_shippriority int, o_comment text);
    CREATE TABLE lineitem (l_orderkey int, l_partkey int, l_suppkey int, l_linenumber int, l_quantity numeric,
      l_extendedprice numeric, l_discount numeric, l_tax numeric, l_returnflag text, l_linestatus text, l_shipdate date,
      l_commitdate date, l_receiptdate date, l_shipinstruct text, l_shipmode text, l_comment text,
      PRIMARY KEY (l_orderkey, l_linenumber));";

/// Copies the files into the tables.
async fn fill(server: &Server, files: &[SandboxFile]) {
    let admin = server.admin().await;
    for file in files {
        let table = file.name.as_str().trim_end_matches(".csv");
        let copy = format!("COPY {table} FROM STDIN (FORMAT csv, HEADER true)");
        let mut sink = Box::pin(admin.copy_in(&copy).await.unwrap());
        sink.send(Bytes::from(file.content.clone())).await.unwrap();
        assert!(sink.as_mut().finish().await.unwrap() > 0, "{table}");
    }
    let rights = "GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader; ANALYZE";
    admin.batch_execute(rights).await.unwrap();
}

fn relation(name: &str) -> DatabaseRelation {
    DatabaseRelation::Table { schema: "public".to_owned(), name: name.to_owned() }
}

async fn describe(connection: &DatabaseConnection, files: &[SandboxFile]) -> Vec<QueryTable> {
    let (database, tenant) = (PostgresDatabase::default(), TenantId::new("local").unwrap());
    let mut tables = Vec::new();
    for file in files {
        let name = file.name.as_str().trim_end_matches(".csv").to_owned();
        let described =
            database.describe(connection, &relation(&name), &tenant, TimeZone::default()).await;
        let described = described.unwrap();
        let columns = described.columns.into_iter();
        let columns = columns.map(|column| QueryColumn { name: column.name, kind: column.kind });
        let source = DatabaseSource {
            connection: "tpch".to_owned(),
            keys: described.keys,
            ..DatabaseSource::default()
        };
        tables.push(QueryTable {
            name,
            parquet: None,
            database: Some(source),
            columns: columns.collect(),
        });
    }
    tables
}

/// Returns a checked query for the database.
pub(crate) fn database_query(tables: &[QueryTable], statement: &CheckedStatement) -> DatabaseQuery {
    let view = |name: &String| {
        let table = tables.iter().find(|table| table.name == *name).unwrap();
        let columns = table.columns.iter().map(|column| column.name.clone());
        DatabaseView {
            name: name.clone(),
            relation: relation(name),
            columns: columns.collect(),
            condition: None,
        }
    };
    let (tenant, user) = (TenantId::new("local").unwrap(), UserId::new("you").unwrap());
    DatabaseQuery {
        text: statement.text.clone(),
        views: statement.tables.iter().map(view).collect(),
        user: UserKey { tenant, user },
        time_zone: TimeZone::default(),
        max_rows: 10_000,
        max_bytes: 10_000_000,
        timeout_ms: 50_000,
    }
}

/// Returns the rows of a checked query, as a result shows them.
pub(crate) async fn fetch(
    sandbox: &TestSandbox,
    connection: &DatabaseConnection,
    tables: &[QueryTable],
    result: SqlResult,
) -> Vec<Vec<Value>> {
    let statement = result.statement.unwrap();
    let query = database_query(tables, &statement);
    let rows = PostgresDatabase::default().query(connection, &query).await.unwrap();
    let name = FileName::new("rows-1.jsonl").unwrap();
    let fetched = FetchedResult {
        number: 1,
        question: String::new(),
        sql: result.sql,
        filters: result.filters,
        notes: result.notes,
        facts: statement.facts,
        has_condition: statement.has_condition,
        reason: None,
        is_cut: rows.is_cut,
        columns: rows.columns,
        file: name.clone(),
    };
    let work = SandboxWork::ShowRows { results: vec![fetched] };
    let files = vec![SandboxFile { name, content: rows.rows.join("\n").into_bytes() }];
    let answer = sandbox.run(SandboxJob { work, files, state: Vec::new() }).await;
    assert_eq!(answer.end, JobEnd::Done, "{answer:?}");
    let value: QueryValue = serde_json::from_value(answer.value).unwrap();
    serde_json::from_str(&value.results[0].rows).unwrap()
}

#[tokio::test]
#[ignore = "needs a Python and a PostgreSQL: cargo verify --only data"]
async fn queries_and_questions_of_tpch_have_the_same_rows_in_postgres() {
    let sandbox = start().with_seconds(100);
    let files = generate_tables();
    let queries = list_queries();
    let expected = run_over_files(&files, &queries);
    let server = Server::start(TABLES).await;
    fill(&server, &files).await;
    let connection = server.connection();
    let tables = describe(&connection, &files).await;
    let checked = (tables.clone(), Vec::new());
    let mut equal = 0;
    for (chunk, queries) in queries.chunks(QUERIES_OF_JOB).enumerate() {
        let results = run_queries(&sandbox, &checked, queries, queries).await;
        for (place, result) in results.into_iter().enumerate() {
            let place = chunk * QUERIES_OF_JOB + place;
            assert_eq!(result.error, None, "query {}", place + 1);
            let rows = fetch(&sandbox, &connection, &tables, result).await;
            assert_eq!(show_rows(&rows), show_rows(&expected[place]), "query {}", place + 1);
            equal += 1;
        }
    }
    println!("TPC-H over PostgreSQL: {equal} of {}", queries.len());
    assert_eq!(equal, 22);
    answer_over_postgres(&sandbox, &connection, &tables).await;
}
