//! A shell command in a separate process group, with output read continuously.

use std::io::{PipeReader, Read as _, pipe};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use rustix::process::{Pid, Signal, kill_process_group};

/// Maximum time for an interrupted command to end.
const LAST_WORDS: Duration = Duration::from_secs(10);

/// A running command. Dropping the value ends the command and all processes started by the command.
pub(super) struct ShellCommand {
    child: Child,
    output: Receiver<Vec<u8>>,
    printed: Vec<u8>,
}

/// The reason for the end of a wait.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum WaitEnd {
    /// The expected output was printed.
    Printed,
    /// All processes have closed their output.
    Closed,
    TimedOut,
}

impl ShellCommand {
    /// Starts a command. Standard error and output are read together, in the order of a terminal.
    pub(super) fn start(mut command: Command) -> Result<Self> {
        let (reader, writer) = pipe()?;
        command.stdin(Stdio::null()).stdout(writer.try_clone()?).stderr(writer);
        let child = command.process_group(0).spawn().context("a shell could not be started")?;
        // The command holds the other end of the pipe.
        drop(command);
        let (sender, output) = channel();
        std::thread::spawn(move || read_all(reader, &sender));
        Ok(Self { child, output, printed: Vec::new() })
    }

    /// Returns the output so far.
    pub(super) fn printed(&self) -> String {
        String::from_utf8_lossy(&self.printed).into_owned()
    }

    /// Reads until the output satisfies the condition.
    pub(super) fn wait_until(
        &mut self,
        longest: Duration,
        is_enough: impl Fn(&str) -> bool,
    ) -> WaitEnd {
        let began = Instant::now();
        loop {
            if is_enough(&self.printed()) {
                return WaitEnd::Printed;
            }
            match self.output.recv_timeout(longest.saturating_sub(began.elapsed())) {
                Ok(piece) => self.printed.extend(piece),
                Err(RecvTimeoutError::Disconnected) => return WaitEnd::Closed,
                Err(RecvTimeoutError::Timeout) => return WaitEnd::TimedOut,
            }
        }
    }

    /// Returns the exit status, once the output is closed.
    pub(super) fn wait_for_end(mut self) -> Result<ExitStatus> {
        Ok(self.child.wait()?)
    }

    /// Interrupts the command, as Ctrl-C does.
    pub(super) fn interrupt(mut self) {
        self.signal_group(Signal::INT);
        let _end = self.wait_until(LAST_WORDS, |_| false);
    }

    fn signal_group(&self, signal: Signal) {
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        // The process group may have ended by itself.
        let _gone = pid.map(|pid| kill_process_group(pid, signal));
    }
}

impl Drop for ShellCommand {
    fn drop(&mut self) {
        self.signal_group(Signal::KILL);
        let _status = self.child.wait();
    }
}

/// Reads to the end, even without a receiver: a full pipe would block the writer.
fn read_all(mut reader: PipeReader, sender: &Sender<Vec<u8>>) {
    let mut piece = [0; 8_192];
    while let Ok(count @ 1..) = reader.read(&mut piece) {
        let _heard = sender.send(piece.iter().take(count).copied().collect());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::program_command;

    const LONG: Duration = Duration::from_secs(60);

    fn start(script: &str) -> ShellCommand {
        ShellCommand::start(program_command("sh", &["-c", script])).unwrap()
    }

    #[test]
    fn output_and_errors_are_read_to_the_end() {
        let mut command = start("echo one; echo two >&2; exit 3");
        assert_eq!(command.wait_until(LONG, |_| false), WaitEnd::Closed);
        assert_eq!(command.printed(), "one\ntwo\n");
        assert_eq!(command.wait_for_end().unwrap().code(), Some(3));
    }

    #[test]
    fn a_command_that_goes_on_ends_with_all_that_it_started() {
        let mut command = start("sleep 600 & echo on; wait");
        assert_eq!(command.wait_until(LONG, |printed| printed == "on\n"), WaitEnd::Printed);
        assert_eq!(command.wait_until(Duration::ZERO, |_| false), WaitEnd::TimedOut);
        command.signal_group(Signal::KILL);
        // A process started by the command holds the other end of the output, too.
        assert_eq!(command.wait_until(LONG, |_| false), WaitEnd::Closed);
    }

    #[test]
    fn an_interrupted_command_says_its_last_words() {
        let mut command = start("trap 'exit 0' INT; echo on; while :; do read x < /dev/zero; done");
        assert_eq!(command.wait_until(LONG, |printed| printed == "on\n"), WaitEnd::Printed);
        command.interrupt();
    }
}
