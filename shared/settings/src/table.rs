//! The tables, one for each crate that reads variables.

pub mod agent;
pub mod aws;
pub mod contributor;
pub mod dev;
pub mod model;
pub mod runtime;
pub mod tools;
pub mod web;

use crate::setting::{Setting, SettingsTable};

/// Every table, those of most interest to a deployment first.
pub static TABLES: &[&SettingsTable] = &[
    &agent::TABLE,
    &model::TABLE,
    &runtime::TABLE,
    &tools::TABLE,
    &web::TABLE,
    &aws::TABLE,
    &dev::TABLE,
    &contributor::TABLE,
];

/// Returns the rows of all fields of `djinn.toml`.
#[must_use]
pub fn file_rows() -> Vec<&'static Setting> {
    let rows = TABLES
        .iter()
        .flat_map(|table| table.rows)
        .copied()
        .chain(model::file::TABLE.rows.iter().copied());
    rows.filter(|row| row.field.is_some()).collect()
}

/// Makes a row of each item, whose documentation is its meaning, and a `TABLE` of all.
macro_rules! settings_table {
    (
        $table:literal: $about:literal;
        $($(#[doc = $meaning:literal])+ $name:ident = $row:expr;)+
    ) => {
        $(
            $(#[doc = $meaning])+
            pub static $name: Setting = $row.with_meaning(concat!($($meaning),+));
        )+

        /// All rows of this module, in their order.
        pub static TABLE: SettingsTable =
            SettingsTable { name: $table, meaning: $about, rows: &[$(&$name),+] };
    };
}
use settings_table;

#[cfg(test)]
#[path = "table_tests.rs"]
mod tests;
