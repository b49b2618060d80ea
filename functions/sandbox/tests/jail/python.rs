//! A sandbox with the Python of the tests.

use std::path::{Path, PathBuf};

use djinn_core::id::{FileName, SessionId, TenantId, UserId};
use djinn_runtime::port::SessionKey;
use djinn_runtime::port::sandbox::{
    BlockValue, JobContext, Sandbox, SandboxAnswer, SandboxFile, SandboxJob, SandboxWork,
};
use sandbox::{LocalSandbox, WallChoice, ZygoteSettings};
use tempfile::TempDir;

/// The variable that names a Python with the packages of `infra/sandbox/requirements.txt`.
const PYTHON: &str = "SANDBOX_PYTHON";

/// The variable with the paths of the fonts from `prepare_fonts`, separated as in `PATH`.
const FONTS: &str = "SANDBOX_FONTS";

/// A sandbox, and the folder of its jobs.
pub(crate) struct TestSandbox {
    pub(crate) sandbox: LocalSandbox,
    pub(crate) scratch: TempDir,
}

pub(crate) fn python() -> PathBuf {
    let python = std::env::var_os(PYTHON);
    python.expect("SANDBOX_PYTHON names a Python: run `cargo verify --only sandbox`").into()
}

pub(crate) fn fonts() -> Vec<PathBuf> {
    let fonts = std::env::var_os(FONTS).expect("SANDBOX_FONTS names the fonts");
    std::env::split_paths(&fonts).collect()
}

/// A sandbox on that Python, with all walls that this kernel grants.
pub(crate) fn start() -> TestSandbox {
    start_with(&python(), WallChoice::default())
}

/// A sandbox on a Python whose jobs may take 20 seconds.
pub(crate) fn start_with(python: &Path, walls: WallChoice) -> TestSandbox {
    let scratch = TempDir::new().unwrap();
    let sandbox = LocalSandbox::new(settings(python, walls), scratch.path().to_owned());
    TestSandbox { sandbox: sandbox.with_seconds(20), scratch }
}

/// A sandbox that works beside others in this folder.
pub(crate) fn start_below(scratch: &Path) -> LocalSandbox {
    LocalSandbox::new(settings(&python(), WallChoice::default()), scratch.to_owned())
}

fn settings(python: &Path, walls: WallChoice) -> ZygoteSettings {
    ZygoteSettings {
        python: python.to_owned(),
        packages: None,
        fonts: fonts(),
        needs_file_wall: false,
        walls,
    }
}

/// A block as a job of its own.
pub(crate) fn block(code: &str) -> SandboxJob {
    let work = SandboxWork::Python { code: code.to_owned(), earlier: Vec::new() };
    SandboxJob { work, files: Vec::new(), state: Vec::new() }
}

/// Returns the context of jobs. The tests do not depend on the tenant, the owner and the session.
pub(crate) fn context() -> JobContext {
    JobContext::new(&SessionKey {
        tenant: TenantId::new("t").unwrap(),
        owner: UserId::new("u").unwrap(),
        session: SessionId::new("s").unwrap(),
    })
}

pub(crate) fn file(name: &str, content: impl Into<Vec<u8>>) -> SandboxFile {
    SandboxFile { name: FileName::new(name).unwrap(), content: content.into() }
}

impl TestSandbox {
    /// Sets the maximum duration of a job, in seconds.
    pub(crate) fn with_seconds(self, seconds: u32) -> Self {
        Self { sandbox: self.sandbox.with_seconds(seconds), ..self }
    }

    /// The parent of the folders of jobs.
    pub(crate) fn scratch(&self) -> &Path {
        self.scratch.path()
    }

    /// Runs a job and returns the answer.
    pub(crate) async fn run(&self, job: SandboxJob) -> SandboxAnswer {
        self.sandbox.run_job(&context(), job).await.unwrap()
    }

    /// Runs a block and returns the answer.
    pub(crate) async fn run_code(&self, code: &str) -> SandboxAnswer {
        self.run(block(code)).await
    }
}

/// Returns the report of a block about itself.
pub(crate) fn value(answer: &SandboxAnswer) -> BlockValue {
    serde_json::from_value(answer.value.clone()).unwrap_or_default()
}
