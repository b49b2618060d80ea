//! The Python of the sandbox on a laptop: an environment of its own with the packages that code may import.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// What is installed, with the hash of each file.
const REQUIREMENTS: &str = include_str!("../../sandbox/requirements.txt");
/// The oldest Python that it runs on.
const OLDEST: (u32, u32) = (3, 11);

/// Why there is no Python for code. Its text says what helps.
#[derive(Debug, thiserror::Error)]
pub enum PythonError {
    /// No `python3` is on the path.
    #[error("there is no python3 on this machine: install Python 3.11 or later")]
    Missing,
    /// The one that is there is too old.
    #[error("{0} is too old for code: Python 3.11 or later is needed")]
    TooOld(String),
    /// A command that makes the environment failed.
    #[error("`{0}` failed: {1}")]
    Failed(String, String),
    /// The environment cannot be written.
    #[error("{0} cannot be written: {1}")]
    Unwritable(String, io::Error),
}

/// Makes the environment in `place`, unless it is there with the packages that are asked for, and returns its
/// Python. `say` is told before the minute that it takes.
///
/// # Errors
/// [`PythonError`], whose text says what to do.
pub fn prepare_python(place: &Path, say: &dyn Fn(&str)) -> Result<PathBuf, PythonError> {
    let python = place.join("bin").join("python");
    let stamp = place.join("installed.txt");
    // An environment cannot be moved: its scripts name their interpreter by its path.
    let wanted = format!("# {}\n{REQUIREMENTS}", place.display());
    let is_whole = || run(Command::new(&python).arg("--version")).is_ok();
    if fs::read_to_string(&stamp).is_ok_and(|found| found == wanted) && is_whole() {
        return Ok(python);
    }
    check_version()?;
    say(&format!(
        "installing Python's packages for code into {} (about a minute)",
        place.display()
    ));
    let unwritable = |error| PythonError::Unwritable(place.display().to_string(), error);
    fs::create_dir_all(place).map_err(unwritable)?;
    run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(place))?;
    let list = place.join("requirements.txt");
    fs::write(&list, REQUIREMENTS).map_err(unwritable)?;
    let pip =
        ["-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--require-hashes"];
    let only = ["--only-binary", ":all:", "-r"];
    run(Command::new(&python).args(pip).args(only).arg(&list))?;
    fs::write(&stamp, wanted).map_err(unwritable)?;
    Ok(python)
}

fn check_version() -> Result<(), PythonError> {
    let told = run(Command::new("python3").arg("--version")).map_err(|_| PythonError::Missing)?;
    let version = String::from_utf8_lossy(&told.stdout).trim().to_owned();
    let numbers = version.trim_start_matches("Python ").split('.').map(str::parse);
    let numbers: Vec<u32> = numbers.map_while(Result::ok).take(2).collect();
    match numbers.as_slice() {
        [major, minor] if (*major, *minor) >= OLDEST => Ok(()),
        _ => Err(PythonError::TooOld(version)),
    }
}

/// Runs a command to its end.
///
/// # Errors
/// [`PythonError::Failed`] with the last line that it complained with.
pub(crate) fn run(command: &mut Command) -> Result<Output, PythonError> {
    let shown = format!("{command:?}");
    let failed = |why: String| PythonError::Failed(shown.clone(), why);
    let output =
        command.stdin(Stdio::null()).output().map_err(|error| failed(error.to_string()))?;
    if output.status.success() {
        return Ok(output);
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let last = said.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
    Err(failed(last.to_owned()))
}
