//! The sandbox of this machine.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use djinn_runtime::port::sandbox::{
    JobContext, JobEnd, MAX_JOB_BYTES, MAX_JOB_SECONDS, Sandbox, SandboxAnswer, SandboxError,
    SandboxJob,
};
use djinn_runtime::port::tool::BoxFuture;
use tokio::sync::Mutex;

use crate::work_folder::WorkFolder;
use crate::zygote::{Walls, Zygote, ZygoteSettings};

/// A sandbox in this process. Python is started with the first job, and again after it has ended.
pub struct LocalSandbox {
    settings: ZygoteSettings,
    /// Where the folders of jobs are made.
    scratch: PathBuf,
    /// Seconds that a job may take.
    seconds: u32,
    zygote: Mutex<Option<Arc<Zygote>>>,
}

impl LocalSandbox {
    /// A sandbox whose jobs have their folders below `scratch`.
    #[must_use]
    pub fn new(settings: ZygoteSettings, scratch: PathBuf) -> Self {
        Self { settings, scratch, seconds: MAX_JOB_SECONDS, zygote: Mutex::new(None) }
    }

    /// The same, with another bound for the seconds of a job.
    #[must_use]
    pub fn with_seconds(self, seconds: u32) -> Self {
        Self { seconds, ..self }
    }

    /// Starts Python if it is not at work, and says what walls stand around its children.
    ///
    /// # Errors
    /// [`SandboxError::Disabled`] where it cannot be started, or a wall is missing that must be there.
    pub async fn start(&self) -> Result<Walls, SandboxError> {
        Ok(self.open_zygote().await?.walls().clone())
    }

    async fn open_zygote(&self) -> Result<Arc<Zygote>, SandboxError> {
        let mut held = self.zygote.lock().await;
        if let Some(zygote) = held.as_ref().filter(|zygote| !zygote.has_ended()) {
            return Ok(Arc::clone(zygote));
        }
        let started = Zygote::start(&self.settings, &self.scratch)
            .await
            .map_err(|error| SandboxError::Disabled(error.to_string()))?;
        check_walls(started.walls(), self.settings.needs_landlock)?;
        let zygote = Arc::new(started);
        *held = Some(Arc::clone(&zygote));
        Ok(zygote)
    }

    /// What came of a job, whoever's it is.
    pub(crate) async fn answer(&self, job: SandboxJob) -> Result<SandboxAnswer, SandboxError> {
        let zygote = self.open_zygote().await?;
        let scratch = self.scratch.clone();
        let laid_out = run_blocking(move || Ok((WorkFolder::lay_out(&scratch, &job)?, job.work)));
        let (folder, work) = laid_out.await?;
        let report = zygote.run_job(&work, folder.path(), self.seconds).await;
        let report = report.map_err(|error| SandboxError::Unavailable(error.to_string()))?;
        if report.end == JobEnd::Unjailed {
            let why = report.output.head;
            return Err(SandboxError::Disabled(format!("the jail could not be built: {why}")));
        }
        let collected = run_blocking(move || Ok((folder.collect_products()?, folder.read_state())));
        let (made, state) = collected.await?;
        Ok(SandboxAnswer {
            end: report.end,
            seconds: report.seconds,
            output: report.output,
            value: report.value,
            products: made.products,
            left_out: made.left_out,
            state,
        })
    }
}

impl Sandbox for LocalSandbox {
    fn max_bytes(&self) -> u64 {
        MAX_JOB_BYTES
    }

    fn run_job<'a>(
        &'a self,
        _: &'a JobContext,
        job: SandboxJob,
    ) -> BoxFuture<'a, Result<SandboxAnswer, SandboxError>> {
        Box::pin(self.answer(job))
    }
}

/// Files are read and written apart from what others do meanwhile.
async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> Result<T, SandboxError> {
    let done = tokio::task::spawn_blocking(work).await;
    let done = done.map_err(|error| SandboxError::Unavailable(error.to_string()))?;
    done.map_err(|error| SandboxError::Unavailable(error.to_string()))
}

fn check_walls(walls: &Walls, needs_landlock: bool) -> Result<(), SandboxError> {
    let missing = match walls {
        Walls { seccomp: false, .. } => "seccomp",
        Walls { landlock: 0, .. } if needs_landlock => "Landlock",
        Walls { .. } => return Ok(()),
    };
    Err(SandboxError::Disabled(format!(
        "this kernel has no {missing}, which holds model-written code"
    )))
}
