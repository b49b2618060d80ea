//! Puts a function's world together from variables: AWS, models, tools.
//!
//! Every function and the local system are wired by [`build_world`]; they differ in who makes alarms and
//! invokes the executor. Nothing here does I/O: clients connect when they are first used.
//! Which tools there are says a [`Djinn`].

mod djinn;
mod environment;

use std::sync::Arc;

use djinn_aws::{Aws, AwsSecrets, AwsStore, LambdaInvoker, SchedulerAlarms};
use djinn_model::Models;
use djinn_runtime::port::alarm::{Alarms, Invoker};
use djinn_runtime::port::clock::SystemClock;
use djinn_runtime::prompt::Prompts;
use djinn_runtime::settings::Settings;
use djinn_runtime::world::World;
use djinn_settings::InvalidSetting;
use djinn_settings::table::runtime::MAX_USD;

pub use djinn::{Djinn, ToolParts, ToolSetupError};
pub use environment::check_environment;

/// A world whose runs are kept by AWS, or by what stands in for it on a laptop.
pub type AwsWorld<A, I> = World<AwsStore, Models<AwsSecrets>, A, I, SystemClock>;

/// The world of a function on Lambda.
pub type LambdaWorld = AwsWorld<SchedulerAlarms, LambdaInvoker>;

/// A variable that is missing or cannot be used. Its text names it, never a secret's value.
#[derive(Debug, thiserror::Error)]
pub enum WiringError {
    /// Which models there are.
    #[error(transparent)]
    Models(#[from] djinn_model::SettingsError),
    /// Where everything lies, how long things may take, what may be said.
    #[error(transparent)]
    Settings(#[from] InvalidSetting),
    /// A tool of the deployment.
    #[error(transparent)]
    Tools(#[from] ToolSetupError),
    /// There is a budget in money, and models whose calls cost nobody knows what.
    #[error("there is a budget in US dollars, but DJINN_PRICES has no price of {0}")]
    Unpriced(String),
}

/// The world of a function on Lambda. `var` looks an environment variable up.
///
/// # Errors
/// [`WiringError`] for the first variable that is missing or unusable, or a tool that is.
pub fn build_lambda_world(
    djinn: &Djinn,
    var: &dyn Fn(&str) -> Option<String>,
) -> Result<LambdaWorld, WiringError> {
    let aws = Aws::new(djinn_aws::Settings::from_vars(var)?);
    let (alarms, invoker) = (aws.alarms(), aws.invoker());
    build_world(djinn, var, &aws, alarms, invoker)
}

/// A world over `aws` in which `alarms` and `invoker` bring runs back.
///
/// # Errors
/// [`WiringError`] for the first variable or tool that is unusable.
pub fn build_world<A: Alarms, I: Invoker>(
    djinn: &Djinn,
    var: &dyn Fn(&str) -> Option<String>,
    aws: &Aws,
    alarms: A,
    invoker: I,
) -> Result<AwsWorld<A, I>, WiringError> {
    let prompts = Arc::new(Prompts::default());
    let store = Arc::new(aws.store());
    let models = djinn_model::Settings::from_vars(var)?;
    let settings = Settings::from_vars(var)?;
    check_prices(
        &models,
        MAX_USD.find_micro_usd(var)?.is_some() || settings.user.day_micro_usd.is_some(),
    )?;
    let models = Models::new(models, aws.secrets());
    let parts = ToolParts {
        var,
        files: Arc::clone(&store),
        prompts: Arc::clone(&prompts),
        secrets: aws.secrets(),
        sandbox: aws.sandbox().map_or_else(|| djinn.sandbox(), |sandbox| Arc::new(sandbox)),
    };
    Ok(World {
        tools: djinn.build_toolbox(&parts)?.with_sources_fresh(settings.tool_sources_fresh),
        content: Arc::new(djinn_tools::content_checker::parse_content_policy(var, aws.secrets())?),
        sandbox: parts.sandbox,
        settings: Arc::new(settings),
        model: Arc::new(models),
        alarms: Arc::new(alarms),
        invoker: Arc::new(invoker),
        clock: Arc::new(SystemClock),
        store,
        prompts,
    })
}

/// Says which models have no price: they cost nothing as far as we know, unless there is money to be
/// counted.
fn check_prices(models: &djinn_model::Settings, money: bool) -> Result<(), WiringError> {
    let unpriced: Vec<&str> = models.unpriced_models().into_iter().collect();
    match unpriced.join(", ") {
        none if none.is_empty() => Ok(()),
        names if money => Err(WiringError::Unpriced(names)),
        names => {
            tracing::info!(models = names, "no price is known: their calls count as free");
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn money_is_only_counted_with_the_price_of_every_model() {
        let models = |name: &'static str| {
            djinn_model::Settings::from_vars(move |var| match var {
                "OPENAI_API_KEY" => Some("key".to_owned()),
                "OPENAI_MODEL" => Some(name.to_owned()),
                _ => None,
            })
        };
        let (listed, own) = (models("gpt-4.1").unwrap(), models("mine").unwrap());
        assert!(check_prices(&listed, true).is_ok() && check_prices(&own, false).is_ok());
        let refused = check_prices(&own, true).unwrap_err().to_string();
        let sentence = "there is a budget in US dollars, but DJINN_PRICES has no price of mine";
        assert_eq!(refused, sentence);
    }
}
