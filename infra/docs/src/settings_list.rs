//! `settings.md`: every variable with its values and its source in a deployment.

use std::fmt::Write as _;

use anyhow::{Result, ensure};
use djinn_settings::table::TABLES;
use djinn_settings::table::model::{member, whole};
use djinn_settings::{Setting, SettingSource, SettingsTable};

const HEAD: &str = "\
# Settings

This page is written by `cargo xtask docs` from the code.

A setting in lower case is a field of [`djinn.toml`](configuration.md), read again while the function runs.
The variable of a field is `DJINN_` and the field's path in capitals, with two underscores for each dot.
`limits.max_steps` is `DJINN_LIMITS__MAX_STEPS`, and the variable wins over the file.
A setting in capitals is only a variable, read once at the start.
Empty and blank variables count as not set.
An invalid value is rejected with its place; at the start, the function stops.
So does an unknown name that begins with `DJINN_`.

**Secret** values never appear in errors or logs.
**From** names the source of a setting in a deployment: the file, a parameter of `template.yaml`, the stack, or nothing.
If the default of a deployment differs from the default on a laptop, both are listed.
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
        writeln!(text, "| Setting | Value | Default | Meaning | Secret | From |")?;
        writeln!(text, "|---|---|---|---|---|---|")?;
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
    let Setting { name, meaning, .. } = row;
    let rule = row.rule();
    ensure!(meaning.split_whitespace().count() >= 4, "{name} has no sentence");
    let default = match row.deployed_default {
        Some(deployed) => format!("{}; deployed `{deployed}`", quote_default(row)),
        None => quote_default(row),
    };
    let secret = if row.is_secret { "yes" } else { "no" };
    let source = match row.source {
        SettingSource::File => "`djinn.toml`".to_owned(),
        SettingSource::Parameter(parameter) => format!("`{parameter}`"),
        SettingSource::Stack => "the stack".to_owned(),
        SettingSource::Nothing(reason) => format!("nothing: {reason}"),
    };
    let name = row.field.unwrap_or(name);
    Ok(format!("| `{name}` | {rule} | {default} | {meaning} | {secret} | {source} |"))
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
