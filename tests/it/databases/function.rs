//! The built database function in a simulated Lambda, behind the adapter of agent and executor.

use std::path::PathBuf;
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::routing::post;
use djinn_aws::{Aws, Endpoints, LambdaDatabase, Settings};
use djinn_core::id::TenantId;
use djinn_runtime::port::UserKey;
use djinn_runtime::port::database::{
    Database as _, DatabaseConnection, DatabaseError, DatabasePassword, DatabaseQuery,
};
use djinn_testkit::lambdasim::{Function, Lambda};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::ORDERS;
use super::adapter::{fulfils_contract, query};
use super::server::{PASSWORD, Server};

/// The function in its Lambda, with a store of two secrets: `djinn/data/shop` has the password.
struct Deployment {
    lambda: Lambda,
    database: LambdaDatabase,
}

impl Deployment {
    async fn start() -> Self {
        let secrets = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", secrets.local_addr().unwrap());
        let store = Router::new().route("/", post(read_secret)).with_state(PASSWORD);
        tokio::spawn(async move { axum::serve(secrets, store).await });
        let lambda = Lambda::start().await.unwrap();
        let variables = [
            ("AWS_ACCESS_KEY_ID", "test".to_owned()),
            ("AWS_SECRET_ACCESS_KEY", "test".to_owned()),
            ("AWS_ENDPOINT_URL_SECRETS_MANAGER", url),
        ];
        lambda.deploy(Function {
            name: "database".to_owned(),
            binary: find_binary(),
            variables: variables.map(|(name, value)| (name.to_owned(), value)).to_vec(),
            timeout: Duration::from_secs(45),
            // The next invocation waits until the environment of the last one is idle.
            concurrency: 1,
            copies: 1,
            log: None,
        });
        let aws = Aws::new(Settings {
            database: Some("database".to_owned()),
            endpoints: Endpoints { lambda: Some(lambda.url().to_owned()), ..Endpoints::default() },
            ..Settings::new("", "")
        });
        Self { database: aws.database().unwrap(), lambda }
    }

    /// Returns the process of the server behind a tenant's connection.
    async fn find_backend(&self, connection: &DatabaseConnection, tenant: &str) -> i64 {
        let own = query("SELECT pg_backend_pid() AS pid", Vec::new());
        let user = UserKey { tenant: TenantId::new(tenant).unwrap(), ..own.user };
        let rows = self.database.query(connection, &DatabaseQuery { user, ..own }).await.unwrap();
        let row: Value = serde_json::from_str(&rows.rows[0]).unwrap();
        row["pid"].as_i64().unwrap()
    }
}

async fn read_secret(State(password): State<&'static str>, body: String) -> String {
    let request: Value = serde_json::from_str(&body).unwrap();
    let secret = match request["SecretId"].as_str().unwrap() {
        "djinn/data/shop" => json!({"username": "reader", "password": password}).to_string(),
        _ => "wrong".to_owned(),
    };
    json!({"SecretString": secret}).to_string()
}

/// The built function, beside the directory of this test's own program.
fn find_binary() -> PathBuf {
    let this = std::env::current_exe().unwrap();
    let binary = this.parent().unwrap().parent().unwrap().join("database");
    assert!(binary.exists(), "the function is not built: run `cargo verify --only data`");
    binary
}

fn stored(server: &Server, name: &str) -> DatabaseConnection {
    let password = DatabasePassword::Stored(format!("djinn/data/{name}"));
    DatabaseConnection { password, ..server.connection() }
}

#[tokio::test]
#[ignore = "needs a PostgreSQL: cargo verify --only data"]
async fn function_fulfils_the_contract_of_a_database() {
    let mut server = Server::start(ORDERS).await;
    let deployment = Deployment::start().await;
    let connection = stored(&server, "shop");
    let wrong = stored(&server, "other").password;
    fulfils_contract(&mut server, &deployment.database, &connection, &wrong).await;
}

#[tokio::test]
#[ignore = "needs a PostgreSQL: cargo verify --only data"]
async fn environment_of_a_tenant_keeps_its_connection_until_it_breaks() {
    let server = Server::start(ORDERS).await;
    let deployment = Deployment::start().await;
    let connection = stored(&server, "shop");
    let first = deployment.find_backend(&connection, "acme").await;
    assert_eq!(deployment.find_backend(&connection, "acme").await, first);
    // An error of a query does not break the connection.
    let wrong = query("SELECT nothing FROM nowhere", Vec::new());
    let user = UserKey { tenant: TenantId::new("acme").unwrap(), ..wrong.user };
    let wrong = DatabaseQuery { user: user.clone(), ..wrong };
    let failed = deployment.database.query(&connection, &wrong).await;
    assert!(matches!(failed, Err(DatabaseError::Query(_))), "{failed:?}");
    assert_eq!(deployment.find_backend(&connection, "acme").await, first);
    // Neither another tenant nor another user of the database has this connection.
    let other = deployment.find_backend(&connection, "globex").await;
    assert_ne!(other, first);
    let pids: Vec<u32> = deployment.lambda.invocations().iter().map(|it| it.pid).collect();
    assert_ne!(pids[0], pids[4]);
    assert!(pids[..4].iter().all(|pid| *pid == pids[0]), "{pids:?}");

    let admin = server.admin().await;
    let end = format!("SELECT pg_terminate_backend({first}::int)");
    admin.batch_execute(&end).await.unwrap();
    let second = deployment.find_backend(&connection, "acme").await;
    assert_ne!(second, first);
    // Nor does a result that has more rows than the maximum.
    let many = query("SELECT n FROM generate_series(1, 1000) AS g(n)", Vec::new());
    let cut = deployment.database.query(&connection, &DatabaseQuery { user, ..many }).await;
    assert!(cut.unwrap().is_cut);
    assert_eq!(deployment.find_backend(&connection, "acme").await, second);
    let plain = DatabaseConnection { ca: None, ..connection.clone() };
    assert_ne!(deployment.find_backend(&plain, "acme").await, second);
}
