//! The client for what is fetched in the world: how many spellings were tried, and how many connected.

use anyhow::Result;

use super::built_programs::BuiltPrograms;
use super::test_process;

/// Runs its tests once more, of which one prints figures.
pub(super) fn run_tests() -> Result<()> {
    test_process::run_tests(&mut BuiltPrograms::new()?.test_command(
        "shared/egress",
        "it",
        &["--nocapture"],
    )?)
}
