use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use djinn_agents::{DatabaseRelation, TableFile};
use djinn_core::id::{SessionId, TenantId, UserId};
use djinn_runtime::port::database::{
    Database, DatabaseConnection, DatabasePassword, DatabaseTable, NoDatabase,
};
use djinn_runtime::port::sandbox::DisabledSandbox;
use djinn_runtime::port::sandbox::table::ConditionProbe;
use djinn_runtime::port::tool::BoxFuture;

use super::*;

/// A database without rows, whose queries without a condition never end.
struct SlowDatabase {
    is_cut: bool,
    probes: Arc<AtomicUsize>,
}

impl Database for SlowDatabase {
    fn describe<'a>(
        &'a self,
        connection: &'a DatabaseConnection,
        relation: &'a DatabaseRelation,
        tenant: &'a TenantId,
        time_zone: TimeZone,
    ) -> BoxFuture<'a, Result<DatabaseTable, DatabaseError>> {
        NoDatabase.describe(connection, relation, tenant, time_zone)
    }

    fn query<'a>(
        &'a self,
        _: &'a DatabaseConnection,
        query: &'a DatabaseQuery,
    ) -> BoxFuture<'a, Result<DatabaseRows, DatabaseError>> {
        Box::pin(async move {
            if query.text == "probe" {
                assert_eq!(query.timeout_ms, 1_500);
                self.probes.fetch_add(1, Ordering::Relaxed);
                return std::future::pending().await;
            }
            Ok(DatabaseRows { is_cut: self.is_cut, ..DatabaseRows::default() })
        })
    }
}

fn table() -> DescribedTable {
    let file = TableFile {
        name: "orders".to_owned(),
        title: None,
        source: "shop".to_owned(),
        relation: Some(DatabaseRelation::Query("SELECT 1".to_owned())),
        sheet: None,
        sql: None,
        tenants: Vec::new(),
        rows: None,
        columns: Vec::new(),
        joins: Vec::new(),
        rules: String::new(),
    };
    let connection = DatabaseConnection {
        host: "localhost".to_owned(),
        port: 5432,
        database: "shop".to_owned(),
        user: "djinn".to_owned(),
        password: DatabasePassword::Iam,
        ca: None,
    };
    let source = DatabaseSource { connection: "shop".to_owned(), ..DatabaseSource::default() };
    DescribedTable {
        name: "orders".to_owned(),
        table: CatalogTable {
            file: Arc::new(file),
            sha256: "".into(),
            connection: Some(Arc::new(connection)),
        },
        description: FileTable { database: Some(source), ..FileTable::default() },
    }
}

/// Runs eight queries without rows, each of three conditions, and returns the number of probes.
async fn count_probes(is_cut: bool) -> usize {
    let probes = Arc::new(AtomicUsize::new(0));
    let database = SlowDatabase { is_cut, probes: Arc::clone(&probes) };
    let catalog = TableCatalog::new(Arc::new(database));
    let user =
        UserKey { tenant: TenantId::new("acme").unwrap(), user: UserId::new("ann").unwrap() };
    let job = JobContext::new(&user.session_key(&SessionId::new("s").unwrap()));
    let probe = ConditionProbe { text: "probe".to_owned(), ..ConditionProbe::default() };
    let statement = CheckedStatement {
        connection: "shop".to_owned(),
        tables: vec!["orders".to_owned()],
        probes: vec![probe; 3],
        ..CheckedStatement::default()
    };
    let result = SqlResult { statement: Some(statement), ..SqlResult::default() };
    let mut value = QueryValue { results: vec![result; 8] };
    let queries = DatabaseQueries {
        catalog: &catalog,
        sandbox: &DisabledSandbox(String::new()),
        job: &job,
        tables: &[table()],
        user: &user,
        time_zone: TimeZone::default(),
        seconds: 20,
    };
    let end = queries.fetch(&mut value, &mut Vec::new()).await;
    assert_eq!(end, Err(SandboxError::Disabled(String::new())));
    probes.load(Ordering::Relaxed)
}

#[tokio::test(start_paused = true)]
async fn probe_that_never_ends_is_given_up_and_a_cut_result_has_none() {
    assert_eq!(count_probes(true).await, 0);
    assert_eq!(count_probes(false).await, 1);
}
