//! Puts a function's world together from variables: AWS, models, tools.
//!
//! Every function and the local system are wired by [`world`]; they differ in who makes alarms and
//! invokes the executor. Nothing here does I/O: clients connect when they are first used.

use std::sync::Arc;

use djinn_aws::{Aws, AwsStore, LambdaInvoker, SchedulerAlarms, Secrets};
use djinn_model::Models;
use djinn_runtime::port::World;
use djinn_runtime::port::alarm::{Alarms, Invoker};
use djinn_runtime::port::clock::SystemClock;
use djinn_runtime::prompt::Prompts;
use djinn_runtime::settings::{BadSetting, Settings};

/// A world whose runs are kept by AWS, or by what stands in for it on a laptop.
pub type Wired<A, I> = World<AwsStore, Models<Secrets>, A, I, SystemClock>;

/// The world of a function on Lambda.
pub type LambdaWorld = Wired<SchedulerAlarms, LambdaInvoker>;

/// A variable that is missing or cannot be used. Its text names it, never a secret's value.
#[derive(Debug, thiserror::Error)]
pub enum WiringError {
    /// Where everything lies.
    #[error(transparent)]
    Aws(#[from] djinn_aws::SettingsError),
    /// Which models there are.
    #[error(transparent)]
    Models(#[from] djinn_model::SettingsError),
    /// How long things may take.
    #[error(transparent)]
    Settings(#[from] BadSetting),
}

/// The world of a function on Lambda. `var` looks an environment variable up.
///
/// # Errors
/// [`WiringError`] for the first variable that is missing or unusable.
pub fn on_lambda(var: &dyn Fn(&str) -> Option<String>) -> Result<LambdaWorld, WiringError> {
    let aws = Aws::new(djinn_aws::Settings::from_vars(var)?);
    let (alarms, invoker) = (aws.alarms(), aws.invoker());
    world(var, &aws, alarms, invoker)
}

/// A world over `aws` in which `alarms` and `invoker` bring runs back.
///
/// # Errors
/// [`WiringError`] for the first variable that is unusable.
pub fn world<A: Alarms, I: Invoker>(
    var: &dyn Fn(&str) -> Option<String>,
    aws: &Aws,
    alarms: A,
    invoker: I,
) -> Result<Wired<A, I>, WiringError> {
    let prompts = Arc::new(Prompts::default());
    let store = Arc::new(aws.store());
    let models = Models::new(djinn_model::Settings::from_vars(var)?, aws.secrets());
    Ok(World {
        tools: djinn_tools::toolbox(Arc::clone(&store), Arc::clone(&prompts)),
        content: Arc::new(djinn_tools::content_checker::content(var, aws.secrets())?),
        settings: Arc::new(Settings::from_vars(var)?),
        model: Arc::new(models),
        alarms: Arc::new(alarms),
        invoker: Arc::new(invoker),
        clock: Arc::new(SystemClock),
        store,
        prompts,
    })
}
