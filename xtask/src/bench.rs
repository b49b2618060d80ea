//! `cargo bench-run`: measures the product's speed and size.
//!
//! The program of `infra/bench` does the measuring. This module builds the program and the functions, each in
//! its own profile.

use std::path::Path;

use anyhow::Result;

use crate::page;
use crate::process::{cargo_command, program_command, run};
use crate::venv;
use crate::workspace;

/// The profile of the benchmark: optimised, with a build time of minutes.
const PROFILE: &str = "bench-run";

/// The functions measured for size or start time.
const FUNCTIONS: [&str; 4] = ["agent", "database", "executor", "gateway"];

/// The many open streams need more open files than many shells allow.
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

/// Builds the functions, the page and the benchmark, and runs the benchmark.
///
/// # Errors
/// Returns an error if a build or the benchmark fails. A missed target is no error.
pub(crate) fn run_bench(arguments: &BenchArguments) -> Result<()> {
    // Built separately, as deployed: a common build would give each function the features of all.
    for function in FUNCTIONS {
        run(&mut cargo_command(&["build", "--release", "--package", function]))?;
    }
    run(&mut cargo_command(&["build", "--profile", PROFILE, "--package", "djinn-bench"]))?;
    let venv = venv::ensure_venv()?;
    page::build()?;
    page::install_packages(&venv, "web/stories", "page-stories")?;
    let bench = workspace::profile_dir(PROFILE).join("djinn-bench");
    let agent = workspace::profile_dir("release").join("agent");
    let mut command = program_command("sh", &["-c", WITH_FILES]);
    // Objects are files here. In memory, objects cost only the work of S3's clients, without this machine's
    // disk.
    if Path::new(MEMORY).is_dir() {
        command.env("TMPDIR", MEMORY);
    }
    // The page is served by this program as `cargo dev`.
    command.env("XTASK_PROGRAM", std::env::current_exe()?);
    command.arg(bench).arg("--agent").arg(agent).arg("--node").arg(venv.node());
    run(command.args(arguments.json.then_some("--json")))
}
