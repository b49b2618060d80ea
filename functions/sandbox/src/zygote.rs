//! The Python that has its libraries loaded and forks a jailed child per job.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use djinn_runtime::port::sandbox::{JobEnd, JobOutput, SandboxWork};
use serde::Deserialize;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::sync::{Mutex as AsyncMutex, oneshot};

use crate::{scripts, seccomp};

/// What a zygote is started with.
#[derive(Debug, Clone)]
pub struct ZygoteSettings {
    /// The Python to run.
    pub python: PathBuf,
    /// Where its packages lie, if it has none of its own.
    pub packages: Option<PathBuf>,
    /// Fonts for charts and PDF, in the order in which they are tried.
    pub fonts: Vec<PathBuf>,
    /// Whether nothing is run where the kernel has no Landlock.
    pub needs_landlock: bool,
}

/// Why there is no zygote, or none any more.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ZygoteError {
    #[error("Python could not be started or spoken to: {0}")]
    Process(#[from] io::Error),
    #[error("this processor is not one that seccomp programs are made for: {0}")]
    Seccomp(#[from] seccompiler::BackendError),
    #[error("Python ended while it worked")]
    Ended,
}

/// What a zygote says of the walls around its children.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct Walls {
    /// The version of Python.
    pub python: String,
    /// The version of Landlock's ABI; 0 where the kernel has none.
    pub landlock: u32,
    /// Whether the kernel takes seccomp programs.
    pub seccomp: bool,
}

/// What the zygote says of a job that has ended.
#[derive(Debug, Deserialize)]
pub(crate) struct JobReport {
    id: u64,
    pub(crate) end: JobEnd,
    pub(crate) seconds: f64,
    pub(crate) output: JobOutput,
    pub(crate) value: Value,
}

/// A line of a zygote's.
#[derive(Deserialize)]
struct Ready {
    ready: Walls,
}

/// A running zygote, which dies with this value.
pub(crate) struct Zygote {
    walls: Walls,
    asked: AsyncMutex<ChildStdin>,
    waiting: Arc<Waiting>,
    _process: Child,
    /// Where its modules lie, some of which it reads late.
    _scripts: TempDir,
}

/// Who waits for the reports of which jobs; nobody may once the zygote has ended.
#[derive(Default)]
struct Waiting {
    by_id: Mutex<Option<HashMap<u64, oneshot::Sender<JobReport>>>>,
    next_id: std::sync::atomic::AtomicU64,
}

impl Zygote {
    /// Starts one and waits until its libraries are loaded, which takes seconds.
    pub(crate) async fn start(
        settings: &ZygoteSettings,
        scratch: &Path,
    ) -> Result<Self, ZygoteError> {
        let programs = seccomp::compile_programs()?;
        let scripts = scripts::lay_out()?;
        let mut process = spawn(settings, scripts.path(), scratch)?;
        let (Some(mut asked), Some(answers)) = (process.stdin.take(), process.stdout.take()) else {
            return Err(ZygoteError::Ended);
        };
        let greeting = json!({
            "filters": programs.iter().map(|program| STANDARD.encode(program)).collect::<Vec<_>>(),
            "needs_landlock": settings.needs_landlock,
            "fonts": settings.fonts,
        });
        asked.write_all(format!("{greeting}\n").as_bytes()).await?;
        let mut lines = BufReader::new(answers).lines();
        let first = lines.next_line().await?.ok_or(ZygoteError::Ended)?;
        let Ready { ready: walls } =
            serde_json::from_str(&first).map_err(|_| ZygoteError::Ended)?;
        let waiting = Arc::new(Waiting::default());
        *waiting.lock() = Some(HashMap::new());
        tokio::spawn(hand_out_reports(lines, Arc::clone(&waiting)));
        Ok(Self {
            walls,
            asked: AsyncMutex::new(asked),
            waiting,
            _process: process,
            _scripts: scripts,
        })
    }

    pub(crate) fn walls(&self) -> &Walls {
        &self.walls
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.waiting.lock().is_none()
    }

    /// Does a job in a folder that is laid out for it.
    pub(crate) async fn run_job(
        &self,
        work: &SandboxWork,
        folder: &Path,
        seconds: u32,
    ) -> Result<JobReport, ZygoteError> {
        let (id, report) = self.waiting.expect_report().ok_or(ZygoteError::Ended)?;
        let mut line = json!({"id": id, "folder": folder, "seconds": seconds});
        if let (Value::Object(line), Ok(Value::Object(work))) =
            (&mut line, serde_json::to_value(work))
        {
            line.extend(work);
        }
        // One line at a time: jobs are asked for side by side.
        let mut asked = self.asked.lock().await;
        asked.write_all(format!("{line}\n").as_bytes()).await?;
        drop(asked);
        report.await.map_err(|_| ZygoteError::Ended)
    }
}

/// What runs a program (its second argument) with the packages of a folder (its first).
const WITH_PACKAGES: &str = "import runpy, sys; sys.path.append(sys.argv[1]); \
                             runpy.run_path(sys.argv[2], run_name='__main__')";

fn spawn(settings: &ZygoteSettings, scripts: &Path, scratch: &Path) -> io::Result<Child> {
    let mut command = Command::new(&settings.python);
    // Isolated from variables, the user's packages and the current folder.
    command.arg("-I").arg("-B");
    if let Some(packages) = &settings.packages {
        command.arg("-c").arg(WITH_PACKAGES).arg(packages);
    }
    command.arg(scripts.join("zygote.py"));
    command.env_clear().envs([("LANG", "C.UTF-8"), ("TZ", "UTC"), ("MPLBACKEND", "Agg")]);
    // Threads that exist before a fork do not after it.
    command.envs([("OPENBLAS_NUM_THREADS", "1"), ("OMP_NUM_THREADS", "1")]);
    command.env("MPLCONFIGDIR", scratch.join("matplotlib")).env("HOME", scratch);
    let home = settings.python.parent().and_then(Path::parent);
    if let Some(home) = home.filter(|_| settings.packages.is_some()) {
        // Lambda's Python may not find its own library otherwise.
        command.env("LD_LIBRARY_PATH", home.join("lib"));
    }
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit());
    command.kill_on_drop(true).spawn()
}

async fn hand_out_reports(mut lines: Lines<BufReader<ChildStdout>>, waiting: Arc<Waiting>) {
    while let Ok(Some(line)) = lines.next_line().await {
        match serde_json::from_str::<JobReport>(&line) {
            Ok(report) => waiting.hand_out(report),
            Err(error) => {
                tracing::error!(%error, "Python said what is no report");
                break;
            }
        }
    }
    // Whoever waits learns that nothing will come.
    waiting.lock().take();
}

impl Waiting {
    fn lock(&self) -> MutexGuard<'_, Option<HashMap<u64, oneshot::Sender<JobReport>>>> {
        self.by_id.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn expect_report(&self) -> Option<(u64, oneshot::Receiver<JobReport>)> {
        let id = self.next_id.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let (sender, receiver) = oneshot::channel();
        self.lock().as_mut()?.insert(id, sender);
        Some((id, receiver))
    }

    fn hand_out(&self, report: JobReport) {
        let sender = self.lock().as_mut().and_then(|waiting| waiting.remove(&report.id));
        if let Some(sender) = sender {
            // Whoever asked may be gone.
            let _gone = sender.send(report);
        }
    }
}
