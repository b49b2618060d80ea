//! The settings of every crate as rows of tables: name, kind, default, meaning.
//!
//! A parser reads a variable by its row, so that its name, range and default have one place. `docs/settings.md`
//! and the list of `--help` are generated from the same rows, and `template.yaml` is compared with them.

mod document;
mod error;
mod help;
mod names;
mod read;
mod setting;
pub mod table;

pub use document::{FILE_NAME, FieldProblem, SettingsDocument, line_at, to_json};
pub use error::{InvalidSetting, UnknownSetting};
pub use help::write_help;
pub use names::{PREFIX, check_names};
pub use setting::{MoneyLimit, Setting, SettingSource, SettingsTable, ValueKind};

/// Looks up an environment variable.
pub type VarLookup<'a> = &'a dyn Fn(&str) -> Option<String>;
