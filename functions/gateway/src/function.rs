//! The entry point of the Lambda function.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use djinn_aws::{Aws, Settings};
use djinn_runtime::port::outside::wire::OutsideEnvelope;
use djinn_settings::table::aws::BUCKET;
use djinn_wiring::{ConfigurationFolder, Variables};
use lambda_runtime::{LambdaEvent, service_fn};

use crate::envelope::EnvelopeHandler;
use crate::handler::GatewayHandler;
use crate::settings::{GatewayRole, GatewaySettings};

/// The time for which a read of the configuration folder is current.
const FRESH: Duration = Duration::from_secs(5);

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
    let variables: Variables = Arc::new(var);
    let settings = GatewaySettings::from_vars(&*variables)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(serve(settings, &variables))
}

async fn serve(settings: GatewaySettings, variables: &Variables) -> Result<(), FunctionError> {
    // The gateway has no table. From the bucket it only reads the configuration folder.
    let bucket = BUCKET.find_text(&**variables).unwrap_or_default();
    let aws = Aws::new(Settings::new("", bucket));
    let secrets = aws.secrets();
    let role = settings.role;
    let settings = match role {
        // Pages may be hostile, so the function that reads pages learns nothing else.
        GatewayRole::Fetch => settings,
        GatewayRole::Call | GatewayRole::Both => {
            match ConfigurationFolder::open(variables, &aws.store())? {
                Some(folder) => settings.with_folder(folder, FRESH),
                None => settings,
            }
        }
    };
    let handler = &EnvelopeHandler::new(GatewayHandler::new(settings, secrets)?, role);
    lambda_runtime::run(service_fn(async |event: LambdaEvent<OutsideEnvelope>| {
        let tenant = event.context.tenant_id.as_deref();
        Ok::<_, FunctionError>(handler.handle_job(event.payload, tenant).await)
    }))
    .await
}
