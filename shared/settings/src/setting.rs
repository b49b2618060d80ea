//! The rows of a settings table.

use std::fmt;

/// The settings of one crate.
#[derive(Debug)]
pub struct SettingsTable {
    /// The name of the crate or the place that reads the settings.
    pub name: &'static str,
    /// The subject of the table, in a sentence.
    pub meaning: &'static str,
    /// The settings in the order of the documentation.
    pub rows: &'static [&'static Setting],
}

/// One environment variable, with its rule, default and description.
#[derive(Debug)]
pub struct Setting {
    /// The name of the variable.
    pub name: &'static str,
    /// The valid values.
    pub kind: ValueKind,
    /// The default, as the text of a variable; `None` without a default.
    pub default: Option<&'static str>,
    /// The default of a deployment, in place of `default` on a laptop. Such a limit may be `none`.
    pub deployed_default: Option<&'static str>,
    /// The description for users.
    pub meaning: &'static str,
    /// True if the variable is required.
    pub is_required: bool,
    /// True if neither errors nor logs may repeat the value.
    pub is_secret: bool,
    /// The field of `djinn.toml` with this setting, as a dotted path; `None` for a variable only.
    pub field: Option<&'static str>,
    /// The source of the variable for a deployment's functions.
    pub source: SettingSource,
}

/// The valid values of a setting. The displayed text completes the sentence "must be …".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueKind {
    /// A whole number, both ends included.
    Number {
        /// The smallest valid number.
        least: u64,
        /// The largest valid number.
        most: u64,
    },
    /// An amount of US dollars, stored in whole millionths.
    Money,
    /// A limit in US dollars: see [`MoneyLimit`].
    MoneyLimit,
    /// Yes or no, as 1 or 0.
    Switch,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// Any text.
    Text,
    /// A text in the form that these words describe.
    Form(&'static str),
    /// JSON in the form that these words describe; a table or a list in `djinn.toml`.
    Json(&'static str),
}

/// A limit in US dollars.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MoneyLimit {
    /// Millionths of a US dollar.
    pub micro_usd: u64,
    /// If true, every configured model must have a price. If false, because the value ends in ` if priced`, models
    /// without a price count as free.
    pub needs_prices: bool,
}

/// The source of a variable for the functions of a deployment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SettingSource {
    /// The field of `djinn.toml`.
    File,
    /// The parameter of `template.yaml` with this name.
    Parameter(&'static str),
    /// The stack itself, from the resources that it created.
    Stack,
    /// No source, for this reason.
    Nothing(&'static str),
}

impl Setting {
    const fn new(name: &'static str, kind: ValueKind) -> Self {
        Self {
            name,
            kind,
            default: None,
            deployed_default: None,
            meaning: "",
            is_required: false,
            is_secret: false,
            field: None,
            source: SettingSource::Nothing(""),
        }
    }

    pub(crate) const fn number(name: &'static str, least: u64, most: u64) -> Self {
        Self::new(name, ValueKind::Number { least, most })
    }

    pub(crate) const fn money(name: &'static str) -> Self {
        Self::new(name, ValueKind::Money)
    }

    pub(crate) const fn money_limit(name: &'static str) -> Self {
        Self::new(name, ValueKind::MoneyLimit)
    }

    pub(crate) const fn switch(name: &'static str) -> Self {
        Self::new(name, ValueKind::Switch)
    }

    pub(crate) const fn choice(name: &'static str, words: &'static [&'static str]) -> Self {
        Self::new(name, ValueKind::Choice(words))
    }

    pub(crate) const fn text(name: &'static str) -> Self {
        Self::new(name, ValueKind::Text)
    }

    pub(crate) const fn form(name: &'static str, words: &'static str) -> Self {
        Self::new(name, ValueKind::Form(words))
    }

    pub(crate) const fn json(name: &'static str, words: &'static str) -> Self {
        Self::new(name, ValueKind::Json(words))
    }

    pub(crate) const fn with_default(mut self, value: &'static str) -> Self {
        self.default = Some(value);
        self
    }

    pub(crate) const fn with_deployed_default(mut self, value: &'static str) -> Self {
        self.deployed_default = Some(value);
        self
    }

    pub(crate) const fn with_meaning(mut self, sentence: &'static str) -> Self {
        self.meaning = sentence.trim_ascii();
        self
    }

    pub(crate) const fn mark_required(mut self) -> Self {
        self.is_required = true;
        self
    }

    pub(crate) const fn mark_secret(mut self) -> Self {
        self.is_secret = true;
        self
    }

    pub(crate) const fn in_file(mut self, field: &'static str) -> Self {
        self.field = Some(field);
        self.source = SettingSource::File;
        self
    }

    pub(crate) const fn with_parameter(mut self, name: &'static str) -> Self {
        self.source = SettingSource::Parameter(name);
        self
    }

    pub(crate) const fn with_stack_value(mut self) -> Self {
        self.source = SettingSource::Stack;
        self
    }

    pub(crate) const fn without_parameter(mut self, reason: &'static str) -> Self {
        self.source = SettingSource::Nothing(reason);
        self
    }
}

impl fmt::Display for ValueKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number { least, most } => write!(f, "a whole number from {least} to {most}"),
            Self::Money => f.write_str(
                "an amount of US dollars from 0.000001 to 1000000 with at most 6 decimals",
            ),
            Self::MoneyLimit => {
                write!(f, "{}, which may be followed by ` if priced`", Self::Money)
            }
            Self::Switch => f.write_str("1 or 0"),
            Self::Choice(words) => match words.split_last() {
                Some((last, [])) => f.write_str(last),
                Some((last, others)) => write!(f, "{} or {last}", others.join(", ")),
                None => Ok(()),
            },
            Self::Text => f.write_str("a text"),
            Self::Form(words) | Self::Json(words) => f.write_str(words),
        }
    }
}
