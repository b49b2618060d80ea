//! The list of settings for a command line tool.

use std::fmt::Write as _;

use crate::setting::{Setting, SettingsTable};
use crate::table::TABLES;

/// Returns the list of all settings with their valid values, default and meaning, for `--help`.
#[must_use]
pub fn write_help() -> String {
    let mut text = "Settings, as environment variables:\n".to_owned();
    for SettingsTable { name, meaning, rows } in TABLES {
        let _ = write!(text, "\n{name}: {meaning}\n");
        for row in *rows {
            let Setting { name, default, meaning, .. } = row;
            let rule = row.rule();
            let default = default.map(|value| format!(" [default: {value}]")).unwrap_or_default();
            let _ = write!(text, "  {name}  {rule}{default}\n      {meaning}\n");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn help_names_every_setting_with_its_range_and_default() {
        let help = write_help();
        assert!(help.contains(
            "\n  DJINN_LIMITS__MAX_PLAN_STEPS  a whole number from 1 to 1000 [default: 100]\n      Maximum steps of a plan.\n"
        ));
        for row in TABLES.iter().flat_map(|table| table.rows) {
            assert!(help.contains(&format!("\n  {}  ", row.name)), "{}", row.name);
        }
    }
}
