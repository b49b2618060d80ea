//! `cargo dev`: the whole system on this machine.

mod advice;
mod announcement;
mod arguments;
mod ask;
mod client;
mod eval_server;
mod home_key;
mod human_requests;
mod init;
mod json;
mod new_servers;
mod page;
mod show;
mod walls_notice;
mod watch;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, Result};
use djinn_local::{
    Djinn, LaptopSandbox, ServerLock, System, SystemOptions, Var, Walls, create_private_dir,
    open_databases, write_demo_tables,
};
use djinn_settings::table::agent::{LINK_KEY, PAGE};
use djinn_settings::table::dev::{HOME, LOG};
use djinn_settings::table::tools::{CODE_SANDBOX, CONFIG, OFFERED_AGENTS};
use djinn_settings::table::web::SEAL_KEY;
use djinn_settings::{FILE_NAME, check_names};
use tokio::signal::unix::{SignalKind, signal};

use crate::terminal::print_line;
use crate::workspace;
use advice::{Adviser, HomeFile, add_advice, print_python_advice};
use announcement::Announcement;
pub(crate) use arguments::DevArguments;
use arguments::DevCommand;
pub(crate) use ask::{StreamPosition, new_request_id};
pub(crate) use client::{
    AskRequest, EventStream, RejectedRequest, ServerClient, StreamEvent, is_html,
};
pub(crate) use eval_server::{EvalServer, FinishedRun, finish_question};
pub(crate) use json::{list_at, number_at, text_at};
pub(crate) use show::failure_text;
use walls_notice::describe_walls;

/// Returns the home of the local system: `DJINN_HOME`, by default `.djinn` in the workspace.
pub(crate) fn home_dir() -> PathBuf {
    let elsewhere = HOME.find_text(&environment_vars());
    workspace::root().join(elsewhere.as_deref().unwrap_or(".djinn"))
}

/// Returns the configuration folder of the local system, unless `DJINN_CONFIG` names another.
pub(crate) fn config_dir() -> PathBuf {
    home_dir().join("config")
}

/// Runs `cargo dev`.
///
/// # Errors
/// Returns an error with advice in one sentence.
pub(crate) fn run(DevArguments { command, port, ui }: DevArguments) -> Result<()> {
    check_names(environment_names())?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let done = match command {
        None => runtime.block_on(serve_system(port, ui)),
        Some(DevCommand::Watch { port }) => runtime.block_on(watch::run_watch(port)),
        Some(DevCommand::Init) => init::write_folder(&config_dir()),
        Some(DevCommand::Ask(ask)) => runtime.block_on(ask::ask_question(*ask)),
    };
    done.map_err(add_advice)
}

async fn serve_system(port: u16, ui: Option<PathBuf>) -> Result<()> {
    start_explained_log();
    let options = system_options()?;
    // A UI of the user's own replaces the page.
    let has_own_page = ui.is_none() && PAGE.find_text(&*options.var).is_none();
    let options = if has_own_page {
        let folder = page::prepare_folder()?;
        let folder = folder.to_str().context("the path of target/web is no text")?.to_owned();
        let var = options.var;
        let with_page: Var =
            Box::new(move |name| if name == PAGE.name { Some(folder.clone()) } else { var(name) });
        SystemOptions { var: with_page, ..options }
    } else {
        options
    };
    let listen = SocketAddr::from(([127, 0, 0, 1], port));
    let system = System::start(SystemOptions { listen, ui, ..options }).await?;
    let url = format!("http://{}", system.address());
    let _running = Announcement::announce_url(&home_dir(), &url)?;
    let web = if system.demo_site().is_some() { DEMO_SEARCH } else { OWN_SEARCH };
    print_line(&welcome_text(&url, system.demo_model().is_some(), web));
    if has_own_page {
        page::start_build()?;
    }
    let unpriced_models = system.ports().model.settings().unpriced_models();
    if system.demo_model().is_none() && !unpriced_models.is_empty() {
        let names = unpriced_models.into_iter().collect::<Vec<_>>().join(", ");
        print_line(&format!(
            "No price is known for {names}: its calls count as free, and runs have no budget in dollars.\n\
             Set the price in `[prices]` of djinn.toml (docs/models.md)."
        ));
    }
    // Without Python, the first use of code reports the problem.
    if let Ok(walls) = Walls::probe(Path::new("python3")) {
        print_line(&describe_walls(&walls, needs_file_wall()?));
    }
    let lock = server_lock();
    tokio::select! {
        ended = wait_for_end() => ended?,
        never = new_servers::lock_new_servers(&lock) => match never {},
    }
    print_line("stopping; press Ctrl-C again to stop immediately");
    tokio::select! {
        () = system.stop() => {}
        ended = wait_for_end() => ended?,
    }
    print_line("stopped; the next `cargo dev` continues from here");
    Ok(())
}

/// Returns the lock file of the folder in use. A folder in a bucket is locked before it is published.
fn server_lock() -> ServerLock {
    let folder = CONFIG.find_text(&environment_vars()).filter(|folder| !folder.starts_with('@'));
    let folder = folder.map_or_else(config_dir, PathBuf::from);
    ServerLock::new(folder, environment_vars()).with_secrets()
}

/// Waits for Ctrl-C or SIGTERM.
async fn wait_for_end() -> Result<()> {
    let mut terminate = signal(SignalKind::terminate()).context("cannot wait for SIGTERM")?;
    tokio::select! {
        pressed = tokio::signal::ctrl_c() => pressed.context("cannot wait for Ctrl-C"),
        _ = terminate.recv() => Ok(()),
    }
}

/// The demo site, searched if no engine is configured.
const DEMO_SITE: &str = "examples/site";

/// Returns options of a system over the home, with the environment's variables and the defaults for
/// developers.
fn system_options() -> Result<SystemOptions> {
    let defaults = default_vars()?;
    let var: Var = Box::new(move |name| {
        let default = || defaults.iter().find(|(key, _)| *key == name);
        environment_vars()(name).or_else(|| default().map(|(_, value)| value.clone()))
    });
    let djinn = Djinn::new()
        .with_sandbox(Arc::new(open_sandbox()?))
        .with_database(Arc::new(open_databases()));
    let site = Some(workspace::root().join(DEMO_SITE));
    Ok(SystemOptions { djinn, dir: Some(home_dir()), site, var, ..SystemOptions::default() })
}

/// Returns the sandbox of this machine, which installs Python on the first use of code.
fn open_sandbox() -> Result<LaptopSandbox> {
    if let Err(error) = LaptopSandbox::remove_leftovers(&home_dir()) {
        print_line(&format!("files left by earlier code could not be removed: {error}"));
    }
    Ok(LaptopSandbox::new(home_dir(), needs_file_wall()?, print_line, print_python_advice))
}

/// Returns true if code requires a kernel with a wall around files.
fn needs_file_wall() -> Result<bool> {
    Ok(CODE_SANDBOX.find_choice(&environment_vars())? != Some("unsafe"))
}

/// Returns the default variables: link settings that outlast a restart, and the configuration folder. All agents are
/// offered, unless the folder has settings.
fn default_vars() -> Result<Vec<(&'static str, String)>> {
    let folder = config_dir();
    create_private_dir(&folder).with_context(|| HomeFile(folder.clone()))?;
    let path = folder.to_str().with_context(|| format!("{} is no text", folder.display()))?;
    let home = home_dir();
    let mut vars = vec![
        LINK_KEY.pair(home_key::of(&home, home_key::LINKS)?),
        SEAL_KEY.pair(home_key::of(&home, home_key::SEALS)?),
        CONFIG.pair(path),
    ];
    if !folder.join(FILE_NAME).exists() {
        write_demo_tables(&folder).with_context(|| HomeFile(folder.clone()))?;
        vars.push(OFFERED_AGENTS.pair("all"));
    }
    Ok(vars)
}

/// Returns the names of all environment variables.
fn environment_names() -> impl Iterator<Item = String> {
    std::env::vars_os().filter_map(|(name, _)| name.into_string().ok())
}

pub(crate) fn environment_vars() -> Var {
    #[allow(clippy::disallowed_methods, reason = "a command line tool reads its environment")]
    Box::new(|name| std::env::var(name).ok())
}

/// Starts the log at the level of `DJINN_LOG`, by default warnings.
fn start_log() {
    let level = LOG.read_text(&environment_vars());
    djinn_local::log_to_stderr(&level.unwrap_or_default());
}

/// Starts the log, and prints advice for problems with a known remedy.
fn start_explained_log() {
    let level = LOG.read_text(&environment_vars());
    let adviser = Adviser::default();
    djinn_local::log_with_observer(&level.unwrap_or_default(), move |line| {
        if let Some(advice) = adviser.advise_on_log(line) {
            print_line(&advice);
        }
    });
}

/// Notices about the search.
const DEMO_SEARCH: &str = "Searches return only the invented DEMO pages in examples/site. To search the web,\n\
    add an engine to .djinn/config/djinn.toml, as docs/web.md says.";
const OWN_SEARCH: &str = "Searches use the engines in `search.engines`.";
const NO_SEARCH: &str = "There is no gateway here: Djinn neither searches nor reads the web.";

fn welcome_text(url: &str, scripted: bool, web: &str) -> String {
    let model = if scripted {
        "The model is SCRIPTED: a demo that only knows questions about the growth of regions in\n\
             examples/sales.csv and files like it, and about heat pumps. For a real model, set OPENAI_API_KEY (and\n\
             OPENAI_BASE_URL, OPENAI_MODEL for any compatible endpoint), ANTHROPIC_API_KEY, or\n\
             [models] in djinn.toml (docs/models.md), and start again."
    } else {
        "The model is the one configured in your environment or djinn.toml."
    };
    format!(
        "Djinn listens on {url}\n\n{model}\n\n{web}\n\n\
         Open {url} in a browser, or try it from a second terminal:\n\n  \
         cargo dev ask \"Which region grew fastest? Write the answer to growth.md\" --file examples/sales.csv\n  \
         cargo dev ask \"What do the pages say about heat pumps? Cite them\"\n\n\
         or by hand:\n\n  \
         curl -s {url}/sessions/s1/files -F file=@examples/sales.csv\n  \
         curl -N {url}/runs -H 'content-type: application/json' -H 'accept: text/event-stream' \\\n    \
         -d '{{\"question\":\"Which region grew fastest? Write the answer to growth.md\",\"session_id\":\"s1\"}}'\n\n\
         All state is stored in {home}/. Settings, models, agents, modes and prompts are files in {home}/config/,\n\
         and the next question uses them as they are then (docs/configuration.md).\n\
         Press Ctrl-C to stop.\n",
        home = home_dir().strip_prefix(workspace::root()).unwrap_or(&home_dir()).display()
    )
}
