//! Errors that keep a process from starting: one sentence with the name of the variable.

/// An error for a missing or invalid setting.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{name} {problem}")]
pub struct InvalidSetting {
    /// The name of the environment variable.
    pub name: &'static str,
    /// The problem, as the rest of a sentence. It never contains the value of a secret.
    pub problem: String,
}

impl InvalidSetting {
    /// Returns the error for a `value` that breaks the `rule`. The message repeats the value.
    #[must_use]
    pub fn new(name: &'static str, rule: impl Into<String>, value: impl Into<String>) -> Self {
        let rule: String = rule.into();
        let value: String = value.into();
        Self { name, problem: format!("must be {rule}, got `{value}`") }
    }
}

/// A variable with the prefix of settings that is not a setting.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{name} is not a setting; {}docs/settings.md lists all", describe_nearest(.nearest.as_deref()))]
pub struct UnknownSetting {
    /// The name of the variable.
    pub name: String,
    /// The name of a setting that is spelled similarly.
    pub nearest: Option<String>,
}

fn describe_nearest(nearest: Option<&str>) -> String {
    nearest.map(|name| format!("the closest one is {name}, and ")).unwrap_or_default()
}
