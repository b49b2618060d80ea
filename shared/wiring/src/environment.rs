//! The names of the variables that a function is given.

use djinn_settings::{UnknownSetting, check_names};

/// Looks through the environment of this process for a variable of ours that is misspelt. What is refused
/// is logged too, as a sentence: the runtime shows what a function returns at its start as code.
///
/// # Errors
/// [`UnknownSetting`] for the first such name.
pub fn check_environment() -> Result<(), UnknownSetting> {
    let names = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    check_names(names).inspect_err(|refused| tracing::error!("{refused}"))
}
