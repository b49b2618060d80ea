//! This program in processes of its own.

use std::process::Stdio;

use anyhow::{Context as _, Result, ensure};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::{ChildStdout, Command};

/// The unit of times in `/proc`, on every Linux of today.
const TICKS_A_SECOND: f64 = 100.0;

/// Megabytes (10⁶ bytes) that a process has in memory now, and had at most.
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

/// A process. It is killed when this is dropped.
pub(crate) struct ChildProcess {
    process: tokio::process::Child,
    /// The output is what the process prints after its first line, as far as nobody has read it.
    output: BufReader<ChildStdout>,
    /// The first line that it printed.
    first_line: String,
}

impl ChildProcess {
    /// Starts this program with other words, and waits for its first line.
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

    /// The first line that it printed.
    pub(crate) fn first_line(&self) -> &str {
        &self.first_line
    }

    /// The next line that it prints; empty when it has ended.
    pub(crate) async fn next_line(&mut self) -> Result<String> {
        let mut line = String::new();
        self.output.read_line(&mut line).await?;
        Ok(line)
    }

    /// Gives it a line to read.
    pub(crate) async fn send_line(&mut self) -> Result<()> {
        let input = self.process.stdin.as_mut().context("a process without input")?;
        Ok(input.write_all(b"\n").await?)
    }

    /// Megabytes (10⁶ bytes) that it has in memory now, and had at most.
    pub(crate) fn memory_mb(&self) -> Result<(f64, f64)> {
        read_memory_mb(self.process.id().context("a process has gone")?)
    }

    /// Seconds of processor time that it has had.
    pub(crate) fn cpu_seconds(&self) -> Result<f64> {
        let process = self.process.id().context("a process has gone")?;
        let path = format!("/proc/{process}/stat");
        let stat = std::fs::read_to_string(&path)
            .with_context(|| format!("{path}: processor time is measured on Linux only"))?;
        // Behind the name, which may hold anything: the fields 3 and on, of which 14 and 15 are times.
        let (_, fields) = stat.rsplit_once(')').context("no fields")?;
        let ticks = fields.split_whitespace().skip(11).take(2).map(str::parse::<f64>);
        Ok(ticks.sum::<Result<f64, _>>()? / TICKS_A_SECOND)
    }

    /// Ends its input, and waits until it is done.
    pub(crate) async fn wait_for_end(mut self) -> Result<()> {
        drop(self.process.stdin.take());
        let status = self.process.wait().await?;
        ensure!(status.success(), "a process ended with {status}");
        Ok(())
    }
}
