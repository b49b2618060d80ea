//! `cargo bench-run`: how fast and how small the product is.
//!
//! The measuring itself is the program of `infra/bench`; here it and the functions are built, each in
//! its profile.

use std::path::Path;

use anyhow::Result;

use crate::process::{cargo_command, program_command, run};
use crate::workspace;

/// What times runs: optimised, and built within minutes.
const PROFILE: &str = "bench-run";

/// The functions that are weighed or started.
const FUNCTIONS: [&str; 3] = ["agent", "executor", "gateway"];

/// Streams that are open at once need more open files than many shells allow.
const WITH_FILES: &str = "ulimit -n 4096 2>/dev/null; exec \"$0\" \"$@\"";

/// A file system in memory, on Linux.
const MEMORY: &str = "/dev/shm";

/// The output format of the figures.
#[derive(clap::Args)]
pub(crate) struct BenchArguments {
    /// Prints the figures as JSON, for scripts.
    #[arg(long)]
    json: bool,
}

/// Builds what is measured, and measures it.
///
/// # Errors
/// If something does not build or breaks. A figure that is missed is no error.
pub(crate) fn run_bench(arguments: &BenchArguments) -> Result<()> {
    // One at a time, as they are deployed: together each would have the features that any of them needs.
    for function in FUNCTIONS {
        run(&mut cargo_command(&["build", "--release", "--package", function]))?;
    }
    run(&mut cargo_command(&["build", "--profile", PROFILE, "--package", "djinn-bench"]))?;
    let bench = workspace::profile_dir(PROFILE).join("djinn-bench");
    let agent = workspace::profile_dir("release").join("agent");
    let mut command = program_command("sh", &["-c", WITH_FILES]);
    // Objects are files here. In memory they cost what they cost S3's clients, not what they cost
    // this machine's disk.
    if Path::new(MEMORY).is_dir() {
        command.env("TMPDIR", MEMORY);
    }
    run(command.arg(bench).arg("--agent").arg(agent).args(arguments.json.then_some("--json")))
}
