//! `cargo xtask journal`: a table of a run's inputs and resulting entries, and their verification.

mod facts;
mod table;

use anyhow::{Context as _, Result};
use djinn_core::id::{RunId, TenantId};
use djinn_local::{VerifiedJournal, verify_saved_run};

use crate::dev::home_dir;
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
    /// Verifies the stored records of the run and all child runs by their hashes, instead of showing them.
    #[arg(long, conflicts_with_all = ["tree", "json"])]
    verify: bool,
}

/// Shows or verifies the records of a run.
///
/// # Errors
/// Returns an error if the records cannot be read, or for the first record that is not as written.
pub(crate) fn run(arguments: JournalArguments) -> Result<()> {
    let JournalArguments { run, tenant, tree, json, verify } = arguments;
    if verify {
        // A saved file has the records of another encoding than the stored bytes.
        let run = RunId::new(&run)
            .with_context(|| format!("{run} is not a run; only stored records can be verified"))?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let journals = runtime.block_on(verify_saved_run(home_dir(), tenant, run))?;
        for VerifiedJournal { path, head } in journals {
            let name = if path.is_root() { "the run".to_owned() } else { path.to_string() };
            print_line(&format!("{name}: {} records as written, head {}", head.records, head.hash));
        }
        return Ok(());
    }
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
