//! `settings.md`: every variable with its values and its source in a deployment.

use std::fmt::Write as _;

use anyhow::{Result, ensure};
use djinn_settings::table::TABLES;
use djinn_settings::table::model::{member, whole};
use djinn_settings::{Setting, SettingSource, SettingsTable};

const HEAD: &str = "\
# Settings

This page is written by `cargo xtask docs` from the code.

Settings are environment variables, read once at the start.
A setting with a **Field** is also a field of [`djinn.toml`](configuration.md), read again while the function runs.
Empty and blank variables count as not set.
The stack sets the required variables.
An invalid value stops the start, with an error that names the variable.
So does an unknown name that begins with `DJINN_`.

**Secret** values never appear in errors or logs.
**From** names the source of the variable in a deployment: a parameter of `template.yaml`, the stack itself, or nothing.
If the default of a deployment differs from the default of the code, both are listed.
";

const MODEL_HEAD: &str = "
### Fields of `DJINN_MODELS`

[Models](models.md) shows whole objects.
An unknown field, a wrong type or a value out of range is rejected with its path.
";

pub(crate) fn write_settings_list() -> Result<String> {
    let mut text = HEAD.to_owned();
    for table in TABLES {
        let SettingsTable { name, meaning, rows } = table;
        write!(text, "\n## {name}\n\n{}\n\n", break_sentences(meaning))?;
        writeln!(text, "| Variable | Field | Value | Default | Meaning | Secret | From |")?;
        writeln!(text, "|---|---|---|---|---|---|---|")?;
        for row in *rows {
            writeln!(text, "{}", write_row(row)?)?;
        }
        if *name == "model" {
            text.push_str(MODEL_HEAD);
            write_members(&mut text, &whole::TABLE)?;
            write_members(&mut text, &member::TABLE)?;
        }
    }
    Ok(text)
}

fn write_row(row: &Setting) -> Result<String> {
    let Setting { name, kind, meaning, .. } = row;
    ensure!(meaning.split_whitespace().count() >= 4, "{name} has no sentence");
    let default = match row.deployed_default {
        Some(deployed) => format!("{}; deployed `{deployed}`", quote_default(row)),
        None => quote_default(row),
    };
    let secret = if row.is_secret { "yes" } else { "no" };
    let source = match row.source {
        SettingSource::Parameter(parameter) => format!("`{parameter}`"),
        SettingSource::Stack => "the stack".to_owned(),
        SettingSource::Nothing(reason) => format!("nothing: {reason}"),
    };
    let field = row.field.map(|field| format!("`{field}`")).unwrap_or_default();
    Ok(format!("| `{name}` | {field} | {kind} | {default} | {meaning} | {secret} | {source} |"))
}

fn write_members(text: &mut String, table: &SettingsTable) -> Result<()> {
    write!(text, "\n{}\n\n", break_sentences(table.meaning))?;
    writeln!(text, "| Field | Value | Default | Meaning |\n|---|---|---|---|")?;
    for row in table.rows {
        let Setting { name, kind, meaning, .. } = row;
        writeln!(text, "| `{name}` | {kind} | {} | {meaning} |", quote_default(row))?;
    }
    Ok(())
}

/// Writes one sentence per line, as in every document.
fn break_sentences(text: &str) -> String {
    text.replace(". ", ".\n")
}

fn quote_default(row: &Setting) -> String {
    match row.default {
        Some(value) => format!("`{value}`"),
        None if row.is_required => "required".to_owned(),
        None => "none".to_owned(),
    }
}
