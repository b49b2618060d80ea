//! Hostile statements that the check rejects, sent to the server without the check.

use std::path::Path;

use djinn_agents::DatabaseRelation;
use djinn_local::PostgresDatabase;
use djinn_runtime::port::database::{Database as _, DatabaseView};
use serde::Deserialize;
use tokio_postgres::Client;

use super::ORDERS;
use super::adapter::{orders, query};
use super::server::Server;

/// The statements of the check's own test.
#[derive(Deserialize)]
struct Statements {
    statements: Vec<(String, String)>,
    value_places: Vec<String>,
    source_places: Vec<String>,
    values: Vec<String>,
    sources: Vec<String>,
}

/// The parts of statements that the form of the query and the server accept: they read more than the table, or change
/// the state of a session that ends. The check alone protects from them.
const ACCEPTED: [&str; 42] = [
    "SELECT 1) AS q, (SELECT 2",
    "FOR UPDATE",
    "FOR SHARE",
    "$1",
    "$2",
    "public.orders",
    "pg_user",
    "WITH RECURSIVE",
    "pg_sleep(0)",
    "OPERATOR(pg_catalog.+)",
    "ONLY orders",
    "E'a\\'; SELECT 2; --'",
    "date_bin('1 day', d, '2024-01-01')",
    "json_table",
    "current_user",
    "session_user",
    "current_catalog",
    "current_schema",
    "version()",
    "'pg_authid'::regclass",
    "regclass 'pg_authid'",
    "\"pg_sleep\"(0)",
    "set_config",
    "pg_notify",
    "pg_advisory_lock",
    "pg_try_advisory_lock",
    "pg_terminate_backend",
    "pg_cancel_backend",
    "current_setting",
    "txid_current",
    "pg_backend_pid",
    "inet_server_addr",
    "to_regclass",
    "pg_current_wal_lsn",
    "pg_get_viewdef",
    "pg_export_snapshot",
    "pg_stat_activity",
    "pg_class",
    "pg_settings",
    "information_schema.tables",
    "pg_listening_channels",
    "pg_show_all_settings",
];

fn list_statements() -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../functions/sandbox/tests/tables/postgres.toml");
    let text = std::fs::read_to_string(path).unwrap();
    let Statements { statements, value_places, source_places, values, sources } =
        toml::from_str(&text).unwrap();
    let mut all: Vec<String> = statements.into_iter().map(|(_, sql)| sql).collect();
    for place in &value_places {
        all.extend(values.iter().map(|value| place.replace("{value}", value)));
    }
    for place in &source_places {
        all.extend(sources.iter().map(|source| place.replace("{source}", source)));
    }
    all
}

/// Returns a table of the statements, which have columns that the real one does not have.
fn view(name: &str) -> DatabaseView {
    let rows = "SELECT id, owner, id AS a, region AS b, paid::date AS d FROM public.orders";
    DatabaseView {
        name: name.to_owned(),
        relation: DatabaseRelation::Query(rows.to_owned()),
        columns: ["id", "owner", "a", "b", "d"].map(str::to_owned).to_vec(),
        ..orders(Some("owner = {user}"))
    }
}

/// Returns all that a statement could have changed, as text.
async fn read_state(admin: &Client) -> String {
    let state = "SELECT (SELECT string_agg(o::text, ';' ORDER BY id) FROM orders o)::text, \
        (SELECT string_agg(relname, ',' ORDER BY relname) FROM pg_class WHERE relnamespace = 'public'::regnamespace), \
        (SELECT string_agg(rolname, ',' ORDER BY rolname) FROM pg_roles), \
        (SELECT last_value::text || is_called FROM numbers), (SELECT count(*)::text FROM pg_largeobject_metadata), \
        (SELECT count(*)::text FROM pg_proc), (SELECT string_agg(word, ',') FROM secrets), \
        (SELECT count(*)::text FROM pg_extension)";
    let row = admin.query_one(state, &[]).await.unwrap();
    let texts = (0..row.len()).map(|place| row.get::<_, Option<String>>(place).unwrap_or_default());
    texts.collect::<Vec<_>>().join("|")
}

#[tokio::test]
#[ignore = "needs a PostgreSQL: cargo verify --only data"]
async fn without_the_check_no_statement_writes_and_the_accepted_ones_are_known() {
    let server = Server::start(ORDERS).await;
    let (admin, connection) = (server.admin().await, server.connection());
    let before = read_state(&admin).await;
    let statements = list_statements();
    assert!(statements.len() >= 240, "{}", statements.len());
    let mut accepted = Vec::new();
    for statement in &statements {
        let sent = query(statement, vec![view("orders"), view("客户")]);
        if PostgresDatabase::default().query(&connection, &sent).await.is_ok() {
            accepted.push(statement);
        }
    }
    assert_eq!(read_state(&admin).await, before);
    let is_known = |statement: &&&String| !ACCEPTED.iter().any(|part| statement.contains(part));
    let unknown: Vec<_> = accepted.iter().filter(is_known).collect();
    let is_rejected = |part: &&&str| !accepted.iter().any(|statement| statement.contains(**part));
    let rejected: Vec<_> = ACCEPTED.iter().filter(is_rejected).collect();
    assert!(unknown.is_empty() && rejected.is_empty(), "{unknown:#?} {rejected:#?}");
    println!("{} statements, {} accepted without the check", statements.len(), accepted.len());
}
