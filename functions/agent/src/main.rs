//! The agent function behind Lambda's runtime.

use agent::{Agent, Settings, build_router};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda_http::Error> {
    #[allow(clippy::disallowed_methods, reason = "the one place that reads the environment")]
    let var = |name: &str| std::env::var(name).ok();
    djinn_runtime::telemetry::init(var("AWS_LAMBDA_LOG_LEVEL").as_deref(), std::io::stdout);
    djinn_wiring::check_environment()?;
    let ports = djinn_wiring::build_lambda_world(&var)?;
    let settings = Settings::from_vars(&var)?.with_models(ports.model.settings().model_names());
    let (secrets, http) = (ports.model.secrets().clone(), ports.model.http());
    let router = build_router(Agent { ports, settings }, secrets, http);
    lambda_http::run_with_streaming_response(router).await
}
