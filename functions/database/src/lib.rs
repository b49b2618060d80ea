//! The database function: describes tables and runs checked queries, in the network of the databases. Its environment
//! belongs to one tenant, and keeps a connection for the next request.

mod handler;

use std::io;
use std::sync::Arc;

use djinn_aws::{Aws, Settings};
use djinn_postgres::PostgresDatabase;
use djinn_runtime::port::database::wire::DatabaseEnvelope;
use lambda_runtime::{LambdaEvent, service_fn};

use handler::RequestHandler;

/// The error of the function: an error of Lambda's runtime.
pub use lambda_runtime::Error as FunctionError;

/// Runs the function in Lambda's runtime until the process ends.
///
/// # Errors
/// Returns [`FunctionError`] if the asynchronous runtime cannot start.
pub fn run_function() -> Result<(), FunctionError> {
    #[allow(clippy::disallowed_methods, reason = "the one place that reads the environment")]
    let level = std::env::var("AWS_LAMBDA_LOG_LEVEL").ok();
    djinn_runtime::telemetry::init(level.as_deref(), io::stdout);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(serve())
}

async fn serve() -> Result<(), FunctionError> {
    // The function has neither table nor bucket.
    let passwords = Aws::new(Settings::new("", "")).database_passwords();
    let database = PostgresDatabase::new(Arc::new(passwords)).with_idle_connection();
    let handler = &RequestHandler::new(database);
    lambda_runtime::run(service_fn(async |event: LambdaEvent<DatabaseEnvelope>| {
        let tenant = event.context.tenant_id.as_deref();
        Ok::<_, FunctionError>(handler.handle_request(event.payload, tenant).await)
    }))
    .await
}
