//! Runs a test program, and ends the program if a test hangs. CI would end a slow job silently, without the
//! name of the test.

use std::collections::BTreeSet;
use std::io::{Read as _, Write};
use std::process::{Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};

/// Maximum time without a finished test. The slowest tests take two minutes on two cores.
const LONGEST_SILENCE: Duration = Duration::from_mins(10);

/// Runs tests to the end, or until ten minutes pass without output.
///
/// # Errors
/// Returns an error if the tests cannot be started, fail or hang, with the names of the running tests.
pub(super) fn run_tests(command: &mut Command) -> Result<()> {
    run_until_silent(command, LONGEST_SILENCE, &mut std::io::stdout())
}

fn run_until_silent(
    command: &mut Command,
    longest: Duration,
    screen: &mut impl Write,
) -> Result<()> {
    let name = command.get_program().to_string_lossy().into_owned();
    let child = command.stdout(Stdio::piped()).spawn();
    let mut child = child.with_context(|| format!("`{name}` could not be started"))?;
    let mut output = child.stdout.take().context("no output")?;
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        let mut piece = [0; 8_192];
        while let Ok(count @ 1..) = output.read(&mut piece) {
            let bytes: Vec<u8> = piece.iter().take(count).copied().collect();
            if sender.send(bytes).is_err() {
                break;
            }
        }
    });
    let mut at_work = TestsAtWork::default();
    loop {
        match receiver.recv_timeout(longest) {
            Ok(piece) => {
                screen.write_all(&piece).and_then(|()| screen.flush())?;
                at_work.hear(&String::from_utf8_lossy(&piece));
            }
            Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) => {
                child.kill().and_then(|()| child.wait())?;
                bail!("nothing was heard for {} s of {}", longest.as_secs(), at_work.name_all());
            }
        }
    }
    let status = child.wait()?;
    ensure!(status.success(), "`{name}` ended with {status}");
    Ok(())
}

/// The running tests, as named by libtest.
#[derive(Default)]
struct TestsAtWork {
    /// The content of the last, incomplete line.
    line: String,
    /// The tests reported as slow.
    long: BTreeSet<String>,
}

impl TestsAtWork {
    fn hear(&mut self, piece: &str) {
        self.line.push_str(piece);
        while let Some((line, rest)) = self.line.split_once('\n') {
            if let Some(name) = test_of(line) {
                let is_at_work = line.contains(" has been running for over ");
                let _known = if is_at_work {
                    self.long.insert(name.to_owned())
                } else {
                    self.long.remove(name)
                };
            }
            self.line = rest.to_owned();
        }
    }

    /// Returns the names of the running tests. libtest names a test before the start if tests run one at a time.
    fn name_all(&self) -> String {
        let names = self.long.iter().map(String::as_str).chain(test_of(&self.line));
        let names: Vec<_> = names.collect();
        if names.is_empty() { "any test".to_owned() } else { names.join(", ") }
    }
}

/// Returns the test's name in a line of libtest.
fn test_of(line: &str) -> Option<&str> {
    line.strip_prefix("test ")?.split(' ').next().filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::program_command;

    fn shell(script: &str) -> Command {
        program_command("sh", &["-c", script])
    }

    #[test]
    fn tests_that_end_have_their_own_end() {
        let mut shown = Vec::new();
        let ended = run_until_silent(&mut shell("echo ok"), LONGEST_SILENCE, &mut shown);
        assert!(ended.is_ok() && shown == b"ok\n");
        let ended = run_until_silent(&mut shell("exit 101"), LONGEST_SILENCE, &mut shown);
        let error = ended.unwrap_err();
        assert_eq!(error.to_string(), "`sh` ended with exit status: 101");
    }

    #[test]
    fn tests_that_hang_are_ended_and_named() {
        let script = "exec sh -c 'echo \"test a::b has been running for over 60 seconds\"; \
                      echo test c ... ok; exec sleep 600'";
        let longest = Duration::from_secs(1);
        let ended = run_until_silent(&mut shell(script), longest, &mut Vec::new());
        let error = ended.unwrap_err();
        assert_eq!(error.to_string(), "nothing was heard for 1 s of a::b");
    }

    #[test]
    fn those_at_work_are_known_by_what_libtest_says() {
        let mut at_work = TestsAtWork::default();
        assert_eq!(at_work.name_all(), "any test");
        at_work.hear("\nrunning 3 tests\ntest a ... ok\ntest b has been running for over 60 ");
        at_work.hear(
            "seconds\ntest c has been running for over 60 seconds\ntest c ... ok\ntest d ...",
        );
        assert_eq!(at_work.name_all(), "b, d");
    }
}
