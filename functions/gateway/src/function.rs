//! The entry point of the Lambda function.

use std::io;

use djinn_aws::{Aws, Settings};
use djinn_runtime::port::outside::wire::OutsideEnvelope;
use lambda_runtime::{LambdaEvent, service_fn};

use crate::envelope::EnvelopeHandler;
use crate::handler::GatewayHandler;
use crate::settings::GatewaySettings;

/// The error of the function: an invalid setting, or an error of Lambda's runtime.
pub use lambda_runtime::Error as FunctionError;

/// Runs the function in Lambda's runtime until the process ends.
///
/// # Errors
/// Returns [`FunctionError`] if a variable is invalid or the asynchronous runtime cannot start.
pub fn run_function() -> Result<(), FunctionError> {
    #[allow(clippy::disallowed_methods, reason = "the one place that reads the environment")]
    let var = |name: &str| std::env::var(name).ok();
    djinn_runtime::telemetry::init(var("AWS_LAMBDA_LOG_LEVEL").as_deref(), io::stdout);
    let settings = GatewaySettings::from_vars(&var)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(serve(settings))
}

async fn serve(settings: GatewaySettings) -> Result<(), FunctionError> {
    // The gateway has no table and no bucket, and only reads keys.
    let secrets = Aws::new(Settings::new("", "")).secrets();
    let role = settings.role;
    let handler = &EnvelopeHandler::new(GatewayHandler::new(settings, secrets)?, role);
    lambda_runtime::run(service_fn(async |event: LambdaEvent<OutsideEnvelope>| {
        Ok::<_, FunctionError>(handler.handle_job(event.payload).await)
    }))
    .await
}
