//! `cargo xtask journal`: a table of a run's inputs and resulting entries.

mod facts;
mod table;

use anyhow::Result;
use djinn_core::id::TenantId;

use crate::replay::read_records;
use crate::terminal::print_line;
use table::write_table;

/// The run to show, and the output format.
#[derive(clap::Args)]
pub(crate) struct JournalArguments {
    /// A run in the state folder of `cargo dev`, which must not be running, or a file written by `replay --save`.
    run: String,
    /// Tenant of the run.
    #[arg(long, default_value = "local", value_parser = |name: &str| TenantId::new(name))]
    tenant: TenantId,
    /// Also shows the child runs.
    #[arg(long)]
    tree: bool,
    /// Prints each record in full, as a line of JSON.
    #[arg(long)]
    json: bool,
}

/// Shows the records of a run.
///
/// # Errors
/// Returns an error if the records cannot be read.
pub(crate) fn run(JournalArguments { run, tenant, tree, json }: JournalArguments) -> Result<()> {
    let mut records = read_records(tenant, &run)?;
    records.retain(|saved| tree || saved.path.is_root());
    if json {
        for saved in &records {
            print_line(&serde_json::to_string(saved)?);
        }
    } else {
        for journal in records.chunk_by(|one, next| one.path == next.path) {
            print_line(&write_table(journal));
        }
    }
    Ok(())
}
