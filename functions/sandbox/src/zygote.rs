//! The zygote: a Python process with loaded libraries that forks a jailed child per job.

use std::collections::HashMap;
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use djinn_runtime::port::sandbox::SandboxKind;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, pidfd_send_signal};
use serde::Deserialize;
use serde_json::json;
use tokio::process::{Child, Command};
use tokio::sync::oneshot;

use crate::packet::{Packet, PacketSocket};
use crate::scratch::Scratch;
use crate::seccomp;
use crate::walls::Walls;

/// Errors of a socket whose other end has closed.
const HANGUPS: [io::ErrorKind; 2] = [io::ErrorKind::BrokenPipe, io::ErrorKind::ConnectionReset];

/// The settings of a zygote.
#[derive(Debug, Clone)]
pub struct ZygoteSettings {
    /// The path of Python.
    pub python: PathBuf,
    /// The folder of packages, for a Python without packages of its own.
    pub packages: Option<PathBuf>,
    /// Fonts for charts and PDF, in the order of preference.
    pub fonts: Vec<PathBuf>,
    /// True if jobs are rejected on a kernel without Landlock.
    pub needs_file_wall: bool,
    /// The walls to use if the kernel supports them.
    pub walls: WallChoice,
}

/// The walls to use if the kernel supports them: all, except in tests of older kernels.
#[derive(Debug, Clone, Copy)]
pub struct WallChoice {
    /// True if children start in a private file system.
    pub private_root: bool,
    /// The maximum version of Landlock's ABI; 0 for none.
    pub max_landlock: u32,
}

impl Default for WallChoice {
    fn default() -> Self {
        Self { private_root: true, max_landlock: u32::MAX }
    }
}

/// The reason a zygote is missing or has ended.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ZygoteError {
    #[error("Python could not be started: {0}")]
    Process(#[from] io::Error),
    #[error("this processor is not one that seccomp programs are compiled for: {0}")]
    Seccomp(#[from] seccompiler::BackendError),
    #[error("Python ended before it forked the job")]
    Ended,
    #[error("Python could not fork: {0}")]
    Fork(String),
}

/// A message from the zygote; see `python/zygote.py`.
#[derive(Deserialize)]
#[serde(untagged)]
enum Message {
    Walls { walls: Walls },
    Forked { job: u64, pid: i32 },
    Problem { job: u64, problem: String },
    Ended { job: u64, status: i32 },
}

/// A running zygote. Dropping the value ends the zygote and its children.
pub(crate) struct Zygote {
    walls: Walls,
    socket: Arc<PacketSocket>,
    children: Arc<Children>,
    _process: Child,
}

/// A child forked by a zygote.
pub(crate) struct ForkedChild {
    pub(crate) process: ZygoteChild,
    /// The job's folder, if children have a private file system.
    pub(crate) folder: Option<OwnedFd>,
    /// The exit status, which never arrives if the zygote dies before the child.
    pub(crate) status: oneshot::Receiver<ExitStatus>,
}

/// The limits of a child.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ChildLimits {
    /// Maximum duration in seconds.
    pub(crate) seconds: u32,
    /// True if the child may read the limits of its control group; ignored in the sandbox for code.
    pub(crate) reads_cgroup: bool,
}

/// The process of a child. Dropping the value kills the process.
pub(crate) struct ZygoteChild {
    descriptor: Arc<OwnedFd>,
    /// The number of the process, for `/proc`.
    pub(crate) pid: Pid,
}

/// The requested children of a zygote; `None` after the zygote's end.
#[derive(Default)]
struct Children {
    by_job: Mutex<Option<HashMap<u64, Waiter>>>,
    next_job: AtomicU64,
}

/// The waiting receivers of a job's results.
struct Waiter {
    fork: Option<oneshot::Sender<Result<ForkedChild, ZygoteError>>>,
    status: Option<oneshot::Sender<ExitStatus>>,
}

impl Zygote {
    /// Starts the zygote of a sandbox in `scratch` and waits until the libraries are loaded, which takes
    /// seconds.
    pub(crate) async fn start(
        sandbox: SandboxKind,
        settings: &ZygoteSettings,
        scratch: &Scratch,
    ) -> Result<Self, ZygoteError> {
        let programs = seccomp::compile_programs()?;
        let (socket, other_end) = PacketSocket::pair()?;
        let process = spawn(settings, scratch, other_end)?;
        let mount_point = settings.walls.private_root.then(|| scratch.mount_point());
        let greeting = json!({
            "sandbox": sandbox,
            "programs": programs.iter().map(|program| STANDARD.encode(program)).collect::<Vec<_>>(),
            "needs_file_wall": settings.needs_file_wall,
            "max_landlock": settings.walls.max_landlock,
            "fonts": settings.fonts,
            "mount_point": mount_point,
        });
        socket.send(greeting.to_string().as_bytes(), &[]).await?;
        let first = socket.receive().await?.ok_or(ZygoteError::Ended)?;
        let Ok(Message::Walls { walls }) = serde_json::from_slice(&first.bytes) else {
            return Err(ZygoteError::Ended);
        };
        let socket = Arc::new(socket);
        let children = Arc::new(Children::default());
        *children.lock() = Some(HashMap::new());
        tokio::spawn(hand_out(Arc::clone(&socket), Arc::clone(&children)));
        Ok(Self { walls, socket, children, _process: process })
    }

    pub(crate) fn walls(&self) -> &Walls {
        &self.walls
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.children.lock().is_none()
    }

    /// Forks a child with these limits. `descriptors` are in the order of `python/job.py`.
    pub(crate) async fn fork_child(
        &self,
        limits: ChildLimits,
        descriptors: &[BorrowedFd<'_>],
    ) -> Result<ForkedChild, ZygoteError> {
        let job = self.children.next_job.fetch_add(1, Ordering::Relaxed);
        let (fork, forked) = oneshot::channel();
        let waiter = Waiter { fork: Some(fork), status: None };
        self.children.lock().as_mut().ok_or(ZygoteError::Ended)?.insert(job, waiter);
        let ChildLimits { seconds, reads_cgroup } = limits;
        let request = json!({"job": job, "seconds": seconds, "reads_cgroup": reads_cgroup});
        let request = request.to_string();
        match self.socket.send(request.as_bytes(), descriptors).await {
            // The zygote is dead: the receiver learns this once `hand_out` has read the last messages.
            Err(error) if HANGUPS.contains(&error.kind()) => {}
            sent => sent?,
        }
        forked.await.map_err(|_| ZygoteError::Ended)?
    }
}

impl ZygoteChild {
    /// Kills the process, unless already ended.
    pub(crate) fn kill(&self) {
        let _result = pidfd_send_signal(&self.descriptor, Signal::KILL);
    }

    /// The descriptor of the process.
    pub(crate) fn descriptor(&self) -> Arc<OwnedFd> {
        Arc::clone(&self.descriptor)
    }

    /// Waits until every thread of the process has ended, for the case of a dead zygote.
    pub(crate) async fn wait(&self) -> io::Result<()> {
        let descriptor = Arc::clone(&self.descriptor);
        let wait = move || loop {
            let mut process = [PollFd::new(&*descriptor, PollFlags::IN)];
            match poll(&mut process, None) {
                Err(Errno::INTR) => {}
                ended => return ended.map(drop),
            }
        };
        Ok(tokio::task::spawn_blocking(wait).await??)
    }
}

impl Drop for ZygoteChild {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Runs a program (second argument) with the packages of a folder (first argument).
const WITH_PACKAGES: &str = "import runpy, sys; sys.path.append(sys.argv[1]); \
                             runpy.run_path(sys.argv[2], run_name='__main__')";

fn spawn(settings: &ZygoteSettings, scratch: &Scratch, socket: OwnedFd) -> io::Result<Child> {
    let mut command = Command::new(&settings.python);
    // Ignores variables, the user's packages and the current folder.
    command.arg("-I").arg("-B");
    if let Some(packages) = &settings.packages {
        command.arg("-c").arg(WITH_PACKAGES).arg(packages);
    }
    command.arg(scratch.scripts().join("zygote.py"));
    command.env_clear().envs([("LANG", "C.UTF-8"), ("TZ", "UTC"), ("MPLBACKEND", "Agg")]);
    // Threads from before a fork do not exist in the child.
    command.envs([("OPENBLAS_NUM_THREADS", "1"), ("OMP_NUM_THREADS", "1")]);
    command.env("MPLCONFIGDIR", scratch.cache().join("matplotlib")).env("HOME", scratch.cache());
    let home = settings.python.parent().and_then(Path::parent);
    if let Some(home) = home.filter(|_| settings.packages.is_some()) {
        // Otherwise Lambda's Python may not find its own library.
        command.env("LD_LIBRARY_PATH", home.join("lib"));
    }
    command.stdin(Stdio::from(socket)).stdout(Stdio::null()).stderr(Stdio::inherit());
    // Ctrl-C in a terminal affects only this process: the zygote ends with the socket, and ends its children.
    command.process_group(0).spawn()
}

async fn hand_out(socket: Arc<PacketSocket>, children: Arc<Children>) {
    while let Ok(Some(Packet { bytes, descriptors })) = socket.receive().await {
        match serde_json::from_slice(&bytes) {
            Ok(Message::Forked { job, pid }) => children.hand_out_fork(job, pid, descriptors),
            Ok(Message::Problem { job, problem }) => {
                if let Some(sender) = children.take_waiter(job).and_then(|waiter| waiter.fork) {
                    let _gone = sender.send(Err(ZygoteError::Fork(problem)));
                }
            }
            Ok(Message::Ended { job, status }) => {
                if let Some(sender) = children.take_waiter(job).and_then(|waiter| waiter.status) {
                    let _gone = sender.send(ExitStatus::from_raw(status));
                }
            }
            Ok(Message::Walls { .. }) => {}
            Err(error) => {
                tracing::error!(%error, "unreadable message of Python's");
                break;
            }
        }
    }
    // Receivers learn that no result will arrive.
    children.lock().take();
}

impl Children {
    fn lock(&self) -> MutexGuard<'_, Option<HashMap<u64, Waiter>>> {
        self.by_job.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take_waiter(&self, job: u64) -> Option<Waiter> {
        self.lock().as_mut().and_then(|children| children.remove(&job))
    }

    fn hand_out_fork(&self, job: u64, pid: i32, descriptors: Vec<OwnedFd>) {
        let (status_sender, status) = oneshot::channel();
        let mut children = self.lock();
        let Some(waiter) = children.as_mut().and_then(|children| children.get_mut(&job)) else {
            return;
        };
        waiter.status = Some(status_sender);
        let Some(sender) = waiter.fork.take() else { return };
        drop(children);
        let mut descriptors = descriptors.into_iter();
        let result = match descriptors.next().zip(Pid::from_raw(pid)) {
            Some((descriptor, pid)) => {
                let process = ZygoteChild { descriptor: Arc::new(descriptor), pid };
                Ok(ForkedChild { process, folder: descriptors.next(), status })
            }
            None => Err(ZygoteError::Fork("no descriptor of the child came".to_owned())),
        };
        // If the receiver is gone, dropping the child kills the process.
        let _gone = sender.send(result);
    }
}
