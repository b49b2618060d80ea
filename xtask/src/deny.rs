//! cargo-deny with `deny.toml`: the steps `deny` and `advisories` of `cargo verify`, and
//! `cargo xtask advisories`.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

use anyhow::{Context as _, Result};

use crate::process::{cargo_command, command_output, program_command, run};
use crate::steps::Impossible;
use crate::terminal::print_line;
use crate::workspace;

const VERSION: &str = "0.20.2";

/// The advisory database of cargo-deny, a git repository.
const DATABASE: &str = "https://github.com/RustSec/advisory-db";

/// The location of cargo-deny's copy, as configured in `deny.toml`.
const DATABASES: &str = "advisory-db";

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// The database to read.
#[derive(clap::Args)]
pub(crate) struct AdvisoryArguments {
    /// Path of a clone of the database, for use without network access.
    database: Option<PathBuf>,
}

/// Checks the locked dependencies, without the network.
pub(crate) fn run_checks() -> Result<()> {
    let deny = install_deny()?;
    // Fetches the crates of every target, because the check reads their licenses.
    run(&mut cargo_command(&["fetch", "--locked", "--quiet"]))?;
    run(&mut program_command(deny, &["--offline", "check", "bans", "licenses", "sources"]))
}

/// Compares the locked dependencies with the database.
///
/// # Errors
/// Returns an error if a dependency has an advisory without an exception in `deny.toml`. Returns
/// [`Impossible`] if the database cannot be reached.
pub(crate) fn check_advisories() -> Result<()> {
    let deny = install_deny()?;
    fetch_database(&deny, None).map_err(|error| {
        print_line(&format!("    {error:#}"));
        Impossible(format!("{DATABASE} cannot be reached"))
    })?;
    check_fetched(&deny)
}

/// Like [`check_advisories`] with a clone of the database, or with a required network.
///
/// # Errors
/// Also returns an error if the database is unavailable.
pub(crate) fn run_advisories(arguments: AdvisoryArguments) -> Result<()> {
    let deny = install_deny()?;
    let clone = arguments.database.map(|path| path.canonicalize()).transpose();
    let clone = clone.context("there is no such directory")?;
    fetch_database(&deny, clone.as_deref()).with_context(|| {
        format!("{DATABASE} cannot be reached; name a clone: cargo xtask advisories DIRECTORY")
    })?;
    check_fetched(&deny)
}

/// Updates cargo-deny's copy, from a clone if given.
fn fetch_database(deny: &Path, clone: Option<&Path>) -> Result<()> {
    let mut fetch = program_command(deny, &["--log-level", "error", "fetch", "db"]);
    fetch.env("GIT_TERMINAL_PROMPT", "0");
    if let Some(clone) = clone {
        // cargo-deny fetches the database with git, and git's configuration can replace the URL.
        fetch.env("GIT_CONFIG_COUNT", "1").env("GIT_CONFIG_VALUE_0", DATABASE);
        fetch.env("GIT_CONFIG_KEY_0", format!("url.file://{}.insteadOf", clone.display()));
    }
    command_output(&mut fetch).map(drop)
}

fn check_fetched(deny: &Path) -> Result<()> {
    let place = workspace::target_dir().join(DATABASES);
    let copies = std::fs::read_dir(&place).context("there is no copy of the database")?;
    let mut newest = SystemTime::UNIX_EPOCH;
    for copy in copies {
        let path = copy?.path();
        // The copy's lock file is in the same folder.
        if !path.is_dir() {
            continue;
        }
        let mut log: Command = program_command("git", &["log", "-1", "--format=%ct"]);
        let seconds = command_output(log.current_dir(path))?.parse()?;
        newest = newest.max(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds));
    }
    #[allow(clippy::disallowed_methods, reason = "a command line tool may look at the clock")]
    let age = SystemTime::now().duration_since(newest).unwrap_or_default();
    let days = age.as_secs() / DAY.as_secs();
    print_line(&format!("    the newest advisory is {days} days old"));
    run(&mut program_command(deny, &["--offline", "check", "advisories"]))
}

/// Returns the path of cargo-deny, and installs this version under `target/` if missing.
fn install_deny() -> Result<PathBuf> {
    let place = workspace::target_dir().join("tools");
    let deny = place.join("bin/cargo-deny");
    let version_line = command_output(&mut program_command(&deny, &["--version"]));
    if version_line.is_ok_and(|version_line| version_line == format!("cargo-deny {VERSION}")) {
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
    // cargo-deny runs for a second; the release profile's optimisation would take several times longer.
    install.arg(place).args(["--profile", "dev"]).env("CARGO_PROFILE_DEV_DEBUG", "false");
    run(&mut install)?;
    Ok(deny)
}
