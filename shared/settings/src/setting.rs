//! A row of a table, and how it is written down.

use std::fmt;

/// The settings of one crate.
#[derive(Debug)]
pub struct SettingsTable {
    /// The name of the crate or the place that reads them.
    pub name: &'static str,
    /// What the table is about, in a sentence.
    pub meaning: &'static str,
    /// In the order in which a reader wants them.
    pub rows: &'static [&'static Setting],
}

/// One environment variable, and all that is said of it.
#[derive(Debug)]
pub struct Setting {
    /// The name of the variable.
    pub name: &'static str,
    /// Which values it may have.
    pub kind: ValueKind,
    /// The value that counts where there is none, as it would be written; `None`: then there is none.
    pub default: Option<&'static str>,
    /// The value that a deployment has if nobody chooses another, where that is not the default.
    pub deployed_default: Option<&'static str>,
    /// What it does, for people.
    pub meaning: &'static str,
    /// Whether it has to be given.
    pub is_required: bool,
    /// Whether its value is repeated nowhere, neither in errors nor in logs.
    pub is_secret: bool,
    /// Whether the agent reads it and the executor does not, though both have the crate.
    pub is_agent_only: bool,
    /// What gives the variable to a deployment's functions.
    pub source: SettingSource,
}

/// Which values a setting may have. Its text completes the sentence "must be …".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueKind {
    /// A whole number, both ends included.
    Number {
        /// The smallest that is taken.
        least: u64,
        /// The largest that is taken.
        most: u64,
    },
    /// US dollars, kept as whole millionths.
    Money,
    /// A [`MoneyLimit`].
    MoneyLimit,
    /// Yes or no, as 1 or 0.
    Switch,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// Any text at all.
    Text,
    /// A text of a form that these words describe.
    Form(&'static str),
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

/// What gives a variable to the functions of a deployment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SettingSource {
    /// The parameter of `template.yaml` with this name.
    Parameter(&'static str),
    /// The stack itself: it knows what it made.
    Stack,
    /// Nothing, for this reason.
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
            is_agent_only: false,
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

    pub(crate) const fn for_agent_only(mut self) -> Self {
        self.is_agent_only = true;
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
            Self::Form(words) => f.write_str(words),
        }
    }
}
