//! Runs this program in child processes.

use std::process::Stdio;

use anyhow::{Context as _, Result, ensure};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::{ChildStdout, Command};

/// The unit of times in `/proc`, on every current Linux.
const TICKS_A_SECOND: f64 = 100.0;

/// Returns the current and the maximum memory of a process, in megabytes (10⁶ bytes).
pub(crate) fn read_memory_mb(process: u32) -> Result<(f64, f64)> {
    let path = format!("/proc/{process}/status");
    let status = std::fs::read_to_string(&path)
        .with_context(|| format!("{path}: memory is measured on Linux only"))?;
    let field = |name: &str| -> Result<f64> {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        let kib = line.and_then(|line| line.split_whitespace().next()).context("no memory")?;
        Ok(kib.parse::<f64>()? * 1_024.0 / 1_000_000.0)
    };
    Ok((field("VmRSS:")?, field("VmHWM:")?))
}

/// A child process. Dropping the value kills the process.
pub(crate) struct ChildProcess {
    process: tokio::process::Child,
    /// The unread output after the first line.
    output: BufReader<ChildStdout>,
    /// The first line of output.
    first_line: String,
}

impl ChildProcess {
    /// Starts this program with other arguments, and waits for the first line of output.
    pub(crate) async fn start(words: &[&str]) -> Result<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(words).stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
        let mut process = command.spawn()?;
        let output = process.stdout.take().context("a process without output")?;
        let mut first_line = String::new();
        let mut output = BufReader::new(output);
        output.read_line(&mut first_line).await?;
        ensure!(!first_line.is_empty(), "`djinn-bench {}` did not start", words.join(" "));
        first_line.truncate(first_line.trim_end().len());
        Ok(Self { process, output, first_line })
    }

    /// The first line of output.
    pub(crate) fn first_line(&self) -> &str {
        &self.first_line
    }

    /// Returns the next line of output; empty after the end.
    pub(crate) async fn next_line(&mut self) -> Result<String> {
        let mut line = String::new();
        self.output.read_line(&mut line).await?;
        Ok(line)
    }

    /// Sends an empty line to the process.
    pub(crate) async fn send_line(&mut self) -> Result<()> {
        let input = self.process.stdin.as_mut().context("a process without input")?;
        Ok(input.write_all(b"\n").await?)
    }

    /// Returns the current and the maximum memory, in megabytes (10⁶ bytes).
    pub(crate) fn memory_mb(&self) -> Result<(f64, f64)> {
        read_memory_mb(self.process.id().context("a process has gone")?)
    }

    /// Returns the used processor time in seconds.
    pub(crate) fn cpu_seconds(&self) -> Result<f64> {
        let process = self.process.id().context("a process has gone")?;
        let path = format!("/proc/{process}/stat");
        let stat = std::fs::read_to_string(&path)
            .with_context(|| format!("{path}: processor time is measured on Linux only"))?;
        // Fields 3 and up follow the name, which may contain anything. Fields 14 and 15 are times.
        let (_, fields) = stat.rsplit_once(')').context("no fields")?;
        let ticks = fields.split_whitespace().skip(11).take(2).map(str::parse::<f64>);
        Ok(ticks.sum::<Result<f64, _>>()? / TICKS_A_SECOND)
    }

    /// Closes the input, and waits for the process to end.
    pub(crate) async fn wait_for_end(mut self) -> Result<()> {
        drop(self.process.stdin.take());
        let status = self.process.wait().await?;
        ensure!(status.success(), "a process ended with {status}");
        Ok(())
    }
}
