//! The wiring of a function's world from variables: AWS, models, tools.
//!
//! Every function and the local system are wired by [`build_world`]; the differences are alarms and the
//! invoker of the executor. No I/O happens here: clients connect on first use. The tools come from a
//! [`Djinn`].

mod configuration;
mod configuration_folder;
mod djinn;
mod environment;
mod own_tools;
mod text_folders;

use std::sync::Arc;

use djinn_aws::{Aws, AwsSecrets, AwsStore, LambdaInvoker, SchedulerAlarms};
use djinn_model::Models;
use djinn_runtime::port::alarm::{Alarms, Invoker};
use djinn_runtime::port::clock::SystemClock;
use djinn_runtime::prompt::Prompts;
use djinn_runtime::rate_limits::RateLimits;
use djinn_runtime::settings::Settings;
use djinn_runtime::shutdown::Shutdown;
use djinn_runtime::world::World;
use djinn_settings::InvalidSetting;
use djinn_tools::prompt_source::PromptSetupError;

use configuration::{ConfigurationTexts, DollarLimits, SettingsReader};
use configuration_folder::ConfigurationFolder;
pub use configuration_folder::check_settings_file;
pub use djinn::{Djinn, SettingsCheck, ToolParts, ToolSetupError};
pub use djinn_runtime::configuration::Variables;
pub use environment::check_environment;

/// A world with runs stored in AWS, or in local services on a laptop.
pub type AwsWorld<A, I> = World<AwsStore, Models<AwsSecrets>, A, I, SystemClock>;

/// The world of a function on Lambda.
pub type LambdaWorld = AwsWorld<SchedulerAlarms, LambdaInvoker>;

/// A missing or invalid variable. The text contains the name, never a secret's value.
#[derive(Debug, thiserror::Error)]
pub enum WiringError {
    /// The models are invalid.
    #[error(transparent)]
    Models(#[from] djinn_model::SettingsError),
    /// A setting is invalid: locations, timeouts, or content rules.
    #[error(transparent)]
    Settings(#[from] InvalidSetting),
    /// A tool of the deployment is invalid.
    #[error(transparent)]
    Tools(#[from] ToolSetupError),
    /// A prompt of the deployment is invalid.
    #[error(transparent)]
    Prompts(#[from] PromptSetupError),
    /// The `djinn.toml` of the configuration folder is invalid.
    #[error("{0}")]
    Configuration(String),
    /// The text named by `DJINN_MODELS` is invalid.
    #[error("{0}")]
    ModelsText(String),
    /// A budget in money is set, but some models have no price.
    #[error("a budget in US dollars is set, but DJINN_PRICES has no price for {0}")]
    Unpriced(String),
}

/// Builds the world of a function on Lambda.
///
/// # Errors
/// Returns [`WiringError`] for the first missing or invalid variable, or the first invalid tool.
pub fn build_lambda_world(
    djinn: &Djinn,
    variables: &Variables,
) -> Result<LambdaWorld, WiringError> {
    let aws = Aws::new(djinn_aws::Settings::from_vars(&**variables)?);
    let alarms = aws.alarms();
    let invoker = aws.invoker();
    build_world(djinn, variables, &aws, alarms, invoker)
}

/// Builds a world over `aws`, with `alarms` and `invoker` to restart runs. The world's `variables` are the given
/// variables, with the fields of a `djinn.toml` below them.
///
/// # Errors
/// Returns [`WiringError`] for the first invalid variable, field or tool.
pub fn build_world<A: Alarms, I: Invoker>(
    djinn: &Djinn,
    variables: &Variables,
    aws: &Aws,
    alarms: A,
    invoker: I,
) -> Result<AwsWorld<A, I>, WiringError> {
    let Some(folder) = ConfigurationFolder::open(variables, &aws.store())? else {
        return build_configured(djinn, variables, None, aws, alarms, invoker);
    };
    let document = folder.read_at_start().map_err(WiringError::Configuration)?;
    let start_document = document.map(Arc::new);
    let document = start_document.clone().unwrap_or_default();
    let variables = folder.layer(Arc::clone(&document));
    let reader = SettingsReader {
        folder,
        secrets: aws.secrets(),
        check: djinn.settings_check(),
        current: start_document.into(),
    };
    build_configured(djinn, &variables, Some(reader), aws, alarms, invoker)
        .map_err(|error| ConfigurationFolder::locate(&document, error))
}

fn build_configured<A: Alarms, I: Invoker>(
    djinn: &Djinn,
    variables: &Variables,
    reader: Option<SettingsReader>,
    aws: &Aws,
    alarms: A,
    invoker: I,
) -> Result<AwsWorld<A, I>, WiringError> {
    let var = &**variables;
    let prompts = Arc::new(Prompts::default());
    let store = Arc::new(aws.store());
    let models = djinn_model::Settings::from_vars(var)?;
    let settings = Settings::from_vars(var)?;
    let limits = DollarLimits::from_vars(var)?;
    limits.check_prices(&models).map_err(WiringError::Unpriced)?;
    limits.log_unpriced(&models);
    let models = Models::new(models, aws.secrets()).with_prompts(Arc::clone(&prompts));
    let texts = ConfigurationTexts::open(variables, &store, limits)?;
    let (model, configuration) = texts.into_source(&prompts, models, reader);
    let parts = ToolParts {
        var,
        files: Arc::clone(&store),
        prompts: Arc::clone(&prompts),
        secrets: aws.secrets(),
        sandbox: aws.sandbox().map_or_else(|| djinn.sandbox(), |sandbox| Arc::new(sandbox)),
        outside: aws.gateway().map_or_else(|| djinn.outside(), |gateway| Arc::new(gateway)),
    };
    Ok(World {
        tools: djinn.build_toolbox(&parts)?.with_sources_fresh(settings.tool_sources_fresh),
        content: Arc::new(djinn_tools::content_checker::parse_content_policy(var, aws.secrets())?),
        sandbox: parts.sandbox,
        settings: Arc::new(settings),
        variables: Arc::clone(variables),
        model,
        alarms: Arc::new(alarms),
        invoker: Arc::new(invoker),
        clock: Arc::new(SystemClock),
        store,
        prompts,
        shutdown: Shutdown::default(),
        rate_limits: RateLimits::default(),
        configuration,
    })
}
