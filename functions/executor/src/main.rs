//! The executor function behind Lambda's runtime.

use executor::Executor;
use lambda_runtime::{LambdaEvent, service_fn};
use serde_json::Value;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda_runtime::Error> {
    #[allow(clippy::disallowed_methods, reason = "the one place that reads the environment")]
    let var = |name: &str| std::env::var(name).ok();
    djinn_runtime::telemetry::init(var("AWS_LAMBDA_LOG_LEVEL").as_deref(), std::io::stdout);
    djinn_wiring::check_environment()?;
    let executor = Executor { ports: djinn_wiring::build_lambda_world(&var)? };
    let executor = &executor;
    lambda_runtime::run(service_fn(async |event: LambdaEvent<Value>| {
        let deadline_ms = i64::try_from(event.context.deadline).ok();
        executor.handle(event.payload, deadline_ms).await.map_err(lambda_runtime::Error::from)
    }))
    .await
}
