//! The function as Lambda starts it.

use std::io;

use djinn_aws::{Aws, Settings};
use djinn_runtime::port::outside::wire::OutsideEnvelope;
use lambda_runtime::{LambdaEvent, service_fn};

use crate::envelope::EnvelopeHandler;
use crate::handler::GatewayHandler;
use crate::settings::GatewaySettings;

/// Why the function ends: what it cannot start with, or Lambda's runtime.
pub use lambda_runtime::Error as FunctionError;

/// Runs the function behind Lambda's runtime, until the process is ended.
///
/// # Errors
/// [`FunctionError`] for a variable that is unusable, or where there is no asynchronous runtime.
pub fn run_function() -> Result<(), FunctionError> {
    #[allow(clippy::disallowed_methods, reason = "the one place that reads the environment")]
    let var = |name: &str| std::env::var(name).ok();
    djinn_runtime::telemetry::init(var("AWS_LAMBDA_LOG_LEVEL").as_deref(), io::stdout);
    let settings = GatewaySettings::from_vars(&var)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(serve(settings))
}

async fn serve(settings: GatewaySettings) -> Result<(), FunctionError> {
    // It has neither a table nor a bucket, and reads keys alone.
    let secrets = Aws::new(Settings::new("", "")).secrets();
    let role = settings.role;
    let handler = &EnvelopeHandler::new(GatewayHandler::new(settings, secrets)?, role);
    lambda_runtime::run(service_fn(async |event: LambdaEvent<OutsideEnvelope>| {
        Ok::<_, FunctionError>(handler.handle_job(event.payload).await)
    }))
    .await
}
