//! The sandboxes on a laptop: those of the functions, in this process and over one Python, which is installed
//! when a job first needs it.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use djinn_runtime::port::sandbox::{
    JobContext, JobWait, MAX_JOB_BYTES, Sandbox, SandboxAnswer, SandboxError, SandboxJob,
};
use djinn_runtime::port::tool::BoxFuture;
use sandbox::{LocalSandbox, WallChoice, ZygoteSettings, remove_leftovers};
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use crate::font::prepare_fonts;
use crate::preparation::{InstallProgress, Preparation, PreparationFailed, ReportProgress};
use crate::python::{PythonError, prepare_python_with_progress, remove_unfinished_python};

/// Maximum wait of a job for the installation: enough for 150 MB over a slow network.
const PATIENCE: Duration = Duration::from_secs(570);
/// Maximum wait of a job in the queue.
const QUEUE_PATIENCE: Duration = Duration::from_secs(300);
/// Timeout of a call: the wait for the installation plus the time of a job.
const CALL_TIMEOUT: Duration = Duration::from_secs(630);
/// Folder names in the home.
const PYTHON: &str = "python";
const SCRATCH: &str = "sandbox";

/// A sandbox with an automatic installation of Python. If the installation fails, jobs receive the reason,
/// and a later job retries.
pub struct LaptopSandbox {
    python: Arc<Preparation<LocalSandbox>>,
}

/// The settings of an installation.
struct Installation {
    home: PathBuf,
    needs_file_wall: bool,
    say: Box<dyn Fn(&str) + Send + Sync>,
    explain: Box<dyn Fn(&PythonError) + Send + Sync>,
    explained_reason: Mutex<Option<String>>,
}

impl LaptopSandbox {
    /// Creates a sandbox with Python in `home/python`. `say` receives sentences for the terminal, and
    /// `explain` the reason for a failed installation. Without `needs_file_wall`, code may run on a kernel
    /// without Landlock, and can then read all files of this user.
    #[must_use]
    pub fn new(
        home: PathBuf,
        needs_file_wall: bool,
        say: impl Fn(&str) + Send + Sync + 'static,
        explain: impl Fn(&PythonError) + Send + Sync + 'static,
    ) -> Self {
        let say = Box::new(say);
        let explain = Box::new(explain);
        let explained_reason = Mutex::default();
        let installation =
            Arc::new(Installation { home, needs_file_wall, say, explain, explained_reason });
        let prepare = move |progress| -> BoxFuture<'static, _> {
            Box::pin(Arc::clone(&installation).open_sandbox(progress))
        };
        Self { python: Arc::new(Preparation::new(prepare)) }
    }

    /// Removes the leftovers of killed processes from `home`: job folders and an unfinished installation.
    ///
    /// # Errors
    /// Returns [`io::Error`] if a file or folder cannot be removed.
    pub fn remove_leftovers(home: &Path) -> io::Result<()> {
        let scratch = home.join(SCRATCH);
        if scratch.exists() {
            remove_leftovers(&scratch)?;
        }
        remove_unfinished_python(&home.join(PYTHON))
    }

    async fn answer(
        &self,
        context: &JobContext,
        job: SandboxJob,
    ) -> Result<SandboxAnswer, SandboxError> {
        let mut last_tenth = None;
        let report = |InstallProgress { done, total }: InstallProgress| {
            let tenth = Some(10 * done / total.max(1));
            if last_tenth != tenth {
                last_tenth = tenth;
                context.waits.report(JobWait::Installation { done, total });
            }
        };
        let sandbox = match timeout(PATIENCE, self.python.wait(report)).await {
            Ok(Ok(sandbox)) => sandbox,
            Ok(Err(PreparationFailed { reason, retry_in })) => {
                let seconds = retry_in.as_secs() + 1;
                let text = format!("{reason}; the next attempt is possible in {seconds} s");
                return Err(SandboxError::Unready(text));
            }
            Err(_) => {
                let text = "Python's packages are still being installed: try again in a minute";
                return Err(SandboxError::Unready(text.to_owned()));
            }
        };
        sandbox.run_job(context, job).await
    }
}

impl Installation {
    async fn open_sandbox(
        self: Arc<Self>,
        progress: ReportProgress,
    ) -> Result<LocalSandbox, String> {
        let installation = spawn_blocking(move || self.install(&progress)).await;
        installation.map_err(|error| error.to_string())?
    }

    /// Explains a failure, unless the last attempt failed for the same reason.
    fn explain_once(&self, error: &PythonError) {
        let reason = Some(error.to_string());
        let mut explained_reason =
            self.explained_reason.lock().unwrap_or_else(PoisonError::into_inner);
        if *explained_reason != reason {
            *explained_reason = reason;
            (self.explain)(error);
        }
    }

    fn install(&self, progress: &ReportProgress) -> Result<LocalSandbox, String> {
        let say = |text: &str| (self.say)(text);
        let place = self.home.join(PYTHON);
        let python = prepare_python_with_progress(&place, &say, progress)
            .inspect_err(|error| self.explain_once(error))
            .map_err(|error| error.reason())?;
        let fonts = prepare_fonts(&place, &say).unwrap_or_else(|error| {
            say(&format!(
                "Chinese and Korean may show as boxes in charts: their fonts were not fetched ({error})"
            ));
            Vec::new()
        });
        let scratch = self.home.join(SCRATCH);
        std::fs::create_dir_all(&scratch).map_err(|error| error.to_string())?;
        let needs_file_wall = self.needs_file_wall;
        let walls = WallChoice::default();
        let settings = ZygoteSettings { python, packages: None, fonts, needs_file_wall, walls };
        Ok(LocalSandbox::new(settings, scratch).with_patience(QUEUE_PATIENCE))
    }
}

impl Sandbox for LaptopSandbox {
    fn max_bytes(&self) -> u64 {
        MAX_JOB_BYTES
    }

    fn call_timeout(&self) -> Duration {
        CALL_TIMEOUT
    }

    fn run_job<'a>(
        &'a self,
        context: &'a JobContext,
        job: SandboxJob,
    ) -> BoxFuture<'a, Result<SandboxAnswer, SandboxError>> {
        Box::pin(self.answer(context, job))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use tempfile::TempDir;

    use super::*;

    #[test]
    fn attempts_that_fail_for_one_reason_are_explained_once() {
        let explained = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&explained);
        let installation = Installation {
            home: PathBuf::new(),
            needs_file_wall: false,
            say: Box::new(|_| {}),
            explain: Box::new(move |error| log.lock().unwrap().push(error.to_string())),
            explained_reason: Mutex::default(),
        };
        let too_old = PythonError::TooOld("Python 3.9.2".to_owned());
        for error in [&PythonError::Missing, &PythonError::Missing, &too_old, &too_old] {
            installation.explain_once(error);
        }
        let expected = [PythonError::Missing.to_string(), too_old.to_string()];
        assert_eq!(*explained.lock().unwrap(), expected);
    }

    #[test]
    fn folders_of_killed_processes_are_removed_before_any_job() {
        let home = TempDir::new().unwrap();
        LaptopSandbox::remove_leftovers(home.path()).unwrap();
        let abandoned = home.path().join(SCRATCH).join("process-1").join("jobs");
        fs::create_dir_all(&abandoned).unwrap();
        fs::write(abandoned.join("file"), "of a deleted session").unwrap();
        let broken_off = home.path().join(PYTHON);
        fs::create_dir(&broken_off).unwrap();
        LaptopSandbox::remove_leftovers(home.path()).unwrap();
        let left: Vec<_> = fs::read_dir(home.path().join(SCRATCH)).unwrap().flatten().collect();
        let left: Vec<_> = left.iter().map(fs::DirEntry::file_name).collect();
        assert_eq!(left, ["lock"]);
        assert!(!broken_off.exists());
    }
}
