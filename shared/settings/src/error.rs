//! Why a process does not start: one sentence that names the variable.

/// A variable that is missing, or has a value that it may not have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{name} {problem}")]
pub struct InvalidSetting {
    /// The name of the environment variable.
    pub name: &'static str,
    /// What is wrong, as the rest of a sentence. It never holds the value of a secret.
    pub problem: String,
}

impl InvalidSetting {
    /// A variable that must be something else than what was found; `found` is repeated.
    #[must_use]
    pub fn new(name: &'static str, wanted: impl Into<String>, found: impl Into<String>) -> Self {
        let (wanted, found): (String, String) = (wanted.into(), found.into());
        Self { name, problem: format!("must be {wanted}, got `{found}`") }
    }
}

/// A variable that begins as ours do, and is none of them.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{name} is not a setting; the closest one is {nearest}, and docs/settings.md lists all")]
pub struct UnknownSetting {
    /// The name as it was found.
    pub name: String,
    /// The name of the setting that differs from it in the fewest letters.
    pub nearest: &'static str,
}
