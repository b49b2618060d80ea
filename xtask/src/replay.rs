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
    let all_records = read_records(tenant, &run)?;
    if let Some(file) = save {
        let lines: Result<Vec<String>, _> = all_records.iter().map(serde_json::to_string).collect();
        std::fs::write(&file, lines?.join("\n") + "\n")
            .with_context(|| format!("cannot write {}", file.display()))?;
    }
    let mut runs = 0;
    for records in all_records.chunk_by(|one, next| one.path == next.path) {
        let name = records.first().map(|first| first.path.to_string()).unwrap_or_default();
        let name = if name.is_empty() { "the run".to_owned() } else { name };
        let records: Vec<Record> = records.iter().map(|entry| entry.record.clone()).collect();
        let first_difference =
            find_difference(&records).with_context(|| format!("{name} cannot be folded"))?;
        if let Some(difference) = first_difference {
            bail!("{}", describe_difference(&name, &difference)?);
        }
        runs += 1;
    }
    print_line(&format!("no difference: {} records of {runs} runs", all_records.len()));
    Ok(())
}

/// Reads the records of a run and of all runs below, from the home of `cargo dev` or from a file.
///
/// # Errors
/// Returns an error if the records cannot be read.
pub(crate) fn read_records(tenant: TenantId, run: &str) -> Result<Vec<SavedRecord>> {
    let file = Path::new(run);
    if file.is_file() {
        return read_file(file);
    }
    let run = RunId::new(run).with_context(|| format!("{run} is neither a run nor a file"))?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    Ok(runtime.block_on(read_saved_run(home_dir(), tenant, run))?)
}

fn read_file(file: &Path) -> Result<Vec<SavedRecord>> {
    let text =
        std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    let parse_line = |(at, line): (usize, &str)| {
        serde_json::from_str(line)
            .with_context(|| format!("{}:{} is not a record", file.display(), at + 1))
    };
    text.lines().enumerate().map(parse_line).collect()
}

/// Describes the differing record and its differing fields.
fn describe_difference(run: &str, difference: &ReplayDifference) -> Result<String> {
    let number = difference.kept.number;
    let Some(replay) = &difference.decided else {
        return Ok(format!(
            "record {number} of {run} differs: the current code ignores its inputs"
        ));
    };
    let mut text = format!("record {number} of {run} differs");
    let original = serde_json::to_value(&difference.kept)?;
    let replay = serde_json::to_value(replay)?;
    for (place, original, replay) in find_differing_members("", &original, &replay) {
        let shorten = |value: &Value| value.to_string().chars().take(SHOWN).collect::<String>();
        write!(
            text,
            "\n  {place}\n    kept:    {}\n    decided: {}",
            shorten(original),
            shorten(replay)
        )?;
    }
    Ok(text)
}

/// Returns the innermost differing fields with their locations.
fn find_differing_members<'a>(
    place: &str,
    original: &'a Value,
    replay: &'a Value,
) -> Vec<(String, &'a Value, &'a Value)> {
    match (original, replay) {
        (original, replay) if original == replay => Vec::new(),
        (Value::Object(original), Value::Object(replay)) => {
            let names: std::collections::BTreeSet<&String> =
                original.keys().chain(replay.keys()).collect();
            let of = |name: &String| {
                let place = format!("{place}/{name}");
                let original = original.get(name);
                let replay = replay.get(name);
                find_differing_members(
                    &place,
                    original.unwrap_or(&Value::Null),
                    replay.unwrap_or(&Value::Null),
                )
            };
            names.into_iter().flat_map(of).collect()
        }
        (Value::Array(original), Value::Array(replay)) if original.len() == replay.len() => {
            let members = original.iter().zip(replay).enumerate();
            members
                .flat_map(|(at, (original, replay))| {
                    find_differing_members(&format!("{place}/{at}"), original, replay)
                })
                .collect()
        }
        (original, replay) => vec![(place.to_owned(), original, replay)],
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
