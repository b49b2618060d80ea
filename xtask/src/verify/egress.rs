//! Tests the client for outgoing requests: the number of tested address spellings, and the number of
//! connections.

use anyhow::Result;

use super::built_programs::BuiltPrograms;
use super::test_process;

/// Runs the client's tests again; one of the tests prints figures.
pub(super) fn run_tests() -> Result<()> {
    test_process::run_tests(&mut BuiltPrograms::new()?.test_command(
        "shared/egress",
        "it",
        &["--nocapture"],
    )?)
}
