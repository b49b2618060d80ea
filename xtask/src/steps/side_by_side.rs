//! Commands that run two at a time, with outputs that do not mix.

use std::collections::{BTreeMap, VecDeque};
use std::io::{ErrorKind, Read, Write, pipe};
use std::process::{Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::thread::{available_parallelism, scope};
use std::time::Duration;

use anyhow::{Context as _, Result};

/// Maximum number of commands at a time.
const AT_A_TIME: usize = 2;

/// Time without output after which a command's end is looked for.
const QUIET: Duration = Duration::from_millis(200);

/// What happens to a command, in the order of time.
enum Event {
    Started,
    Output(Vec<u8>),
    Ended(Result<bool>),
}

/// Runs commands in this order, two at a time on a machine with several cores. After a failure, no further command
/// starts. Returns the places of the failed commands.
///
/// The output of the command that started first appears at once, that of another when all before it have ended.
///
/// # Errors
/// Returns an error if a command cannot be started, or the screen cannot be written.
pub(super) fn run(mut commands: Vec<Command>, screen: &mut impl Write) -> Result<Vec<usize>> {
    let count = available_parallelism().map_or(1, |cores| cores.get().min(AT_A_TIME));
    let waiting = Mutex::new(commands.iter_mut().enumerate().collect::<VecDeque<_>>());
    let (sender, receiver) = channel();
    scope(|scope| {
        for _ in 0..count {
            let sender = sender.clone();
            let waiting = &waiting;
            scope.spawn(move || run_next_ones(waiting, &sender));
        }
        drop(sender);
        let mut outputs = Outputs::default();
        let mut failed = Vec::new();
        for (place, event) in receiver {
            match event {
                Event::Started => outputs.started.push_back(place),
                Event::Output(bytes) => outputs.held.entry(place).or_default().extend(bytes),
                Event::Ended(success) => {
                    outputs.ended.push(place);
                    if !success? {
                        failed.push(place);
                    }
                }
            }
            outputs.show(screen)?;
        }
        Ok(failed)
    })
}

/// Runs one command after another, until none is left or one has failed.
fn run_next_ones(
    waiting: &Mutex<VecDeque<(usize, &mut Command)>>,
    sender: &Sender<(usize, Event)>,
) {
    let lock = || waiting.lock().unwrap_or_else(PoisonError::into_inner);
    // The receiver is gone only after an error of the screen.
    let tell = |place, event| drop(sender.send((place, event)));
    loop {
        // Under the lock, so that the receiver learns of the starts in their order.
        let mut commands = lock();
        let Some((place, command)) = commands.pop_front() else { return };
        tell(place, Event::Started);
        drop(commands);
        let success = run_one(command, |bytes| tell(place, Event::Output(bytes)));
        if !matches!(success, Ok(true)) {
            lock().clear();
        }
        tell(place, Event::Ended(success));
    }
}

/// Runs a command to its end, with both of its outputs in one pipe. Returns true if it succeeded.
fn run_one(command: &mut Command, tell: impl Fn(Vec<u8>)) -> Result<bool> {
    let (output, writer) = pipe()?;
    let child = command.stdout(writer.try_clone()?).stderr(writer).spawn();
    let name = command.get_program().to_string_lossy().into_owned();
    // Else the command would keep the pipe open after the child's end.
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = child.with_context(|| format!("`{name}` could not be started"))?;
    let (sender, receiver) = channel();
    std::thread::spawn(move || read_pieces(output, &sender));
    // A process that the child left behind may hold the pipe, so its end is not waited for.
    let status = loop {
        match receiver.recv_timeout(QUIET) {
            Ok(bytes) => tell(bytes),
            Err(RecvTimeoutError::Disconnected) => break child.wait()?,
            Err(RecvTimeoutError::Timeout) => {
                if let Some(status) = child.try_wait()? {
                    break status;
                }
            }
        }
    };
    Ok(status.success())
}

fn read_pieces(mut output: impl Read, sender: &Sender<Vec<u8>>) {
    let mut piece = [0; 8_192];
    loop {
        match output.read(&mut piece) {
            Ok(count @ 1..) => {
                let bytes = piece.iter().take(count).copied().collect();
                if sender.send(bytes).is_err() {
                    return;
                }
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Ok(0) | Err(_) => return,
        }
    }
}

/// The outputs of the started commands.
#[derive(Default)]
struct Outputs {
    /// The commands whose output was not yet shown to its end, in the order of their start.
    started: VecDeque<usize>,
    /// What was not yet shown, by command.
    held: BTreeMap<usize, Vec<u8>>,
    ended: Vec<usize>,
}

impl Outputs {
    /// Shows the output of the first command, and of the next one after its end.
    fn show(&mut self, screen: &mut impl Write) -> Result<()> {
        while let Some(first) = self.started.front() {
            if let Some(bytes) = self.held.remove(first) {
                screen.write_all(&bytes).and_then(|()| screen.flush())?;
            }
            if !self.ended.contains(first) {
                break;
            }
            self.started.pop_front();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    fn run_shells<const N: usize>(scripts: [&str; N]) -> (Vec<usize>, String) {
        let mut screen = Vec::new();
        let failed = run(scripts.map(shell).into(), &mut screen).unwrap();
        (failed, String::from_utf8(screen).unwrap())
    }

    /// Opening a named pipe waits for the other side, so each command ends only while the other runs.
    #[test]
    fn two_run_at_a_time_and_their_outputs_do_not_mix() {
        if available_parallelism().is_ok_and(|cores| cores.get() == 1) {
            return;
        }
        let folder = tempfile::TempDir::new().unwrap();
        let [to_second, to_first] = ["1", "2"].map(|name| {
            let path = folder.path().join(name).display().to_string();
            assert!(shell(&format!("mkfifo {path}")).status().unwrap().success());
            path
        });
        let first = format!("echo a >&2; echo x > {to_second}; cat {to_first}; echo b");
        let second = format!("echo c; cat {to_second}; echo y > {to_first}; echo d");
        let (failed, screen) = run_shells([&first, &second, "echo e"]);
        assert_eq!((failed, screen.as_str()), (vec![], "a\ny\nb\nc\nx\nd\ne\n"));
    }

    #[test]
    fn a_process_left_behind_holds_nothing_up() {
        let (failed, screen) = run_shells(["sleep 600 & echo $!"]);
        let id = screen.trim();
        assert!(failed.is_empty() && shell(&format!("kill {id}")).status().unwrap().success());
    }

    #[test]
    fn no_command_starts_after_a_failure() {
        let (failed, screen) = run_shells(["echo a; exit 3", "exit 3", "echo c", "echo d"]);
        assert!(failed.contains(&0) && screen.starts_with("a\n"), "{failed:?} {screen}");
        assert!(!screen.contains(['c', 'd']), "{screen}");
        let missing = vec![Command::new("/no/such/program")];
        let error = run(missing, &mut Vec::new()).unwrap_err().to_string();
        assert_eq!(error, "`/no/such/program` could not be started");
    }
}
