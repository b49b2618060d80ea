//! Runs the commands of a document in sequence, as a user would in a terminal.

use std::fs::{self, Permissions};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use djinn_settings::table::TABLES;
use djinn_settings::table::dev::{HOME, URL};

use super::console::{ConsoleCommand, parse_commands};
use super::pattern::{matches_all, matches_beginning};
use super::read_blocks;
use super::shell::{ShellCommand, WaitEnd};
use crate::process::program_command;
use crate::terminal::print_line;
use crate::venv::Venv;
use crate::workspace;

/// Timeout of a command, and of a server until the expected output.
const LONGEST: Duration = Duration::from_mins(3);

/// The output of a listening server.
const LISTENS: &str = "Djinn listens on …";

/// The port and the folder in documents, replaced in tests.
const PORT: &str = "9000";
const FOLDER: &str = ".djinn";

/// A replacement for cargo that calls the built programs.
const CARGO: &str = include_str!("cargo.sh");

/// The built programs called in documents.
pub(super) struct CalledPrograms<'a> {
    pub(super) venv: &'a Venv,
    pub(super) xtask: PathBuf,
    pub(super) own_tool: PathBuf,
}

/// Runs the commands of a document in a new folder, without a configured model.
///
/// # Errors
/// Returns an error for the first command with unexpected output.
pub(super) fn play_document(programs: &CalledPrograms<'_>, root: &Path, path: &str) -> Result<()> {
    let mut session = DocumentSession::open(programs, root, path)?;
    for block in read_blocks(root, path)?.iter().filter(|block| block.language == "console") {
        for command in parse_commands(block).with_context(|| path.to_owned())? {
            print_line(&format!("    {path}:{} {}", command.line, first_line(&command.text)));
            session.run_command(&command).with_context(|| {
                format!("{path}:{} `{}`", command.line, first_line(&command.text))
            })?;
        }
    }
    session.stop_server();
    Ok(())
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default().trim_end_matches(['\\', ' '])
}

/// The shared state of a document's commands.
struct DocumentSession<'a> {
    programs: &'a CalledPrograms<'a>,
    /// The working directory of the commands.
    root: &'a Path,
    /// The replacement of `.djinn`.
    home: PathBuf,
    /// The folder with the replacement for `cargo`.
    bin: PathBuf,
    port: u16,
    server: Option<ShellCommand>,
}

impl<'a> DocumentSession<'a> {
    fn open(programs: &'a CalledPrograms<'a>, root: &'a Path, path: &str) -> Result<Self> {
        let name = path.trim_end_matches(".md").replace('/', "-");
        let folder = workspace::target_dir().join("docs").join(name);
        if folder.exists() {
            fs::remove_dir_all(&folder)
                .with_context(|| format!("{} is in use", folder.display()))?;
        }
        let home = folder.join("home");
        let bin = folder.join("bin");
        fs::create_dir_all(&home).and_then(|()| fs::create_dir_all(&bin))?;
        fs::write(bin.join("cargo"), CARGO)?;
        fs::set_permissions(bin.join("cargo"), Permissions::from_mode(0o755))?;
        let port = TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port();
        Ok(Self { programs, root, home, bin, port, server: None })
    }

    fn run_command(&mut self, command: &ConsoleCommand) -> Result<()> {
        if command.is_server() {
            self.stop_server();
        }
        let mut shell = ShellCommand::start(self.shell_command(&command.text)?)?;
        if command.is_server() {
            self.wait_for_server(&mut shell, &command.expected)?;
            self.server = Some(shell);
            return Ok(());
        }
        let end = shell.wait_until(LONGEST, |_| false);
        let output = self.as_documented(&shell.printed());
        let comparison = || compare(&command.expected, &output);
        ensure!(end == WaitEnd::Closed, "has not ended\n{}", comparison());
        let status = shell.wait_for_end()?;
        ensure!(status.success(), "ended with {status}\n{}", comparison());
        ensure!(
            matches_all(&command.expected, &output),
            "printed something else\n{}",
            comparison()
        );
        Ok(())
    }

    fn wait_for_server(&self, shell: &mut ShellCommand, expected: &[String]) -> Result<()> {
        let listens = [LISTENS.to_owned()];
        let pattern = if expected.is_empty() { &listens } else { expected };
        let is_up = |printed: &str| matches_beginning(pattern, &self.as_documented(printed));
        let what = match shell.wait_until(LONGEST, is_up) {
            WaitEnd::Printed => return Ok(()),
            WaitEnd::Closed => "ended",
            WaitEnd::TimedOut => "is not up",
        };
        bail!("{what}\n{}", compare(pattern, &self.as_documented(&shell.printed())))
    }

    fn stop_server(&mut self) {
        if let Some(server) = self.server.take() {
            server.interrupt();
        }
    }

    /// Returns a shell command in the root, without the current user's settings, in particular without model
    /// keys.
    fn shell_command(&self, text: &str) -> Result<Command> {
        let text = text.replace(&format!(":{PORT}"), &format!(":{}", self.port));
        let text = text.replace(&format!("--port {PORT}"), &format!("--port {}", self.port));
        let text = text.replace(&format!("{FOLDER}/"), &format!("{}/", self.home.display()));
        let mut shell = self.programs.venv.with_venv(program_command("sh", &["-c", &text]))?;
        let path = shell.get_envs().find(|(name, _)| *name == "PATH").and_then(|(_, path)| path);
        let path = path.map(std::env::split_paths).into_iter().flatten();
        let path = std::env::join_paths(std::iter::once(self.bin.clone()).chain(path))?;
        for row in TABLES.iter().flat_map(|table| table.rows) {
            shell.env_remove(row.name);
        }
        shell
            .current_dir(self.root)
            .env("PATH", path)
            .env("DOCUMENT_PORT", self.port.to_string())
            .env("DOCUMENT_XTASK", &self.programs.xtask)
            .env("DOCUMENT_OWN_TOOL", &self.programs.own_tool)
            .env(HOME.name, &self.home)
            .env(URL.name, format!("http://127.0.0.1:{}", self.port));
        Ok(shell)
    }

    /// Returns the output with the port and the folder from the documents.
    fn as_documented(&self, printed: &str) -> String {
        let home = self.home.display().to_string();
        let from_root = self.home.strip_prefix(workspace::root()).unwrap_or(&self.home);
        printed
            .replace(&format!(":{}", self.port), &format!(":{PORT}"))
            .replace(&home, FOLDER)
            .replace(&from_root.display().to_string(), FOLDER)
    }
}

/// Returns both texts, one below the other.
fn compare(expected: &[String], printed: &str) -> String {
    let indent = |lines: &mut dyn Iterator<Item = &str>| {
        lines.map(|line| format!("      {line}\n")).collect::<String>()
    };
    let document_text = indent(&mut expected.iter().map(String::as_str));
    format!(
        "    the document shows:\n{document_text}    this was printed:\n{}",
        indent(&mut printed.lines())
    )
}
