//! Processes of this machine, as Linux shows them in `/proc`.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

/// A process of a function.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Process {
    pub(crate) pid: u32,
}

/// The processes of a function whose Runtime API is at this host.
pub(crate) fn of(function: &str, host: &str) -> Vec<Process> {
    let entries = fs::read_dir("/proc").unwrap().map(Result::unwrap);
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let mut found: Vec<_> = pids
        .map(|pid| Process { pid })
        .filter(|process| process.is(function) && process.runs_under(host))
        .collect();
    found.sort();
    found
}

impl Process {
    /// Ends it as a crash would.
    pub(crate) fn kill(&self) {
        let killed = Command::new("kill").args(["-9", &self.pid.to_string()]).status().unwrap();
        assert!(killed.success());
    }

    /// How many connections it has to a port of this machine.
    pub(crate) fn connections_to(&self, port: u16) -> usize {
        let ours: BTreeSet<_> = fs::read_dir(self.place("fd"))
            .into_iter()
            .flatten()
            .filter_map(|file| {
                let link = fs::read_link(file.ok()?.path()).ok()?;
                let socket = link.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?;
                Some(socket.to_owned())
            })
            .collect();
        sockets_to(port).filter(|socket| ours.contains(socket)).count()
    }

    fn is(&self, function: &str) -> bool {
        let program = fs::read_link(self.place("exe"));
        program.is_ok_and(|program| program.file_name().is_some_and(|name| name == function))
    }

    fn runs_under(&self, host: &str) -> bool {
        let environment = fs::read(self.place("environ")).unwrap_or_default();
        let mut variables = environment.split(|byte| *byte == 0);
        let api = variables.find_map(|it| it.strip_prefix(b"AWS_LAMBDA_RUNTIME_API="));
        api.is_some_and(|api| String::from_utf8_lossy(api).contains(host))
    }

    fn place(&self, name: &str) -> PathBuf {
        PathBuf::from(format!("/proc/{}/{name}", self.pid))
    }
}

/// The numbers of the sockets that are connected to a port of this machine.
fn sockets_to(port: u16) -> impl Iterator<Item = String> {
    const CONNECTED: &str = "01";
    let remote = format!("0100007F:{port:04X}");
    let table = fs::read_to_string("/proc/net/tcp").unwrap();
    let lines: Vec<_> = table.lines().map(str::to_owned).collect();
    lines.into_iter().filter_map(move |line| {
        let fields: Vec<_> = line.split_whitespace().collect();
        let is_one = fields.get(2) == Some(&remote.as_str()) && fields.get(3) == Some(&CONNECTED);
        is_one.then(|| fields.get(9).map(ToString::to_string))?
    })
}
