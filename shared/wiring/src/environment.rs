//! The names of a function's environment variables.

use djinn_settings::{UnknownSetting, check_names};

/// Checks the environment of this process for misspelt variables of ours. An error is also logged as a
/// sentence, because the runtime shows a function's startup error as code.
///
/// # Errors
/// Returns [`UnknownSetting`] for the first unknown name.
pub fn check_environment() -> Result<(), UnknownSetting> {
    let names = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    check_names(names).inspect_err(|unknown_setting| tracing::error!("{unknown_setting}"))
}
