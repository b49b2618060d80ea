//! `cargo xtask recording`: a planned run as an animated picture, drawn only from the run's output.

mod output;
mod picture;
mod rows;

use std::fs::{self, File};
use std::io::{ErrorKind, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context as _, Result, bail};
use djinn_settings::table::dev::HOME;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use crate::terminal::print_line;
use crate::workspace;
use output::{OutputPiece, read_lines};
use picture::draw_picture;
use rows::break_lines;

/// The question from README.md.
const QUESTION: &str =
    "Compare the three regions in examples/sales.csv, one report each, then a summary";

/// The file of the question.
const FILE: &str = "examples/sales.csv";

/// Maximum size of a picture in bytes, to keep pages with the picture small.
const MAX_BYTES: usize = 150_000;

/// The file of the picture.
#[derive(clap::Args)]
pub(crate) struct RecordingArguments {
    /// File to write the picture to.
    #[arg(long, default_value = "docs/recording.svg")]
    out: PathBuf,
}

/// Runs the question with the scripted model in a new folder, and draws the output.
///
/// # Errors
/// Returns an error if the run fails, or if the picture is too large or cannot be written.
pub(crate) fn run(arguments: &RecordingArguments) -> Result<()> {
    let words = ["dev", "ask", "--deep", QUESTION, "--file", FILE];
    let pieces = record_output(&words)?;
    let command = format!("$ cargo dev ask --deep \"{QUESTION}\" --file {FILE}\n");
    let lines = read_lines(&command, &pieces)?;
    let picture = draw_picture(&break_lines(lines), "A planned question, asked with cargo dev ask");
    if picture.len() > MAX_BYTES {
        bail!("the picture has {} bytes, and {MAX_BYTES} are the most", picture.len());
    }
    let out = workspace::root().join(&arguments.out);
    fs::write(&out, &picture).with_context(|| format!("cannot write {}", out.display()))?;
    print_line(&format!("{}: {} bytes", arguments.out.display(), picture.len()));
    Ok(())
}

/// Returns the terminal output of a command with these arguments, piece by piece.
fn record_output(words: &[&str]) -> Result<Vec<OutputPiece>> {
    let (mut screen, terminal) = open_terminal()?;
    let mut command = make_command(words)?;
    command.stdin(Stdio::null()).stdout(terminal);
    let mut child = command.spawn().context("the question cannot be asked")?;
    // The command holds the other end of the terminal, which must close when the child ends.
    drop(command);
    let began = Instant::now();
    let mut pieces = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        match screen.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => {
                let bytes = buffer.get(..count).unwrap_or_default().to_vec();
                pieces.push(OutputPiece { at: began.elapsed(), bytes });
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            // Linux's error for a terminal without another open end.
            Err(error) if error.raw_os_error() == Some(rustix::io::Errno::IO.raw_os_error()) => {
                break;
            }
            Err(error) => return Err(error).context("the terminal cannot be read"),
        }
    }
    let status = child.wait()?;
    if !status.success() {
        bail!("the run that was to be recorded ended with {status}");
    }
    Ok(pieces)
}

/// Opens a terminal: an end for reading the output, and an end for a program.
fn open_terminal() -> Result<(File, File)> {
    let open = || {
        let screen = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY)?;
        grantpt(&screen)?;
        unlockpt(&screen)?;
        let name = ptsname(&screen, Vec::new())?;
        let path = name.into_string().map_err(|_| rustix::io::Errno::INVAL)?;
        Ok::<_, rustix::io::Errno>((screen, path))
    };
    let (screen, path) = open().context("no terminal can be made")?;
    let terminal = File::options().read(true).write(true).open(path)?;
    Ok((File::from(screen), terminal))
}

/// Returns the command in a new folder with only the example. Without a model and settings from the
/// environment, the output shows the paths of a new user.
fn make_command(words: &[&str]) -> Result<Command> {
    let folder = workspace::target_dir().join("recording");
    let file = folder.join(FILE);
    match fs::remove_dir_all(&folder) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            return Err(error).with_context(|| format!("cannot clear {}", folder.display()));
        }
        Ok(()) | Err(_) => {}
    }
    fs::create_dir_all(file.parent().unwrap_or(Path::new(".")))?;
    fs::copy(workspace::root().join(FILE), &file)?;
    let folder = folder.canonicalize()?;
    let mut command = Command::new(std::env::current_exe()?);
    command.args(words).current_dir(&folder).env_clear();
    command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command.env(HOME.name, folder.join(".djinn"));
    Ok(command)
}
