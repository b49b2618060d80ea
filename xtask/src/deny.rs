//! cargo-deny, which reads `deny.toml`: `cargo verify`'s steps `deny` and `advisories`, and `cargo xtask advisories`.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

use anyhow::{Context as _, Result};

use crate::process::{cargo_command, command_output, program_command, run};
use crate::steps::Impossible;
use crate::terminal::print_line;
use crate::workspace;

const VERSION: &str = "0.20.2";

/// The database that cargo-deny reads, a git repository.
const DATABASE: &str = "https://github.com/RustSec/advisory-db";

/// Where `deny.toml` has cargo-deny keep its copy.
const DATABASES: &str = "advisory-db";

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// The database to read.
#[derive(clap::Args)]
pub(crate) struct AdvisoryArguments {
    /// Path of a clone of the database, for use without network access.
    database: Option<PathBuf>,
}

/// Checks the dependency tree as it is locked, without the network.
pub(crate) fn run_checks() -> Result<()> {
    let deny = install_deny()?;
    // The sources of every target's crates, whose licenses are read.
    run(&mut cargo_command(&["fetch", "--locked", "--quiet"]))?;
    run(&mut program_command(deny, &["--offline", "check", "bans", "licenses", "sources"]))
}

/// Compares what is locked with the database.
///
/// # Errors
/// If an advisory that `deny.toml` does not name concerns what is locked, and [`Impossible`] if the database cannot
/// be reached.
pub(crate) fn check_advisories() -> Result<()> {
    let deny = install_deny()?;
    fetch_database(&deny, None).map_err(|error| {
        print_line(&format!("    {error:#}"));
        Impossible(format!("{DATABASE} cannot be reached"))
    })?;
    check_fetched(&deny)
}

/// The same with a clone of the database, or with a network that has to be there.
///
/// # Errors
/// Also if the database cannot be had.
pub(crate) fn run_advisories(arguments: AdvisoryArguments) -> Result<()> {
    let deny = install_deny()?;
    let clone = arguments.database.map(|path| path.canonicalize()).transpose();
    let clone = clone.context("there is no such directory")?;
    fetch_database(&deny, clone.as_deref()).with_context(|| {
        format!("{DATABASE} cannot be reached; name a clone: cargo xtask advisories DIRECTORY")
    })?;
    check_fetched(&deny)
}

/// Brings cargo-deny's copy up to date, from a clone if there is one.
fn fetch_database(deny: &Path, clone: Option<&Path>) -> Result<()> {
    let mut fetch = program_command(deny, &["--log-level", "error", "fetch", "db"]);
    fetch.env("GIT_TERMINAL_PROMPT", "0");
    if let Some(clone) = clone {
        // It asks git for the database, and git can be told that it is elsewhere.
        fetch.env("GIT_CONFIG_COUNT", "1").env("GIT_CONFIG_VALUE_0", DATABASE);
        fetch.env("GIT_CONFIG_KEY_0", format!("url.file://{}.insteadOf", clone.display()));
    }
    command_output(&mut fetch).map(drop)
}

fn check_fetched(deny: &Path) -> Result<()> {
    print_line(&format!("    the newest advisory is {} days old", database_age()?));
    run(&mut program_command(deny, &["--offline", "check", "advisories"]))
}

/// Days since the database was changed last.
fn database_age() -> Result<u64> {
    let place = workspace::target_dir().join(DATABASES);
    let copies = std::fs::read_dir(&place).context("there is no copy of the database")?;
    let mut newest = SystemTime::UNIX_EPOCH;
    for copy in copies {
        let path = copy?.path();
        // Its lock lies beside it.
        if !path.is_dir() {
            continue;
        }
        let mut log: Command = program_command("git", &["log", "-1", "--format=%ct"]);
        let seconds = command_output(log.current_dir(path))?.parse()?;
        newest = newest.max(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds));
    }
    #[allow(clippy::disallowed_methods, reason = "a command line tool may look at the clock")]
    let passed = SystemTime::now().duration_since(newest).unwrap_or_default();
    Ok(passed.as_secs() / DAY.as_secs())
}

/// The program, installed under `target/` unless it is there in this version.
fn install_deny() -> Result<PathBuf> {
    let place = workspace::target_dir().join("tools");
    let deny = place.join("bin/cargo-deny");
    let found = command_output(&mut program_command(&deny, &["--version"]));
    if found.is_ok_and(|found| found == format!("cargo-deny {VERSION}")) {
        return Ok(deny);
    }
    print_line(&format!("    installing cargo-deny {VERSION} into target/tools (about a minute)"));
    let mut install = cargo_command(&[
        "install",
        "cargo-deny",
        "--locked",
        "--quiet",
        "--version",
        VERSION,
        "--root",
    ]);
    // It runs for a second: what its release profile optimises costs several times that.
    install.arg(place).args(["--profile", "dev"]).env("CARGO_PROFILE_DEV_DEBUG", "false");
    run(&mut install)?;
    Ok(deny)
}
