//! `cargo xtask replay`: checks that the current code still writes a run's records.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use djinn_core::id::{RunId, TenantId};
use djinn_core::journal::Record;
use djinn_core::replay::{ReplayDifference, SavedRecord, find_difference};
use djinn_local::read_saved_run;
use serde_json::Value;

use crate::dev::home_dir;
use crate::terminal::print_line;

/// Maximum characters of a differing field.
const SHOWN: usize = 400;

/// The run to replay, and the file to save its records in.
#[derive(clap::Args)]
pub(crate) struct ReplayArguments {
    /// A run in the state folder of `cargo dev`, which must not be running, or a file written by `--save`.
    run: String,
    /// Tenant of the run.
    #[arg(long, default_value = "local", value_parser = |name: &str| TenantId::new(name))]
    tenant: TenantId,
    /// File to write the records to, one line of JSON each.
    #[arg(long)]
    save: Option<PathBuf>,
}

/// Replays a run and all runs below.
///
/// # Errors
/// Returns an error for the first difference, or if the records cannot be read.
pub(crate) fn run(ReplayArguments { run, tenant, save }: ReplayArguments) -> Result<()> {
    let saved = read_records(tenant, &run)?;
    if let Some(file) = save {
        let lines: Result<Vec<String>, _> = saved.iter().map(serde_json::to_string).collect();
        std::fs::write(&file, lines?.join("\n") + "\n")
            .with_context(|| format!("cannot write {}", file.display()))?;
    }
    let mut runs = 0;
    for records in saved.chunk_by(|one, next| one.path == next.path) {
        let name = records.first().map(|first| first.path.to_string()).unwrap_or_default();
        let name = if name.is_empty() { "the run".to_owned() } else { name };
        let records: Vec<Record> = records.iter().map(|saved| saved.record.clone()).collect();
        let found =
            find_difference(&records).with_context(|| format!("{name} cannot be folded"))?;
        if let Some(difference) = found {
            bail!("{}", describe_difference(&name, &difference)?);
        }
        runs += 1;
    }
    print_line(&format!("no difference: {} records of {runs} runs", saved.len()));
    Ok(())
}

/// Reads the records of a run and of all runs below, from the home of `cargo dev` or from a file.
///
/// # Errors
/// Returns an error if the records cannot be read.
pub(crate) fn read_records(tenant: TenantId, run: &str) -> Result<Vec<SavedRecord>> {
    match Path::new(run) {
        file if file.is_file() => read_file(file),
        _ => read_home(tenant, run),
    }
}

fn read_home(tenant: TenantId, run: &str) -> Result<Vec<SavedRecord>> {
    let run = RunId::new(run).with_context(|| format!("{run} is neither a run nor a file"))?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    Ok(runtime.block_on(read_saved_run(home_dir(), tenant, run))?)
}

fn read_file(file: &Path) -> Result<Vec<SavedRecord>> {
    let text =
        std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    let read = |(at, line): (usize, &str)| {
        serde_json::from_str(line)
            .with_context(|| format!("{}:{} is not a record", file.display(), at + 1))
    };
    text.lines().enumerate().map(read).collect()
}

/// Describes the differing record and its differing fields.
fn describe_difference(run: &str, difference: &ReplayDifference) -> Result<String> {
    let number = difference.kept.number;
    let Some(decided) = &difference.decided else {
        return Ok(format!(
            "record {number} of {run} differs: the current code ignores its inputs"
        ));
    };
    let mut text = format!("record {number} of {run} differs");
    let kept = serde_json::to_value(&difference.kept)?;
    let decided = serde_json::to_value(decided)?;
    for (place, kept, decided) in find_differing_members("", &kept, &decided) {
        let shorten = |value: &Value| value.to_string().chars().take(SHOWN).collect::<String>();
        write!(
            text,
            "\n  {place}\n    kept:    {}\n    decided: {}",
            shorten(kept),
            shorten(decided)
        )?;
    }
    Ok(text)
}

/// Returns the innermost differing fields with their locations.
fn find_differing_members<'a>(
    place: &str,
    kept: &'a Value,
    decided: &'a Value,
) -> Vec<(String, &'a Value, &'a Value)> {
    match (kept, decided) {
        (kept, decided) if kept == decided => Vec::new(),
        (Value::Object(kept), Value::Object(decided)) => {
            let names: std::collections::BTreeSet<&String> =
                kept.keys().chain(decided.keys()).collect();
            let of = |name: &String| {
                let place = format!("{place}/{name}");
                let kept = kept.get(name);
                let decided = decided.get(name);
                find_differing_members(
                    &place,
                    kept.unwrap_or(&Value::Null),
                    decided.unwrap_or(&Value::Null),
                )
            };
            names.into_iter().flat_map(of).collect()
        }
        (Value::Array(kept), Value::Array(decided)) if kept.len() == decided.len() => {
            let members = kept.iter().zip(decided).enumerate();
            members
                .flat_map(|(at, (kept, decided))| {
                    find_differing_members(&format!("{place}/{at}"), kept, decided)
                })
                .collect()
        }
        (kept, decided) => vec![(place.to_owned(), kept, decided)],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_is_named_by_its_place() {
        let kept = serde_json::json!({"entries": [{"type": "a", "text": "old"}], "number": 3});
        let decided = serde_json::json!({"entries": [{"type": "a"}], "number": 3});
        let found = find_differing_members("", &kept, &decided);
        let places: Vec<&str> = found.iter().map(|(place, ..)| place.as_str()).collect();
        assert_eq!(places, ["/entries/0/text"]);
    }
}
