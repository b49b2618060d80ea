//! `cargo xtask profile`: the largest owners of processor time, of allocated bytes, of the archive, and of the first build.

mod archive;
mod owners;

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use serde_json::Value;

use crate::process::{cargo_command, command_output, program_command, run};
use crate::terminal::print_line;
use crate::workspace;
use owners::Samples;

/// The thread name of the measured agent's process.
const AGENT: &str = "agent";

/// Owners of each table.
const SHOWN: usize = 10;

/// The subject of a profile.
#[derive(Clone, Copy, clap::ValueEnum)]
enum ProfileSubject {
    /// Processor time of runs, one at a time.
    Run,
    /// Processor time of runs, 16 at once.
    AtOnce,
    /// Bytes that the runs of the budget's test allocate.
    Bytes,
    /// Bytes of the agent's program.
    Archive,
    /// Milliseconds of the first build.
    Build,
}

/// The arguments of `cargo xtask profile`.
#[derive(clap::Args)]
pub(crate) struct ProfileArguments {
    subject: ProfileSubject,
}

/// Profiles the subject and prints the largest owners.
///
/// # Errors
/// Returns an error if a build or a tool fails.
pub(crate) fn run_profile(ProfileArguments { subject }: &ProfileArguments) -> Result<()> {
    match subject {
        ProfileSubject::Run => sample_agent(1),
        ProfileSubject::AtOnce => sample_agent(16),
        ProfileSubject::Bytes => count_allocations(),
        ProfileSubject::Archive => archive::weigh_agent(SHOWN),
        ProfileSubject::Build => time_build(),
    }
}

/// Samples the agent's process in the benchmark with perf's software clock, during this number of runs at once.
fn sample_agent(at_once: usize) -> Result<()> {
    let mut build = cargo_command(&["build", "--profile", "bench-run", "--package", "djinn-bench"]);
    // perf follows frame pointers of Rust code to the callers; a copy of the stack leads to only a third of them.
    build.env("RUSTFLAGS", "-C force-frame-pointers=yes");
    build.env("CARGO_PROFILE_BENCH_RUN_STRIP", "false");
    build.env("CARGO_PROFILE_BENCH_RUN_DEBUG", "line-tables-only");
    run(&mut build)?;
    let data = profile_dir()?.join("perf.data");
    let data = data.to_str().context("the path of target/profile is no text")?;
    let bench = workspace::profile_dir("bench-run").join("djinn-bench");
    let mut record = program_command("perf", &["record", "--quiet", "--output", data]);
    record.args(["--event", "cpu-clock", "-F", "1999", "--call-graph", "fp", "--"]);
    run(record.arg(bench).args(["--runs", &at_once.to_string()]))?;
    let mut script = program_command("perf", &["script", "--input", data, "--comm", AGENT]);
    let script = command_output(script.args(["--no-inline", "-F", "ip,sym,dso"]))?;
    print_samples("samples", Samples::parse(&script));
    Ok(())
}

/// Runs the test of `infra/bench/budget.toml` under valgrind's DHAT.
fn count_allocations() -> Result<()> {
    let build = ["test", "--workspace", "--test", "it", "--no-run", "--message-format", "json"];
    let messages = command_output(&mut cargo_command(&build))?;
    let folder = workspace::root().join("shared/runtime");
    let manifest = folder.join("Cargo.toml");
    let program = messages.lines().find_map(|line| {
        let message: Value = serde_json::from_str(line).ok()?;
        let is_its = message.get("manifest_path")?.as_str().map(Path::new) == Some(&*manifest);
        Some(message.get("executable")?.as_str()?.to_owned()).filter(|_| is_its)
    });
    let program = program.context("the test of the budget was not built")?;
    let data = profile_dir()?.join("dhat.json");
    let mut dhat = program_command("valgrind", &["--tool=dhat", "--num-callers=40"]);
    dhat.arg(format!("--dhat-out-file={}", data.display()));
    run(dhat.args([&program, "--test-threads=1", "counted_cost"]).current_dir(folder))?;
    let file: Value = serde_json::from_slice(&std::fs::read(data)?)?;
    print_samples("bytes", Samples::parse_dhat(&file));
    Ok(())
}

fn print_samples(unit: &str, samples: Samples) {
    print_owners(&format!("{unit}, nearest crate"), samples.by_crate);
    print_owners(&format!("{unit}, nearest function of Djinn"), samples.by_function);
}

/// Times a build from nothing of what `cargo dev` needs.
fn time_build() -> Result<()> {
    let target = profile_dir()?.join("build");
    if target.exists() {
        std::fs::remove_dir_all(&target)?;
    }
    let mut build = cargo_command(&["build", "--package", "xtask", "--timings", "--target-dir"]);
    run(build.arg(&target))?;
    let report = target.join("cargo-timings/cargo-timing.html");
    print_owners("milliseconds, crate", read_unit_times(&report)?);
    Ok(())
}

/// Reads the times of the compiled units from cargo's report, in milliseconds.
fn read_unit_times(report: &Path) -> Result<Vec<(String, u64)>> {
    let html = std::fs::read_to_string(report)?;
    let (_, data) = html.split_once("UNIT_DATA = ").context("the report has no units")?;
    let (data, _) = data.split_once("];").context("the report's units do not end")?;
    let units: Vec<Value> = serde_json::from_str(&format!("{data}]"))?;
    let times = units.iter().filter_map(|unit| {
        let name = unit.get("name")?.as_str()?.to_owned();
        Some((name, (unit.get("duration")?.as_f64()? * 1_000.0) as u64))
    });
    Ok(times.collect())
}

/// Prints the largest owners, each with its share of the total.
fn print_owners(title: &str, owners: Vec<(String, u64)>) {
    print_line(&format!("\n{title}"));
    for line in owners::largest(owners, SHOWN) {
        print_line(&line);
    }
}

/// Returns the folder for the files of profiles.
fn profile_dir() -> Result<PathBuf> {
    let folder = workspace::target_dir().join("profile");
    std::fs::create_dir_all(&folder)?;
    Ok(folder)
}
