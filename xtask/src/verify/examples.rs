//! The clients in `examples/`, run as people run them.

use std::fs;

use anyhow::{Context as _, Result};

use super::built_programs::BuiltPrograms;
use crate::process::run;
use crate::terminal::print_line;
use crate::venv::{self, Venv};
use crate::workspace;

/// The compiler of TypeScript and what it has to know, by version and hash.
const PACKAGES: &str = "infra/check/node";

/// Checks the types of `client.ts`, and has each client talk to a system.
pub(super) fn run_tests() -> Result<()> {
    let venv = venv::ensure_venv()?;
    check_types(&venv)?;
    let tests = BuiltPrograms::new()?.ignored_test_command("tests", "examples", &[])?;
    // `node` and `python3` are those of the environment.
    run(&mut venv.with_venv(tests)?)
}

/// Node runs TypeScript without a look at its types.
fn check_types(venv: &Venv) -> Result<()> {
    let place = workspace::target_dir().join("node");
    let compiler = place.join("node_modules/typescript/bin/tsc");
    let lock = fs::read(workspace::root().join(PACKAGES).join("package-lock.json"))
        .with_context(|| format!("{PACKAGES} cannot be read"))?;
    let stamp = place.join("installed");
    if !fs::read(&stamp).is_ok_and(|found| found == lock) {
        print_line("    installing TypeScript into target/node");
        fs::create_dir_all(&place)?;
        for name in ["package.json", "package-lock.json"] {
            fs::copy(workspace::root().join(PACKAGES).join(name), place.join(name))?;
        }
        let install = ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--silent"];
        run(venv.program_command("npm", &install)?.current_dir(&place))?;
        fs::write(&stamp, &lock).context("target/node cannot be written")?;
    }
    let compiler = compiler.to_str().context("the workspace's path is not UTF-8")?;
    run(&mut venv.program_command("node", &[compiler, "--project", PACKAGES])?)
}
