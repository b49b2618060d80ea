//! Questions over TPC-H with known answers, and wrong queries that are right after at most two repairs.

use djinn_postgres::PostgresDatabase;
use djinn_runtime::port::database::{Database as _, DatabaseConnection, DatabaseError};
use djinn_runtime::port::sandbox::SandboxFile;
use djinn_runtime::port::sandbox::table::{QueryTable, SqlResult};
use serde::Deserialize;
use serde_json::Value;

use crate::python::TestSandbox;
use crate::tpch::{QUERIES_OF_JOB, run_queries, show_row};
use crate::tpch_postgres::{database_query, fetch};

/// Repairs of a query until it must be right.
const MAX_REPAIRS: usize = 2;

/// The questions and the wrong queries.
#[derive(Deserialize)]
struct Suite {
    questions: Vec<KnownQuestion>,
    wrong: Vec<WrongQuery>,
}

/// A question with the rows of its answer.
#[derive(Deserialize)]
struct KnownQuestion {
    ask: String,
    sql: String,
    rows: Vec<Vec<Value>>,
}

/// A query that fails or has no rows, with the codes of its attempts.
#[derive(Deserialize)]
struct WrongQuery {
    /// The number of the question that it answers in the end.
    answers: usize,
    codes: Vec<String>,
    sql: String,
    fixed: Option<String>,
}

fn read_suite() -> Suite {
    let suite: Suite = toml::from_str(include_str!("tpch_questions.toml")).unwrap();
    assert_eq!((suite.questions.len(), suite.wrong.len()), (60, 40));
    suite
}

fn show(rows: &[Vec<Value>]) -> Vec<String> {
    rows.iter().map(|row| show_row(row)).collect()
}

fn read_rows(result: &SqlResult) -> Vec<Vec<Value>> {
    serde_json::from_str(&result.rows).unwrap()
}

/// Returns the code of an error, or of a result without rows.
fn code_of(result: &SqlResult) -> Option<String> {
    let is_empty = result.notes.iter().any(|note| note.code == "no_rows");
    let code = result.error.as_ref().map(|error| error.code.clone());
    code.or_else(|| is_empty.then(|| "no_rows".to_owned()))
}

/// Answers each question in the order of its rows.
pub(crate) async fn answer_questions(
    sandbox: &TestSandbox,
    tables: &(Vec<QueryTable>, Vec<SandboxFile>),
) {
    let suite = read_suite();
    for questions in suite.questions.chunks(QUERIES_OF_JOB) {
        let queries: Vec<&str> = questions.iter().map(|question| question.sql.as_str()).collect();
        let results = run_queries(sandbox, tables, &queries, &[]).await;
        for (question, result) in questions.iter().zip(results) {
            assert_eq!(code_of(&result), None, "{}: {result:?}", question.ask);
            assert_eq!(show(&read_rows(&result)), show(&question.rows), "{}", question.ask);
        }
    }
    println!("questions over TPC-H: {} right", suite.questions.len());
}

/// Runs each wrong query, and repairs it as its errors say.
pub(crate) async fn repair_queries(
    sandbox: &TestSandbox,
    tables: &(Vec<QueryTable>, Vec<SandboxFile>),
) {
    let suite = read_suite();
    let mut texts: Vec<String> = suite.wrong.iter().map(|query| query.sql.clone()).collect();
    let mut codes: Vec<Vec<String>> = vec![Vec::new(); texts.len()];
    for attempt in 0..=MAX_REPAIRS {
        let mut results = Vec::new();
        for chunk in texts.chunks(QUERIES_OF_JOB) {
            let queries: Vec<&str> = chunk.iter().map(String::as_str).collect();
            results.extend(run_queries(sandbox, tables, &queries, &[]).await);
        }
        for (place, result) in results.iter().enumerate() {
            let (wrong, text) = (&suite.wrong[place], &mut texts[place]);
            let Some(code) = code_of(result) else {
                let question = &suite.questions[wrong.answers - 1];
                assert_eq!(show(&read_rows(result)), show(&question.rows), "{text}");
                continue;
            };
            assert!(attempt < MAX_REPAIRS, "{text}: {result:?}");
            codes[place].push(code);
            *text = wrong.fixed.clone().unwrap_or_else(|| repair(text, result));
        }
    }
    for (wrong, codes) in suite.wrong.iter().zip(codes) {
        assert_eq!(codes, wrong.codes, "{}", wrong.sql);
    }
    println!("wrong queries over TPC-H: {} repaired", suite.wrong.len());
}

/// Returns a query with the first name or value that an error or a note offers.
fn repair(sql: &str, result: &SqlResult) -> String {
    if let Some(error) = &result.error {
        let near = error.near.first().unwrap_or_else(|| panic!("{sql}: {error:?}"));
        return replace_word(sql, &error.name, near);
    }
    let note = result.notes.iter().find(|note| note.code == "no_rows").unwrap();
    let near = note.near.first().unwrap_or_else(|| panic!("{sql}: {note:?}"));
    let value = note.filter.split('\'').nth(1).unwrap();
    sql.replace(&format!("'{value}'"), &format!("'{near}'"))
}

fn replace_word(sql: &str, word: &str, replacement: &str) -> String {
    let is_other = |c: char| !(c.is_alphanumeric() || c == '_');
    let pieces = sql.split_inclusive(is_other).map(|piece| {
        let is_word = piece.trim_end_matches(is_other) == word;
        if is_word { piece.replacen(word, replacement, 1) } else { piece.to_owned() }
    });
    pieces.collect()
}

/// Answers each question over PostgreSQL, where no wrong query has rows.
pub(crate) async fn answer_over_postgres(
    sandbox: &TestSandbox,
    connection: &DatabaseConnection,
    tables: &[QueryTable],
) {
    let suite = read_suite();
    let checked = (tables.to_vec(), Vec::new());
    for questions in suite.questions.chunks(QUERIES_OF_JOB) {
        let queries: Vec<&str> = questions.iter().map(|question| question.sql.as_str()).collect();
        let results = run_queries(sandbox, &checked, &queries, &[]).await;
        for (question, result) in questions.iter().zip(results) {
            assert_eq!(result.error, None, "{}", question.ask);
            let rows = fetch(sandbox, connection, tables, result).await;
            assert_eq!(show(&rows), show(&question.rows), "{}", question.ask);
        }
    }
    let (mut stopped, mut failed, mut empty) = (0, 0, 0);
    for wrong in suite.wrong.chunks(QUERIES_OF_JOB) {
        let queries: Vec<&str> = wrong.iter().map(|query| query.sql.as_str()).collect();
        for result in run_queries(sandbox, &checked, &queries, &[]).await {
            let Some(statement) = result.statement else {
                assert!(result.error.is_some(), "{}", result.sql);
                stopped += 1;
                continue;
            };
            let query = database_query(tables, &statement);
            match PostgresDatabase::default().query(connection, &query).await {
                Ok(rows) => {
                    assert!(rows.rows.is_empty(), "{}", result.sql);
                    empty += 1;
                }
                Err(error @ (DatabaseError::UnknownColumn(_) | DatabaseError::Query(_))) => {
                    println!("{error:?}: {}", result.sql);
                    failed += 1;
                }
                Err(error) => panic!("{error:?}: {}", result.sql),
            }
        }
    }
    println!("wrong queries over PostgreSQL: {stopped} stopped, {failed} failed, {empty} empty");
    assert_eq!((stopped, failed, empty), (13, 21, 6));
}
