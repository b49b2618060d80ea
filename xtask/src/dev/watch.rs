//! `cargo dev watch`: the functions under `cargo lambda watch`, which rebuilds changed functions, with
//! stores, demo model and timers.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use djinn_local::{Backing, BackingOptions, SystemError};
use tokio::net::{TcpListener, TcpStream};
use tokio::process::{Child, Command};

use super::announcement::Announcement;
use super::{NO_SEARCH, default_vars, environment_vars, home_dir, start_log, welcome_text};
use crate::terminal::print_line;
use crate::venv;

/// Maximum number of instances per function.
const INSTANCES: &str = "4";

/// Interval for checking that the host listens.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// Runs until Ctrl-C, or until the host ends.
pub(super) async fn run_watch(port: u16) -> Result<()> {
    start_log();
    let host = format!("http://127.0.0.1:{port}");
    // Another server would be taken for the host.
    let address = SocketAddr::from(([127, 0, 0, 1], port));
    let free_port = TcpListener::bind(address).await;
    drop(free_port.map_err(|error| SystemError::Listen { address, error })?);
    let options = BackingOptions {
        dir: Some(home_dir()),
        var: environment_vars(),
        ..BackingOptions::new(host.clone())
    };
    let backing = Backing::start(options).await?;
    let mut child = start_host(port, &backing).await?;
    let _running = Announcement::announce_url(&home_dir(), &backing.agent_url())?;
    print_line(&welcome_text(&backing.agent_url(), backing.demo_model().is_some(), NO_SEARCH));
    // The host has no route for the events of a REST API. The events have a separate caller without access to
    // other files, so the upload comes first.
    let invoke = |event: &str| {
        format!(
            "  curl -N {host}/2015-03-31/functions/agent/invocations -d @infra/events/{event}\n"
        )
    };
    print_line(&format!(
        "As the events that a REST API (v1) makes of requests; the function URL above makes v2:\n\n\
         {}{}\nThe first request builds the functions.\n",
        invoke("upload-v1.json"),
        invoke("question-v1.json"),
    ));
    if let Err(error) = backing.continue_runs().await {
        print_line(&format!("unfinished runs were not resumed: {error}"));
    }
    tokio::select! {
        ended = child.wait() => bail!("cargo lambda watch ended with {}", ended?),
        pressed = tokio::signal::ctrl_c() => pressed.context("cannot wait for Ctrl-C")?,
    }
    // Ctrl-C reaches the host too: both are in the same process group.
    child.wait().await?;
    Ok(())
}

/// Starts the host in the virtual environment, and waits until the host listens.
async fn start_host(port: u16, backing: &Backing) -> Result<Child> {
    let port_text = port.to_string();
    let arguments = ["lambda", "watch", "--disable-cors", "--invoke-address", "127.0.0.1"];
    let arguments = [&arguments[..], &["--invoke-port", &port_text, "--concurrency", INSTANCES]];
    let mut host = venv::ensure_venv()?.program_command("cargo-lambda", &arguments.concat())?;
    host.envs(backing.variables());
    let of_environment = environment_vars();
    host.envs(default_vars()?.into_iter().filter(|(name, _)| of_environment(name).is_none()));
    let child = Command::from(host).kill_on_drop(true).spawn();
    let mut child = child.context("cargo lambda watch could not be started")?;
    loop {
        if let Some(status) = child.try_wait()? {
            bail!("cargo lambda watch ended with {status}; is port {port} taken?");
        }
        if TcpStream::connect(("127.0.0.1", port)).await.is_ok() {
            return Ok(child);
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}
