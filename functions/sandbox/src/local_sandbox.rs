//! The sandbox of this machine.

use std::io;
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use djinn_core::id::{TenantId, UserId};
use djinn_runtime::port::sandbox::{
    JobContext, JobEnd, JobWait, MAX_JOB_BYTES, MAX_JOB_SECONDS, Sandbox, SandboxAnswer,
    SandboxError, SandboxJob, SandboxKind,
};
use djinn_runtime::port::tool::BoxFuture;
use tokio::sync::{Mutex, OnceCell};
use tokio::time::timeout;

use crate::file_jobs::{FileJob, JoinedAnswer, SplitJob, file_seconds, split_job};
use crate::job_folder::JobFolder;
use crate::machine_memory::count_jobs_at_once;
use crate::queue::{JobQueue, QueueFull};
use crate::running_job::{JobReport, RunningJob, open_channels};
use crate::scratch::Scratch;
use crate::walls::Walls;
use crate::zygote::{ChildLimits, Zygote, ZygoteError, ZygoteSettings};

/// Maximum wait of a job in the queue, for calls limited to this wait plus a job's time.
const QUEUE_PATIENCE: Duration = Duration::from_secs(25);

/// Both sandboxes in this process, or one. The Python of each starts with its first job, and again after an
/// exit.
pub struct LocalSandbox {
    settings: ZygoteSettings,
    /// The only sandbox, if there is one.
    only: Option<SandboxKind>,
    /// The parent of this process's folder.
    scratch: PathBuf,
    seconds: u32,
    patience: Duration,
    queue: Arc<JobQueue<(TenantId, UserId)>>,
    /// The folder of this process, which outlives the zygotes.
    opened: OnceCell<Arc<Scratch>>,
    code: Mutex<Option<Arc<Zygote>>>,
    documents: Mutex<Option<Arc<Zygote>>>,
}

/// A zygote and its folder.
#[derive(Clone)]
struct Workplace {
    scratch: Arc<Scratch>,
    zygote: Arc<Zygote>,
}

impl LocalSandbox {
    /// Creates both sandboxes below `scratch`. The number of parallel jobs is limited to three quarters of this
    /// machine's memory. Other jobs wait, and users take turns.
    #[must_use]
    pub fn new(settings: ZygoteSettings, scratch: PathBuf) -> Self {
        Self {
            settings,
            only: None,
            scratch,
            seconds: MAX_JOB_SECONDS,
            patience: QUEUE_PATIENCE,
            queue: Arc::new(JobQueue::new(count_jobs_at_once())),
            opened: OnceCell::new(),
            code: Mutex::new(None),
            documents: Mutex::new(None),
        }
    }

    /// Rejects the jobs of the other sandbox.
    #[must_use]
    pub fn with_only(self, sandbox: SandboxKind) -> Self {
        Self { only: Some(sandbox), ..self }
    }

    /// Sets the maximum duration of a job, in seconds.
    #[must_use]
    pub fn with_seconds(self, seconds: u32) -> Self {
        Self { seconds, ..self }
    }

    /// Sets the maximum wait of a job in the queue.
    #[must_use]
    pub fn with_patience(self, patience: Duration) -> Self {
        Self { patience, ..self }
    }

    /// Sets the number of parallel jobs, at least 1.
    #[must_use]
    pub fn with_jobs_at_once(self, count: usize) -> Self {
        Self { queue: Arc::new(JobQueue::new(count)), ..self }
    }

    /// Starts the Python of a sandbox unless already running, and returns the walls around the children.
    ///
    /// # Errors
    /// Returns [`SandboxError::Unready`] if Python cannot be started now. Returns [`SandboxError::Disabled`]
    /// if Python can never be started, if a required wall is missing, or if this is the other sandbox.
    pub async fn start(&self, sandbox: SandboxKind) -> Result<Walls, SandboxError> {
        Ok(self.open_workplace(sandbox).await?.zygote.walls().clone())
    }

    async fn open_workplace(&self, sandbox: SandboxKind) -> Result<Workplace, SandboxError> {
        if let Some(only) = self.only.filter(|only| *only != sandbox) {
            return Err(SandboxError::Disabled(format!(
                "the sandbox for {only} runs no jobs of the sandbox for {sandbox}: check \
                 DJINN_SANDBOX and DJINN_SANDBOX_DOCUMENTS"
            )));
        }
        let mut slot = match sandbox {
            SandboxKind::Code => self.code.lock().await,
            SandboxKind::Documents => self.documents.lock().await,
        };
        let open = || async {
            let parent = self.scratch.clone();
            run_blocking(move || Scratch::open(&parent)).await.map(Arc::new)
        };
        let scratch = Arc::clone(self.opened.get_or_try_init(open).await?);
        if let Some(zygote) = slot.as_ref().filter(|zygote| !zygote.has_ended()) {
            return Ok(Workplace { scratch, zygote: Arc::clone(zygote) });
        }
        *slot = None;
        let zygote = Arc::new(self.start_zygote(sandbox, &scratch).await?);
        *slot = Some(Arc::clone(&zygote));
        Ok(Workplace { scratch, zygote })
    }

    async fn start_zygote(
        &self,
        sandbox: SandboxKind,
        scratch: &Scratch,
    ) -> Result<Zygote, SandboxError> {
        let zygote = Zygote::start(sandbox, &self.settings, scratch).await;
        let zygote = zygote.map_err(|error| match error {
            ZygoteError::Seccomp(_) => SandboxError::Disabled(error.to_string()),
            ZygoteError::Process(_) | ZygoteError::Ended | ZygoteError::Fork(_) => {
                SandboxError::Unready(error.to_string())
            }
        })?;
        if let Some(missing) = zygote.walls().missing(self.settings.needs_file_wall) {
            return Err(SandboxError::Disabled(format!(
                "this kernel has no {missing}, which holds model-written code"
            )));
        }
        if zygote.walls().landlock == 0 && !zygote.walls().private_root {
            // With parallel jobs, a job could see another.
            self.queue.set_limit(1);
        }
        Ok(zygote)
    }

    /// Runs a job without the queue. A job with several files uses a process for each file, in sequence.
    pub(crate) async fn run_at_once(&self, job: SandboxJob) -> Result<SandboxAnswer, SandboxError> {
        let file_jobs = match split_job(job) {
            SplitJob::ByFile(file_jobs) => file_jobs,
            SplitJob::Whole(job) => return self.run_in_one_process(job, self.seconds).await,
        };
        let start = Instant::now();
        let mut answer = JoinedAnswer::new();
        for FileJob { name, job } in file_jobs {
            match file_seconds(self.seconds, start.elapsed()) {
                Some(seconds) => answer.add(&name, self.run_in_one_process(job, seconds).await?),
                None => answer.add_unread(&name),
            }
        }
        Ok(answer.finish())
    }

    async fn run_in_one_process(
        &self,
        job: SandboxJob,
        seconds: u32,
    ) -> Result<SandboxAnswer, SandboxError> {
        let (report, folder) = self.run_to_its_end(&job, seconds).await?;
        if report.end == JobEnd::Unjailed {
            let why = report.output.head;
            return Err(SandboxError::Disabled(format!("the jail could not be built: {why}")));
        }
        let products = run_blocking(move || folder.collect_products()).await?;
        let JobReport { end, seconds, output, value, new_state } = report;
        Ok(SandboxAnswer {
            end,
            seconds,
            output,
            value,
            products: products.files,
            left_out: products.left_out,
            // A job ended from outside keeps its earlier variables.
            state: new_state.unwrap_or(job.state),
        })
    }

    async fn run_to_its_end(
        &self,
        job: &SandboxJob,
        seconds: u32,
    ) -> Result<(JobReport, JobFolder), SandboxError> {
        let limits = ChildLimits { seconds, reads_cgroup: job.work.runs_sql_engine() };
        let sandbox = job.work.sandbox();
        let fork = match self.fork_job(sandbox, limits).await {
            // The zygote ended between two jobs, and the next attempt starts another.
            Err(JobError::Zygote(ZygoteError::Ended)) => self.fork_job(sandbox, limits).await,
            fork => fork,
        };
        let (running, folder) = fork.map_err(SandboxError::from)?;
        let files = job.files.clone();
        let folder = run_blocking(move || {
            let mut folder = folder;
            folder.lay_out(&files)?;
            Ok(folder)
        });
        let folder = folder.await?;
        let report = running.finish(&job.work, &job.state).await;
        Ok((report.map_err(|error| unavailable(&error))?, folder))
    }

    /// Forks a child that waits for work, and returns the child's folder.
    async fn fork_job(
        &self,
        sandbox: SandboxKind,
        limits: ChildLimits,
    ) -> Result<(RunningJob, JobFolder), JobError> {
        let Workplace { scratch, zygote } = self.open_workplace(sandbox).await?;
        let (channels, childs) = open_channels()?;
        let own_folder = if zygote.walls().private_root {
            None
        } else {
            Some(JobFolder::create(&scratch.jobs())?)
        };
        let mut descriptors = childs.descriptors();
        descriptors.extend(own_folder.as_ref().map(|folder| folder.root().as_fd()));
        let mut child = zygote.fork_child(limits, &descriptors).await?;
        let watched = match &own_folder {
            Some(folder) => Some(Arc::new(folder.root().try_clone()?)),
            None => None,
        };
        let folder = match (own_folder, child.folder.take()) {
            (Some(folder), _) => folder,
            (None, Some(root)) => JobFolder::of_private_root(root)?,
            (None, None) => return Err(JobError::Zygote(ZygoteError::Ended)),
        };
        Ok((RunningJob { child, channels, watched, seconds: limits.seconds }, folder))
    }
}

/// The reason a job was not started.
#[derive(Debug, thiserror::Error)]
enum JobError {
    #[error(transparent)]
    Sandbox(#[from] SandboxError),
    #[error(transparent)]
    Zygote(#[from] ZygoteError),
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl From<JobError> for SandboxError {
    fn from(error: JobError) -> Self {
        match error {
            JobError::Sandbox(error) => error,
            error @ (JobError::Zygote(_) | JobError::Io(_)) => unavailable(&error),
        }
    }
}

impl Sandbox for LocalSandbox {
    fn max_bytes(&self) -> u64 {
        MAX_JOB_BYTES
    }

    fn run_job<'a>(
        &'a self,
        context: &'a JobContext,
        job: SandboxJob,
    ) -> BoxFuture<'a, Result<SandboxAnswer, SandboxError>> {
        Box::pin(async {
            // Missing walls of the kernel disable the sandbox, so the check precedes the queue.
            self.open_workplace(job.work.sandbox()).await?;
            let user = (context.session.tenant.clone(), context.session.owner.clone());
            let mut last_place = 0;
            let turn = self.queue.take_turn(&user, |place| {
                last_place = place;
                context.waits.report(JobWait::Queue { place });
            });
            let turn = timeout(self.patience, turn).await;
            let _turn = match turn {
                Ok(Ok(turn)) => turn,
                Ok(Err(QueueFull { waiting })) => {
                    return Err(SandboxError::Busy { place: waiting + 1 });
                }
                Err(_) => return Err(SandboxError::Busy { place: last_place }),
            };
            self.run_at_once(job).await
        })
    }
}

fn unavailable(error: &dyn std::fmt::Display) -> SandboxError {
    SandboxError::Unavailable(error.to_string())
}

/// Runs blocking file access in a separate thread.
async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> Result<T, SandboxError> {
    let result = tokio::task::spawn_blocking(work).await;
    result.map_err(|error| unavailable(&error))?.map_err(|error| unavailable(&error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::zygote::WallChoice;

    #[tokio::test]
    async fn sandbox_for_documents_rejects_code_without_starting_python() {
        let settings = ZygoteSettings {
            python: PathBuf::from("/none/python"),
            packages: None,
            fonts: Vec::new(),
            needs_file_wall: false,
            walls: WallChoice::default(),
        };
        let scratch = tempfile::TempDir::new().unwrap();
        let sandbox = LocalSandbox::new(settings, scratch.path().to_owned());
        let sandbox = sandbox.with_only(SandboxKind::Documents);
        let error = sandbox.start(SandboxKind::Code).await.unwrap_err();
        let SandboxError::Disabled(why) = error else { panic!("{error:?}") };
        assert!(why.starts_with("the sandbox for documents runs no jobs of"), "{why}");
        let error = sandbox.start(SandboxKind::Documents).await.unwrap_err();
        assert!(matches!(error, SandboxError::Unready(_)), "{error:?}");
    }
}
