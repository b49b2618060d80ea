//! Deploys the template to an emulator of AWS, and runs stories on the stack.

use std::env::consts::OS;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use agent::{KEY_BYTES, KeyHash, KeyHolder, format_key};
use anyhow::{Context as _, Result, bail, ensure};
use djinn_core::id::{TenantId, UserId};
use djinn_local::prepare_python;
use djinn_scripted::{Script, ScriptedModel};
use djinn_settings::table::contributor::STACK;
use serde_json::Value;
use tokio::net::TcpListener;

use super::built_programs::BuiltPrograms;
use super::test_process;
use crate::process::run;
use crate::smoke::{self, SmokeArguments};
use crate::terminal::print_line;
use crate::{venv, workspace};

/// The variable with the Python of the sandbox, for the emulator.
const PYTHON: &str = "STACK_PYTHON";

/// Maximum time until the emulator accepts requests.
const START_PATIENCE: Duration = Duration::from_mins(1);

/// Time between two pieces of a reply, so that the stream can be measured.
const MODEL_PACE: Duration = Duration::from_millis(50);

/// The template that users deploy.
const TEMPLATE: &str = "template.yaml";

/// Checks the emulator and stacks with each option, deploys the stack, runs the stories, and reports the permissions.
pub(super) fn run_tests() -> Result<()> {
    if OS != "linux" {
        print_line("    left out: the functions in the emulator are programs for Linux");
        return Ok(());
    }
    let built = BuiltPrograms::new()?;
    check_stacks()?;
    let emulator = Emulator::start("stories", &[])?;
    emulator.deploy()?;
    let mut tests = built.ignored_test_command("tests", "stack", &["--nocapture"])?;
    test_process::run_tests(tests.env(STACK.name, &emulator.folder))?;
    check_from_outside(&emulator)?;
    run_script("permissions.py", &[&emulator.folder])
}

/// Runs `cargo xtask smoke` against the deployed stack, with the demo model.
fn check_from_outside(emulator: &Emulator) -> Result<()> {
    let stack = fs::read_to_string(emulator.folder.join("stack.json"))?;
    let stack: Value = serde_json::from_str(&stack)?;
    let text = |name| stack.pointer(name).and_then(Value::as_str).context("stack.json");
    let port = stack
        .pointer("/model_port")
        .and_then(Value::as_u64)
        .and_then(|port| u16::try_from(port).ok());
    let arguments = SmokeArguments {
        url: text("/outputs/Url")?.parse()?,
        token: Some(text("/key")?.to_owned()),
        sign: false,
        emulator: Some(emulator.endpoint.parse()?),
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let address = ("127.0.0.1", port.context("stack.json has no model_port")?);
        let listener = TcpListener::bind(address).await?;
        let _model = ScriptedModel::serve(listener, Script::demo().with_delay(MODEL_PACE))?;
        smoke::run_checks(arguments).await
    })
}

/// Creates stacks with each option and parameter, and broken ones, and checks the known errors of the emulator.
/// Services that fail must hold no response open.
fn check_stacks() -> Result<()> {
    let emulator = Emulator::start("checks", &[])?;
    let folder = emulator.folder.as_path();
    let template = Path::new(TEMPLATE);
    let uncorrected = Emulator::start("uncorrected", &["--uncorrected"])?;
    run_script("known_errors.py", &[&uncorrected.folder, folder])?;
    run_script("variants.py", &[folder, template])?;
    run_script("parameters.py", &[folder, template])?;
    let programs = workspace::profile_dir("debug");
    run_script("breakages.py", &[folder, template, &programs])?;
    run_script("services.py", &[folder, template, &programs])
}

/// Runs a script of `infra/stack` with the AWS tools.
fn run_script(name: &str, arguments: &[&Path]) -> Result<()> {
    let script = format!("infra/stack/{name}");
    run(venv::ensure_venv()?.program_command("python", &[&script])?.args(arguments))
}

/// Deploys the stack, and keeps it until the standard input has a line or ends, for stories under development.
///
/// # Errors
/// Returns an error if the functions cannot be built, or the emulator or the deployment fails.
pub(crate) fn keep_stack() -> Result<()> {
    BuiltPrograms::new()?;
    let emulator = Emulator::start("stack", &[])?;
    emulator.deploy()?;
    let folder = emulator.folder.display();
    print_line(&format!(
        "deployed to {}\nrun stories in another terminal:\n    {}={folder} cargo test -p djinn-tests --test \
         stack -- --ignored --test-threads 1 NAME\nenter ends the emulator",
        emulator.endpoint, STACK.name
    ));
    std::io::stdin().read_line(&mut String::new())?;
    Ok(())
}

/// A running emulator. Dropping the value ends the emulator and the functions.
struct Emulator {
    folder: PathBuf,
    endpoint: String,
    process: Child,
}

impl Emulator {
    /// Starts the emulator with a folder of this name below `target/stack`, and with these options.
    fn start(name: &str, options: &[&str]) -> Result<Self> {
        let folder = workspace::target_dir().join("stack").join(name);
        let say = |words: &str| print_line(&format!("    {words}"));
        let python = prepare_python(&workspace::target_dir().join("sandbox-python"), &say)
            .context("the sandbox needs a Python")?;
        let folder_name = folder.to_str().context("the workspace's path is not UTF-8")?;
        let script = ["infra/stack/emulator.py", folder_name];
        let mut command = venv::ensure_emulator()?.program_command("python", &script)?;
        // Else a former emulator's file would be read.
        let endpoint = folder.join("endpoint");
        if endpoint.exists() {
            fs::remove_file(&endpoint)?;
        }
        let process = command.args(options).env(PYTHON, python).stdin(Stdio::piped()).spawn();
        let mut process = process.context("the emulator could not be started")?;
        let began = Instant::now();
        let endpoint = loop {
            if let Ok(endpoint) = fs::read_to_string(&endpoint) {
                break endpoint;
            }
            if let Some(status) = process.try_wait()? {
                bail!("the emulator ended with {status}; see {folder_name}/emulator.log");
            }
            ensure!(began.elapsed() < START_PATIENCE, "the emulator did not start in time");
            std::thread::sleep(Duration::from_millis(50));
        };
        Ok(Self { folder, endpoint, process })
    }

    /// Deploys the built functions with an API key.
    fn deploy(&self) -> Result<()> {
        let key = format_key(&[7; KEY_BYTES]);
        let holder = KeyHolder {
            sha256: KeyHash::of(&key).context("the key has another form")?,
            tenant: TenantId::new("acme")?,
            user: UserId::new("anna")?,
        };
        let holder = serde_json::to_string(&holder)?;
        let mut command =
            venv::ensure_venv()?.program_command("python", &["infra/stack/deploy.py"])?;
        let arguments: [&Path; 2] = [&self.folder, &workspace::profile_dir("debug")];
        run(command.args(arguments).args([key, holder]))
    }
}

impl Drop for Emulator {
    fn drop(&mut self) {
        // The emulator ends with its standard input.
        drop(self.process.stdin.take());
        let _status = self.process.wait();
    }
}
