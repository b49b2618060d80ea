//! cargo-deny, which reads `deny.toml`.

use std::path::PathBuf;

use anyhow::Result;

use crate::process::{cargo_command, command_output, program_command, run};
use crate::terminal::print_line;
use crate::workspace;

const VERSION: &str = "0.20.2";

/// Checks the dependency tree as it is locked. Advisories are left out: they need the network, and
/// change without the code.
pub(super) fn run_checks() -> Result<()> {
    let deny = install_deny()?;
    // The sources of every target's crates, whose licenses are read.
    run(&mut cargo_command(&["fetch", "--locked", "--quiet"]))?;
    run(&mut program_command(deny, &["--offline", "check", "bans", "licenses", "sources"]))
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
