//! The limits in US dollars, which need the prices of models.

use djinn_settings::table::runtime::{MAX_USD, USER_DAY_USD};
use djinn_settings::{InvalidSetting, MoneyLimit, VarLookup};

/// The dollar limits of a deployment, by what they need.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DollarLimits {
    /// No limit.
    None,
    /// A limit of a user's day that counts models without a price as free.
    IfPriced,
    /// A limit that needs the price of every model.
    NeedPrices,
}

impl DollarLimits {
    /// Reads the dollar limits of a deployment.
    ///
    /// # Errors
    /// Returns [`InvalidSetting`] with the variable's name.
    pub(crate) fn from_vars(var: VarLookup<'_>) -> Result<Self, InvalidSetting> {
        let run_micro_usd = MAX_USD.find_micro_usd(var)?;
        Ok(match USER_DAY_USD.find_money_limit(var)? {
            Some(MoneyLimit { needs_prices: true, .. }) => Self::NeedPrices,
            Some(_) | None if run_micro_usd.is_some() => Self::NeedPrices,
            Some(_) => Self::IfPriced,
            None => Self::None,
        })
    }

    /// Checks that each model has a price, if required.
    ///
    /// # Errors
    /// Returns the models without a required price.
    pub(crate) fn check_prices(self, models: &djinn_model::Settings) -> Result<(), String> {
        let model_list = join_unpriced(models);
        if self == Self::NeedPrices && !model_list.is_empty() { Err(model_list) } else { Ok(()) }
    }

    /// Logs the models without a price, as a warning if a limit does not count their calls.
    pub(crate) fn log_unpriced(self, models: &djinn_model::Settings) {
        let models = join_unpriced(models);
        if models.is_empty() {
            return;
        }
        match self {
            Self::None | Self::NeedPrices => tracing::info!(
                models,
                "no price is known: calls count as free, and runs have no budget in US dollars"
            ),
            Self::IfPriced => tracing::warn!(
                models,
                "no price is known: calls count as free, and {} does not limit them; set their prices in `[prices]` of djinn.toml",
                USER_DAY_USD.name
            ),
        }
    }
}

fn join_unpriced(models: &djinn_model::Settings) -> String {
    models.unpriced_models().into_iter().collect::<Vec<_>>().join(", ")
}
