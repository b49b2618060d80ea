//! Tests the sandbox with a real Python.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};
use djinn_local::{prepare_fonts, prepare_python};

use super::built_programs::BuiltPrograms;
use super::test_process;
use crate::process::command_output;
use crate::reports::OFFICE_PYTHON;
use crate::terminal::print_line;
use crate::venv::ensure_office;
use crate::workspace;

/// The variables with the paths of Python and of the fonts, for the tests.
const PYTHON: &str = "SANDBOX_PYTHON";
const FONTS: &str = "SANDBOX_FONTS";
/// A script that copies Python to a location readable by others.
const COPY_PYTHON: &str = include_str!("copy_python.py");
/// The user id of `nobody` on all distributions.
const NOBODY: u32 = 65_534;

/// Tests of tables, which the step `data` runs.
const TABLE_TESTS: [&str; 4] = ["--skip", "tables::", "--skip", "tpch"];

/// A Python with the packages of `infra/sandbox`, and fonts.
pub(super) struct SandboxPython {
    pub(super) python: PathBuf,
    fonts: Vec<PathBuf>,
    office: PathBuf,
}

impl SandboxPython {
    /// Installs what is missing.
    pub(super) fn prepare() -> Result<Self> {
        let place = workspace::target_dir().join("sandbox-python");
        let python = prepare_python(&place, &say).context("the sandbox's tests need a Python")?;
        let fonts = prepare_fonts(&place, &say).context("the sandbox's tests need fonts")?;
        Ok(Self { python, fonts, office: ensure_office()?.python() })
    }

    /// Runs a command's tests, which find Python and the fonts in variables.
    pub(super) fn run_tests(&self, mut tests: Command) -> Result<()> {
        let fonts = std::env::join_paths(&self.fonts)?;
        tests.env(PYTHON, &self.python).env(FONTS, fonts).env(OFFICE_PYTHON, &self.office);
        test_process::run_tests(&mut tests)
    }
}

/// Runs attacks, features, documents and stories with the packages of `infra/sandbox`. As root, many tests also
/// run as another user.
pub(super) fn run_tests() -> Result<()> {
    let prepared = SandboxPython::prepare()?;
    let built = BuiltPrograms::new()?;
    let jail = |words: &[&str]| {
        let words = [&["--ignored", "--nocapture"], words].concat();
        built.test_command("functions/sandbox", "jail", &words)
    };
    // Successful attacks would affect files of other tests, and endings count the open files of this process.
    let harmless = ["--skip", "attacks::", "--skip", "endings::", "--test-threads", "2"];
    prepared.run_tests(jail(&[&harmless, &TABLE_TESTS[..]].concat())?)?;
    prepared.run_tests(jail(&["attacks::", "endings::", "--test-threads", "1"])?)?;
    if rustix::process::geteuid().is_root() {
        let public = PublicFolder::new()?;
        // Without root, other namespaces and limits apply.
        let tests = ["attacks::", "ends::", "features::ordinary", "--skip", "without_the_jail"];
        let tests = jail(&[tests.as_slice(), &["--test-threads", "1"]].concat())?;
        run_as_nobody(&public.0, &tests, &prepared)?;
    } else {
        say("nothing is done as another user: this is not root");
    }
    let stories = ["code::", "report::", "--skip", "code::tables::"];
    prepared.run_tests(built.ignored_test_command("tests", "it", &stories)?)
}

fn say(words: &str) {
    print_line(&format!("    {words}"));
}

/// Runs a command's tests as a user without rights, on readable copies.
fn run_as_nobody(folder: &Path, tests: &Command, prepared: &SandboxPython) -> Result<()> {
    let readable = |from: &Path, name: &str| -> Result<PathBuf> {
        let copy = folder.join(name);
        fs::copy(from, &copy).with_context(|| format!("{} cannot be copied", from.display()))?;
        fs::set_permissions(&copy, Permissions::from_mode(0o755))?;
        Ok(copy)
    };
    let program = readable(Path::new(tests.get_program()), "jail")?;
    let fonts: Vec<PathBuf> = (1..)
        .zip(&prepared.fonts)
        .map(|(number, font)| readable(font, &format!("{number}.ttf")))
        .collect::<Result<_>>()?;
    let mut copying = Command::new(&prepared.python);
    copying.args(["-I", "-c", COPY_PYTHON]).arg(folder.join("python"));
    let python = command_output(&mut copying)?;
    let mut command = Command::new(program);
    command.args(tests.get_args()).current_dir(folder).env_clear();
    command.envs([("PATH", "/usr/bin:/bin")]).env(PYTHON, python);
    command.env(FONTS, std::env::join_paths(fonts)?);
    // The change of user also drops root's groups.
    test_process::run_tests(command.uid(NOBODY).gid(NOBODY))
}

/// A folder readable by others. Dropping the value removes the folder.
struct PublicFolder(PathBuf);

impl PublicFolder {
    fn new() -> Result<Self> {
        let name = format!("djinn-verify-sandbox-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        fs::create_dir(&folder).with_context(|| format!("{} cannot be made", folder.display()))?;
        fs::set_permissions(&folder, Permissions::from_mode(0o755))?;
        Ok(Self(folder))
    }
}

impl Drop for PublicFolder {
    fn drop(&mut self) {
        let _gone = fs::remove_dir_all(&self.0);
    }
}
