//! The contract of the database port.

use djinn_agents::DatabaseRelation;
use djinn_core::id::{TenantId, UserId};
use djinn_core::time_zone::TimeZone;
use djinn_local::PostgresDatabase;
use djinn_runtime::port::UserKey;
use djinn_runtime::port::database::{
    Database, DatabaseConnection, DatabaseError, DatabasePassword, DatabaseQuery, DatabaseRows,
    DatabaseView,
};
use djinn_runtime::port::sandbox::table::ForeignKey;
use djinn_runtime::port::secret::Secret;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::ORDERS;
use super::server::{Server, write_certificates};

/// The view of a caller, without the column `cost`.
pub(super) fn orders(condition: Option<&str>) -> DatabaseView {
    DatabaseView {
        name: "orders".to_owned(),
        relation: DatabaseRelation::Table { schema: "public".into(), name: "orders".into() },
        columns: ["id", "owner", "region", "amount", "paid"].map(str::to_owned).to_vec(),
        condition: condition.map(str::to_owned),
    }
}

pub(super) fn query(text: &str, views: Vec<DatabaseView>) -> DatabaseQuery {
    let user =
        UserKey { tenant: TenantId::new("local").unwrap(), user: UserId::new("you").unwrap() };
    DatabaseQuery {
        text: text.to_owned(),
        views,
        user,
        time_zone: TimeZone::default(),
        max_rows: 100,
        max_bytes: 10_000,
        timeout_ms: 20_000,
    }
}

fn values(rows: &DatabaseRows) -> Vec<Value> {
    rows.rows.iter().map(|row| serde_json::from_str(row).unwrap()).collect()
}

#[tokio::test]
#[ignore = "needs a PostgreSQL: cargo verify --only data"]
async fn postgres_fulfils_the_contract_of_a_database() {
    let mut server = Server::start(ORDERS).await;
    let wrong = DatabasePassword::Inline(Secret::new("wrong"));
    let database = PostgresDatabase::default();
    let connection = server.connection();
    fulfils_contract(&mut server, &database, &connection, &wrong).await;
}

/// Tests a database port over a server, which is stopped. `wrong` is another password than the connection's.
pub(super) async fn fulfils_contract(
    server: &mut Server,
    database: &dyn Database,
    connection: &DatabaseConnection,
    wrong: &DatabasePassword,
) {
    rows_and_limits(database, connection).await;
    views_hide_columns_and_rows(database, connection).await;
    descriptions(database, connection).await;
    failures(server, database, connection, wrong).await;
    server.stop();
    let down = database.query(connection, &query("SELECT 1", Vec::new())).await;
    assert_eq!(down, Err(DatabaseError::Unavailable));
}

async fn rows_and_limits(database: &dyn Database, connection: &DatabaseConnection) {
    let text = "SELECT 1 AS a, 12345678901234567890.10::numeric AS a, \
        timestamptz '2024-01-05T16:00:00Z' AS t, ARRAY[1] AS l, 0.5::float8 AS f, NULL::date AS d";
    let shanghai = DatabaseQuery {
        time_zone: TimeZone::parse("Asia/Shanghai").unwrap(),
        ..query(text, Vec::new())
    };
    let rows = database.query(connection, &shanghai).await.unwrap();
    let columns = rows.columns.iter().map(|column| (column.name.as_str(), column.kind.as_str()));
    let expected = [
        ("a", "integer"),
        ("a", "decimal"),
        ("t", "timestamp"),
        ("l", "text"),
        ("f", "number"),
        ("d", "date"),
    ];
    assert_eq!(columns.collect::<Vec<_>>(), expected);
    let lines = "SELECT '[1,\n 2]'::json AS j";
    let row = database.query(connection, &query(lines, Vec::new())).await.unwrap();
    assert_eq!(row.rows, ["{\"j\":[1,  2]}"]);
    // All digits are kept, and a second column of the same name.
    let row = "{\"a\":1,\"a\":12345678901234567890.10,\"t\":\"2024-01-06T00:00:00+08:00\",\"l\":[1],\"f\":0.5,\"d\":null}";
    assert_eq!((rows.rows, rows.is_cut), (vec![row.to_owned()], false));
    let many = "SELECT n FROM generate_series(1, 1000) AS g(n)";
    let rows = database.query(connection, &query(many, Vec::new())).await.unwrap();
    assert_eq!((rows.rows.len(), rows.is_cut), (100, true));
    let wide = "SELECT repeat('x', 4000) AS w FROM generate_series(1, 5) AS g(n)";
    let rows = database.query(connection, &query(wide, Vec::new())).await.unwrap();
    assert_eq!((rows.rows.len(), rows.is_cut), (2, true));
}

async fn views_hide_columns_and_rows(database: &dyn Database, connection: &DatabaseConnection) {
    let own = "owner = {user} AND {tenant} = 'local'";
    let ask =
        async |text: &str| database.query(connection, &query(text, vec![orders(Some(own))])).await;
    let rows = ask("SELECT \"id\", \"region\" FROM \"orders\" ORDER BY \"id\"").await.unwrap();
    let expected = [json!({"id": 1, "region": "East"}), json!({"id": 2, "region": "West"})];
    assert_eq!(values(&rows), expected);
    let whole = ask("SELECT * FROM \"orders\"").await.unwrap();
    assert!(whole.rows.iter().all(|row| !row.contains("9900")), "{whole:?}");
    assert_eq!(
        ask("SELECT \"cost\" FROM \"orders\"").await,
        Err(DatabaseError::UnknownColumn("cost".to_owned()))
    );
    // An error over the rows of others would show their values.
    let cast = "SELECT count(*) AS n FROM \"orders\" WHERE CAST(CASE \"region\" WHEN 'North' THEN 'x4711' ELSE '1' END AS INT) = 1";
    assert_eq!(values(&ask(cast).await.unwrap()), [json!({"n": 2})]);
    let failed = ask("SELECT CAST(\"region\" AS INT) FROM \"orders\"").await;
    let sentence = "invalid input syntax for type integer".to_owned();
    assert_eq!(failed, Err(DatabaseError::Query(sentence)));
}

async fn descriptions(database: &dyn Database, connection: &DatabaseConnection) {
    let zone = TimeZone::default();
    let tenant = TenantId::new("local").unwrap();
    let relation =
        |name: &str| DatabaseRelation::Table { schema: "public".into(), name: name.into() };
    let table = database.describe(connection, &relation("orders"), &tenant, zone).await.unwrap();
    assert_eq!((table.rows, &table.keys), (3, &vec![vec!["id".to_owned()]]));
    let kinds = table.columns.iter().map(|column| (column.name.as_str(), column.kind.as_str()));
    let expected = [
        ("id", "integer"),
        ("owner", "text"),
        ("region", "text"),
        ("amount", "decimal"),
        ("cost", "integer"),
        ("paid", "timestamp"),
        ("Note", "text"),
    ];
    assert_eq!(kinds.collect::<Vec<_>>(), expected);
    let column = |name: &str| table.columns.iter().find(|column| column.name == name).unwrap();
    assert!(
        column("id").is_key && (&column("id").min, &column("id").max) == (&json!(1), &json!(3))
    );
    assert_eq!((column("owner").distinct, &column("owner").samples), (2, &vec!["you".to_owned()]));
    assert_eq!(column("Note").nulls, 1);
    let items = database.describe(connection, &relation("items"), &tenant, zone).await.unwrap();
    assert_eq!(items.keys, [["order_id", "sku"]]);
    let foreign_key = ForeignKey {
        schema: "public".to_owned(),
        table: "orders".to_owned(),
        columns: vec![("order_id".to_owned(), "id".to_owned())],
    };
    assert_eq!((table.foreign_keys, items.foreign_keys), (Vec::new(), vec![foreign_key]));
    let view = DatabaseRelation::Query("SELECT region AS r FROM public.orders -- own".to_owned());
    let view = database.describe(connection, &view, &tenant, zone).await.unwrap();
    assert_eq!(view.names, ["r"]);
    for missing in [relation("ordres"), DatabaseRelation::Query("SELECT * FROM orders".into())] {
        let described = database.describe(connection, &missing, &tenant, zone).await;
        assert_eq!(described, Err(DatabaseError::Changed), "{missing:?}");
    }
}

async fn failures(
    server: &Server,
    database: &dyn Database,
    connection: &DatabaseConnection,
    wrong_password: &DatabasePassword,
) {
    let other = TempDir::new().unwrap();
    let foreign = write_certificates(other.path());
    let wrong = |change: fn(&mut DatabaseConnection)| {
        let mut connection = connection.clone();
        change(&mut connection);
        connection
    };
    let unavailable = DatabaseError::Unavailable;
    for (connection, expected) in [
        (
            DatabaseConnection { password: wrong_password.clone(), ..connection.clone() },
            DatabaseError::Rejected,
        ),
        (wrong(|it| it.user = "nobody".to_owned()), DatabaseError::Rejected),
        (wrong(|it| it.database = "nothing".to_owned()), unavailable.clone()),
        // The certificate is for another name, or of another authority.
        (wrong(|it| it.host = "127.0.0.1".to_owned()), unavailable.clone()),
        (DatabaseConnection { ca: Some(foreign), ..connection.clone() }, unavailable.clone()),
        (wrong(|it| it.ca = Some("nothing".into())), unavailable),
    ] {
        let failed = database.query(&connection, &query("SELECT 1", Vec::new())).await;
        assert_eq!(failed, Err(expected));
    }
    // A host of this machine may have no certificate.
    let plain = wrong(|it| it.ca = None);
    assert!(database.query(&plain, &query("SELECT 1 AS n", Vec::new())).await.is_ok());
    let endless = "SELECT count(*) AS n FROM generate_series(1, 10000000000)";
    let slow = DatabaseQuery { timeout_ms: 50, ..query(endless, Vec::new()) };
    assert_eq!(database.query(connection, &slow).await, Err(DatabaseError::Timeout));
    let admin = server.admin().await;
    admin.batch_execute("ALTER TABLE orders RENAME region TO area").await.unwrap();
    let changed = query("SELECT \"id\" FROM \"orders\"", vec![orders(None)]);
    assert_eq!(database.query(connection, &changed).await, Err(DatabaseError::Changed));
    admin.batch_execute("ALTER TABLE orders RENAME area TO region").await.unwrap();
    admin.batch_execute("REVOKE SELECT ON orders FROM reader").await.unwrap();
    let denied = database.query(connection, &changed).await;
    assert_eq!(denied, Err(DatabaseError::Unavailable));
}
