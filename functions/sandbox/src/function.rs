//! The entry point of the Lambda function, in place of Python's own runtime loop.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use djinn_runtime::port::sandbox::SandboxKind;
use djinn_runtime::port::sandbox::wire::JobEnvelope;
use lambda_runtime::{LambdaEvent, service_fn};
use rustix::process::{DumpableBehavior, set_dumpable_behavior};
use tokio::time::timeout;

use crate::handler::Handler;
use crate::local_sandbox::LocalSandbox;
use crate::zygote::{WallChoice, ZygoteSettings};

/// The error of the function: an invalid environment, or an error of Lambda's runtime.
pub use lambda_runtime::Error as FunctionError;

/// Lambda's variable with the function's handler, which is the name of the sandbox.
const HANDLER: &str = "_HANDLER";

/// Default location of the function's archive.
const TASK_ROOT: &str = "/var/task";

/// Maximum wait for Python before the first request for a job.
const START_PATIENCE: Duration = Duration::from_secs(6);

/// Runs the function in Lambda's runtime until the process ends. Lambda passes the command of Python's own
/// loop (`AWS_LAMBDA_EXEC_WRAPPER`), so the first argument is the path of Python. The function's handler names
/// the sandbox. The archive contains packages in `packages` and fonts in `fonts`.
///
/// # Errors
/// Returns [`FunctionError`] if the argument or the handler's name is missing, or the asynchronous runtime cannot start.
pub fn run_function() -> Result<(), FunctionError> {
    #[allow(clippy::disallowed_methods, reason = "the one place that reads the environment")]
    let var = |name: &str| std::env::var(name).ok();
    djinn_runtime::telemetry::init(var("AWS_LAMBDA_LOG_LEVEL").as_deref(), io::stdout);
    // Environment variables of this process hold credentials: no other process of the same user may read the
    // variables.
    set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    let python = std::env::args_os().nth(1).ok_or("the first argument must be a Python")?;
    let handler = var(HANDLER).unwrap_or_default();
    let sandbox = SandboxKind::of_name(&handler);
    let sandbox = sandbox.ok_or("the function's handler must be `code` or `documents`")?;
    let root = PathBuf::from(var("LAMBDA_TASK_ROOT").unwrap_or_else(|| TASK_ROOT.to_owned()));
    let settings = ZygoteSettings {
        python: PathBuf::from(python),
        packages: Some(root.join("packages")).filter(|packages| packages.is_dir()),
        fonts: list_fonts(&root.join("fonts"))?,
        // Without Landlock, isolation relies on Firecracker, no network and no rights.
        needs_file_wall: false,
        walls: WallChoice::default(),
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(serve(sandbox, settings))
}

async fn serve(kind: SandboxKind, settings: ZygoteSettings) -> Result<(), FunctionError> {
    let scratch = tempfile::Builder::new().prefix("djinn-jobs-").tempdir()?;
    let sandbox = LocalSandbox::new(settings, scratch.path().to_owned()).with_only(kind);
    let sandbox = Arc::new(sandbox);
    // During start, Lambda gives the environment a whole processor, but restarts the environment after 10 s.
    // A job that arrives earlier waits for Python.
    let started_sandbox = Arc::clone(&sandbox);
    let starting = tokio::spawn(async move {
        match started_sandbox.start(kind).await {
            Ok(walls) if walls.landlock == 0 => {
                tracing::warn!(?walls, "this kernel has no Landlock");
            }
            Ok(walls) => tracing::info!(?walls, "Python is ready"),
            Err(error) => tracing::error!(%error, %kind, "the sandbox is disabled"),
        }
    });
    let _ready = timeout(START_PATIENCE, starting).await;
    let handler = &Handler::new(sandbox, scratch.path().join("objects"));
    lambda_runtime::run(service_fn(async |event: LambdaEvent<JobEnvelope>| {
        Ok::<_, FunctionError>(handler.handle_job(event.payload).await)
    }))
    .await
}

/// Returns the fonts of a folder, sorted by name; none if the folder does not exist.
fn list_fonts(folder: &Path) -> io::Result<Vec<PathBuf>> {
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let paths = fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.path()));
    let mut fonts = paths.collect::<io::Result<Vec<_>>>()?;
    fonts.retain(|path| path.extension().is_some_and(|end| end == "ttf" || end == "otf"));
    fonts.sort();
    Ok(fonts)
}
