//! Stops a job during an inspection of its folder, because moving files could be overlooked.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::thread::sleep;
use std::time::Duration;

use rustix::process::{Pid, Signal, pidfd_send_signal};

/// Number of checks for stopped threads, and the time between two checks. A thread in a long system call
/// stops after the call, and the others do not wait.
const LOOKS: usize = 50;
const LOOK_INTERVAL: Duration = Duration::from_micros(200);

/// A process stopped until this value is dropped.
pub(crate) struct Standstill(Arc<OwnedFd>);

impl Standstill {
    /// Stops a process by descriptor, and waits a short time for the threads to stop.
    pub(crate) fn begin(process: Arc<OwnedFd>, pid: Pid) -> Self {
        let _result = pidfd_send_signal(&process, Signal::STOP);
        let standstill = Self(process);
        for _ in 0..LOOKS {
            // An ended process has no threads.
            if is_still(pid).unwrap_or(true) {
                break;
            }
            sleep(LOOK_INTERVAL);
        }
        standstill
    }
}

impl Drop for Standstill {
    fn drop(&mut self) {
        let _result = pidfd_send_signal(&self.0, Signal::CONT);
    }
}

fn is_still(process: Pid) -> io::Result<bool> {
    for entry in fs::read_dir(format!("/proc/{}/task", process.as_raw_nonzero()))? {
        // A thread may end meanwhile.
        let status = fs::read_to_string(entry?.path().join("stat")).unwrap_or_default();
        // proc(5): number, name in parentheses, state.
        let state = status.rsplit_once(')').and_then(|(_, rest)| rest.trim_start().chars().next());
        if state.is_some_and(|state| !matches!(state, 'T' | 't' | 'Z' | 'X')) {
            return Ok(false);
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use rustix::process::{PidfdFlags, pidfd_open};

    use super::*;

    #[test]
    fn process_stands_still_until_the_value_is_dropped() {
        let mut child = Command::new("sleep").arg("600").spawn().unwrap();
        let pid = Pid::from_child(&child);
        let process = Arc::new(pidfd_open(pid, PidfdFlags::empty()).unwrap());
        assert!(!is_still(pid).unwrap());
        let standstill = Standstill::begin(Arc::clone(&process), pid);
        assert!(is_still(pid).unwrap());
        drop(standstill);
        while is_still(pid).unwrap() {}
        child.kill().unwrap();
        child.wait().unwrap();
        // Nobody waits for a process that has ended.
        drop(Standstill::begin(process, pid));
    }
}
