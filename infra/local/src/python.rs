//! Python for the sandbox on a laptop: a virtual environment with the importable packages.

use std::fs::{self, File};
use std::io::{self, BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use crate::preparation::InstallProgress;

/// The packages of both sandboxes, with the hash of each file.
const REQUIREMENTS: &str = include_str!("../../sandbox/requirements.txt");
/// The file of the environment that is written last.
const STAMP: &str = "installed.txt";
/// The minimum version of Python.
const OLDEST: (u32, u32) = (3, 11);

/// The reason for a missing Python. The text says what to do.
#[derive(Debug, thiserror::Error)]
pub enum PythonError {
    /// No `python3` is on the path.
    #[error("there is no python3 on this machine: install Python 3.11 or later")]
    Missing,
    /// The installed Python is too old.
    #[error("{0} is too old for code: Python 3.11 or later is needed")]
    TooOld(String),
    /// A command of the installation failed.
    #[error("`{0}` failed: {1}")]
    Failed(String, String),
    /// The environment cannot be written.
    #[error("{0} cannot be written: {1}")]
    Unwritable(String, io::Error),
}

impl PythonError {
    /// Returns the reason without the failed command.
    pub(crate) fn reason(&self) -> String {
        match self {
            Self::Failed(_, reason) => format!("Python's packages were not installed: {reason}"),
            Self::Missing | Self::TooOld(_) | Self::Unwritable(..) => self.to_string(),
        }
    }
}

/// Installs the environment in `place`, unless already installed with the required packages, and returns the
/// path of Python. Calls `say` before the installation, which takes about a minute.
///
/// # Errors
/// Returns [`PythonError`], whose text says what to do.
pub fn prepare_python(place: &Path, say: &dyn Fn(&str)) -> Result<PathBuf, PythonError> {
    prepare_python_with_progress(place, say, &|_| {})
}

/// Like [`prepare_python`], and calls `report` with the progress in packages.
///
/// # Errors
/// Returns [`PythonError`], whose text says what to do.
pub(crate) fn prepare_python_with_progress(
    place: &Path,
    say: &dyn Fn(&str),
    report: &dyn Fn(InstallProgress),
) -> Result<PathBuf, PythonError> {
    let unwritable = |error| PythonError::Unwritable(place.display().to_string(), error);
    if let Some(python) = find_python(place) {
        return Ok(python);
    }
    check_version()?;
    let lock = open_lock(place).map_err(unwritable)?;
    if lock.try_lock().is_err() {
        say(&format!("waiting for another installation into {}", place.display()));
        lock.lock().map_err(unwritable)?;
    }
    // The other installation may have succeeded.
    if let Some(python) = find_python(place) {
        return Ok(python);
    }
    say(&format!(
        "installing Python's packages for code into {} (about a minute)",
        place.display()
    ));
    let total = REQUIREMENTS.lines().filter(|line| line.contains("==")).count() + 1;
    report(InstallProgress { done: 0, total });
    fs::create_dir_all(place).map_err(unwritable)?;
    // The commands inherit the lock and may outlive this process, so two installations never write to the
    // same place.
    let lock_handle = || lock.try_clone().map(Stdio::from).map_err(unwritable);
    run_with_input(
        Command::new("python3").args(["-m", "venv", "--clear"]).arg(place),
        lock_handle()?,
    )?;
    let list = place.join("requirements.txt");
    fs::write(&list, REQUIREMENTS).map_err(unwritable)?;
    let python = python_of(place);
    let mut command = Command::new(&python);
    command.args(["-m", "pip", "--disable-pip-version-check", "install", "--require-hashes"]);
    command.args(["--progress-bar", "off", "--only-binary", ":all:", "-r"]).arg(&list);
    let mut done = 0;
    run_by_line(command, lock_handle()?, |line| {
        if line.starts_with("Collecting ") {
            done = (done + 1).min(total - 1);
            report(InstallProgress { done, total });
        }
    })?;
    fs::write(place.join(STAMP), required_stamp(place)).map_err(unwritable)?;
    report(InstallProgress { done: total, total });
    Ok(python)
}

/// Removes an unfinished installation from `place`, unless a process is installing now.
///
/// # Errors
/// Returns [`io::Error`] if the installation cannot be removed.
pub(crate) fn remove_unfinished_python(place: &Path) -> io::Result<()> {
    if !place.exists() || place.join(STAMP).exists() {
        return Ok(());
    }
    let lock = open_lock(place)?;
    if lock.try_lock().is_err() || place.join(STAMP).exists() {
        return Ok(());
    }
    fs::remove_dir_all(place)
}

fn open_lock(place: &Path) -> io::Result<File> {
    if let Some(parent) = place.parent() {
        fs::create_dir_all(parent)?;
    }
    // The empty file is also the standard input of the commands.
    File::options().read(true).append(true).create(true).open(place.with_extension("lock"))
}

fn python_of(place: &Path) -> PathBuf {
    place.join("bin").join("python")
}

/// The stamp of a complete installation.
fn required_stamp(place: &Path) -> String {
    // An environment cannot be moved: scripts contain the interpreter's path.
    format!("# {}\n{REQUIREMENTS}", place.display())
}

/// Returns the path of Python in `place`, or `None` unless all required packages are installed there.
pub fn find_python(place: &Path) -> Option<PathBuf> {
    let python = python_of(place);
    let stamp = fs::read_to_string(place.join(STAMP)).ok()?;
    let is_whole = || run(Command::new(&python).arg("--version")).is_ok();
    (stamp == required_stamp(place) && is_whole()).then_some(python)
}

fn check_version() -> Result<(), PythonError> {
    let output = run(Command::new("python3").arg("--version")).map_err(|_| PythonError::Missing)?;
    let version = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    let numbers = version.trim_start_matches("Python ").split('.').map(str::parse);
    let numbers: Vec<u32> = numbers.map_while(Result::ok).take(2).collect();
    match numbers.as_slice() {
        [major, minor] if (*major, *minor) >= OLDEST => Ok(()),
        _ => Err(PythonError::TooOld(version)),
    }
}

/// Runs a command and waits for the end.
///
/// # Errors
/// Returns [`PythonError::Failed`] with the last line of the command's error output.
pub(crate) fn run(command: &mut Command) -> Result<Output, PythonError> {
    run_with_input(command, Stdio::null())
}

fn run_with_input(command: &mut Command, input: Stdio) -> Result<Output, PythonError> {
    let command_text = format!("{command:?}");
    let output = command.stdin(input).output();
    let output =
        output.map_err(|error| PythonError::Failed(command_text.clone(), error.to_string()))?;
    if output.status.success() {
        return Ok(output);
    }
    let output_bytes = [output.stdout, output.stderr].concat();
    let output_text = String::from_utf8_lossy(&output_bytes);
    Err(PythonError::Failed(command_text, describe_failure(output_text.lines())))
}

/// Runs a command, and calls `handle` with each printed line.
fn run_by_line(
    mut command: Command,
    input: Stdio,
    mut handle: impl FnMut(&str),
) -> Result<(), PythonError> {
    let command_text = format!("{command:?}");
    let to_error = |error: io::Error| PythonError::Failed(command_text.clone(), error.to_string());
    let (reader, writer) = io::pipe().map_err(to_error)?;
    command.stdin(input).stdout(writer.try_clone().map_err(to_error)?).stderr(writer);
    let mut child = command.spawn().map_err(to_error)?;
    // Closes this process's copies of the pipe's write end.
    drop(command);
    let mut lines = Vec::new();
    for line in BufReader::new(reader).split(b'\n').map_while(Result::ok) {
        let line = String::from_utf8_lossy(&line).into_owned();
        handle(&line);
        lines.push(line);
    }
    if child.wait().map_err(to_error)?.success() {
        return Ok(());
    }
    Err(PythonError::Failed(command_text, describe_failure(lines.iter().map(String::as_str))))
}

/// Returns the reason for a command's failure: the network error, or the last line.
fn describe_failure<'a>(lines: impl DoubleEndedIterator<Item = &'a str> + Clone) -> String {
    let network = lines.clone().rev().find_map(|line| line.split_once("connection broken by"));
    if let Some((_, reason)) = network {
        let reason = reason.rsplit_once(">: ").map_or(reason, |(_, reason)| reason);
        let reason = reason.split("')").next().unwrap_or(reason);
        return format!("no connection to the index of packages: {}", reason.trim());
    }
    let last = lines.rev().find(|line| !line.trim().is_empty());
    last.unwrap_or_default().trim().to_owned()
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    #[test]
    fn installation_that_broke_off_is_removed_unless_it_is_at_work() {
        let home = TempDir::new().unwrap();
        let place = home.path().join("python");
        remove_unfinished_python(&place).unwrap();
        fs::create_dir_all(place.join("bin")).unwrap();
        let lock = open_lock(&place).unwrap();
        lock.lock().unwrap();
        remove_unfinished_python(&place).unwrap();
        assert!(place.exists(), "it is at work");
        drop(lock);
        remove_unfinished_python(&place).unwrap();
        assert!(!place.exists());
        fs::create_dir_all(&place).unwrap();
        fs::write(place.join(STAMP), "of an older list").unwrap();
        remove_unfinished_python(&place).unwrap();
        assert!(place.exists(), "it is whole");
    }

    #[test]
    fn python_without_the_required_packages_is_not_found() {
        let home = TempDir::new().unwrap();
        let place = home.path();
        fs::create_dir(place.join("bin")).unwrap();
        std::os::unix::fs::symlink("/bin/true", python_of(place)).unwrap();
        assert_eq!(find_python(place), None, "its installation broke off");
        fs::write(place.join(STAMP), "of an older list").unwrap();
        assert_eq!(find_python(place), None, "it is outdated");
        fs::write(place.join(STAMP), required_stamp(place)).unwrap();
        assert_eq!(find_python(place), Some(python_of(place)));
    }

    #[test]
    fn command_that_outlives_this_process_keeps_the_lock() {
        let home = TempDir::new().unwrap();
        let place = home.path().join("python");
        let lock = open_lock(&place).unwrap();
        lock.lock().unwrap();
        let (reader, writer) = io::pipe().unwrap();
        // It waits until its output is read.
        let mut command = Command::new("yes");
        let mut child = command.stdin(lock).stdout(writer).spawn().unwrap();
        drop(command);
        assert!(open_lock(&place).unwrap().try_lock().is_err());
        drop(reader);
        child.wait().unwrap();
        assert!(open_lock(&place).unwrap().try_lock().is_ok());
    }

    #[test]
    fn lines_of_a_command_are_handled_and_the_best_one_says_why_it_failed() {
        let run = |script: &str| {
            let mut command = Command::new("sh");
            command.args(["-c", script]);
            let mut lines = Vec::new();
            let result = run_by_line(command, Stdio::null(), |line| lines.push(line.to_owned()));
            let reason = result.map_err(|error| {
                let PythonError::Failed(_, reason) = error else { panic!("{error}") };
                reason
            });
            (lines.join("|"), reason)
        };
        assert_eq!(run("echo a; echo b >&2"), ("a|b".to_owned(), Ok(())));
        assert_eq!(run("echo a; echo; exit 1").1, Err("a".to_owned()));
        let refused = "echo \"WARNING: Retrying (Retry(total=0)) after connection broken by \
            'NewConnectionError('<Connection object at 0x7f>: No route to host')': /simple/numpy/\"; \
            echo ERROR: No matching distribution; exit 1";
        let reason = "no connection to the index of packages: No route to host";
        assert_eq!(run(refused).1, Err(reason.to_owned()));
    }
}
