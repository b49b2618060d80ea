//! The sandbox on a laptop: the function's own, in this process, on a Python that is made when code is first
//! wanted.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use djinn_runtime::port::sandbox::{
    JobContext, MAX_JOB_BYTES, Sandbox, SandboxAnswer, SandboxError, SandboxJob,
};
use djinn_runtime::port::tool::BoxFuture;
use sandbox::{LocalSandbox, WallChoice, ZygoteSettings};
use tokio::sync::OnceCell;
use tokio::time::timeout;

use crate::font::prepare_font;
use crate::python::{PythonError, prepare_python};

/// How long a job waits for a Python that is being made: a slow network brings 150 MB in that time.
const PATIENCE: Duration = Duration::from_secs(570);
/// Time that a job waits for its turn.
const QUEUE_PATIENCE: Duration = Duration::from_secs(300);
/// How long a call has: that, and what every job has.
const CALL_TIMEOUT: Duration = Duration::from_secs(630);

/// A sandbox that makes itself a Python. Where it cannot, code is disabled and says why; all else works.
pub struct LaptopSandbox {
    shared: Arc<Shared>,
}

struct Shared {
    home: PathBuf,
    needs_file_wall: bool,
    say: Box<dyn Fn(&str) + Send + Sync>,
    explain: Box<dyn Fn(&PythonError) + Send + Sync>,
    prepared: OnceCell<Result<LocalSandbox, String>>,
}

impl LaptopSandbox {
    /// A sandbox that keeps its Python in `home/python`, and tells people by `say` what takes long, and
    /// by `explain` why there is none. Without `needs_file_wall` code runs on a kernel that has no Landlock,
    /// where it can read what this user can.
    #[must_use]
    pub fn new(
        home: PathBuf,
        needs_file_wall: bool,
        say: impl Fn(&str) + Send + Sync + 'static,
        explain: impl Fn(&PythonError) + Send + Sync + 'static,
    ) -> Self {
        let (say, explain, prepared) = (Box::new(say), Box::new(explain), OnceCell::new());
        Self { shared: Arc::new(Shared { home, needs_file_wall, say, explain, prepared }) }
    }

    async fn answer(
        &self,
        context: &JobContext,
        job: SandboxJob,
    ) -> Result<SandboxAnswer, SandboxError> {
        // Who waits may be cancelled, and Python is made all the same.
        let preparing = Arc::clone(&self.shared);
        let preparing = tokio::spawn(async move { preparing.prepare().await });
        let still = "Python's packages are still being installed: try again in a minute";
        let waited = timeout(PATIENCE, preparing).await;
        waited.map_err(|_| SandboxError::Unavailable(still.to_owned()))?.ok();
        match self.shared.prepared.get() {
            Some(Ok(sandbox)) => sandbox.run_job(context, job).await,
            Some(Err(why)) => Err(SandboxError::Disabled(why.clone())),
            None => Err(SandboxError::Unavailable(still.to_owned())),
        }
    }
}

impl Shared {
    async fn prepare(self: Arc<Self>) {
        let maker = Arc::clone(&self);
        let make = async move || {
            let made = tokio::task::spawn_blocking(move || maker.make_sandbox()).await;
            made.unwrap_or_else(|error| Err(error.to_string()))
        };
        self.prepared.get_or_init(make).await;
    }

    fn make_sandbox(&self) -> Result<LocalSandbox, String> {
        let say = |words: &str| (self.say)(words);
        let place = self.home.join("python");
        let python = prepare_python(&place, &say)
            .inspect_err(|error| (self.explain)(error))
            .map_err(|error| error.to_string())?;
        let font = prepare_font(&place, &say).inspect_err(|error| {
            say(&format!(
                "Chinese may show as boxes in charts: its font was not fetched ({error})"
            ));
        });
        let scratch = self.home.join("sandbox");
        std::fs::create_dir_all(&scratch).map_err(|error| error.to_string())?;
        let needs_file_wall = self.needs_file_wall;
        let fonts = font.into_iter().collect();
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
