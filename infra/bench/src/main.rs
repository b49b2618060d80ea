//! Measures the product's speed and size; started by `cargo bench-run`.
//!
//! `djinn-bench --agent PATH --node NODE [--json]` prints every figure beside its target. PATH is the shipped agent
//! function, with database, executor and gateway in the same folder; NODE is the program `node`.
//! `--gateway PATH` measures only the gateway, and `--page NODE` only the web page.
//! `--speed`, `--cpu`, `--runs AT_ONCE`, `--memory`, `--viewers`, `--join`, `--turns`, `--plans`, `--agents`, `--sandbox`,
//! `--find-tables`, `--web`, `--outside-tools`, `--modes`, `--people`, `--protocols` and `--streams` are for profilers.
//! `djinn-bench stores` and `djinn-bench agent URL URL URL` are the separate processes of [`memory`].

mod agent_server;
mod agents;
mod backend;
mod child_process;
mod clerk;
mod client;
mod cpu;
mod documents;
mod driver_load;
mod figure;
mod floor;
mod gateway_function;
mod join;
mod journal;
mod looks;
mod many_children;
mod memory;
mod modes;
mod note;
mod outside_tools;
mod page;
mod parts;
mod people;
mod plan;
mod protocols;
mod sample;
mod sandbox;
mod size;
mod speed;
mod start;
mod streams;
mod tables;
mod terminal;
mod viewers;
mod web;
mod web_site;

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context as _, Result, bail};
use figure::{Figure, Report};

const USAGE: &str = "djinn-bench --agent PATH --node NODE [--json], or djinn-bench --speed | --cpu | --runs AT_ONCE | --memory | --viewers | --join | --turns | --plans | --agents | --sandbox | --find-tables | --web | --outside-tools | --gateway PATH | --page NODE | --modes | --people | --protocols | --streams";

fn main() -> ExitCode {
    djinn_local::log_to_stderr("warn");
    let words: Vec<String> = std::env::args().skip(1).collect();
    let name = words.first().cloned().unwrap_or_default();
    // The agent function has one thread for all its work; so has the agent's process here.
    let mut runtime = match name.as_str() {
        agent_server::PROCESS => tokio::runtime::Builder::new_current_thread(),
        _ => tokio::runtime::Builder::new_multi_thread(),
    };
    // A profiler tells the processes apart by the names of their threads.
    let thread = std::thread::Builder::new().name(name.clone());
    let run = move || -> Result<()> {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        runtime.enable_all().thread_name(name).build()?.block_on(run_command(&words))
    };
    let result = thread.spawn(run).map_err(Into::into).and_then(|running| {
        running.join().unwrap_or_else(|_| bail!("it panicked, which is a bug"))
    });
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            terminal::print_note(&format!("the benchmark broke: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

async fn run_command(words: &[&str]) -> Result<()> {
    match words {
        ["--agent", agent, "--node", node] => {
            let report = measure_all(Path::new(agent), Path::new(node)).await?;
            terminal::print_line(&report.to_table());
        }
        ["--agent", agent, "--node", node, "--json"] => {
            let report = measure_all(Path::new(agent), Path::new(node)).await?;
            terminal::print_line(&report.to_json().to_string());
        }
        ["--plans"] => {
            let mut figures = plan::measure_plans().await?;
            figures.extend(many_children::measure_many_children().await?);
            print_figures(figures);
        }
        [backend::PLAN_PROCESS, steps] => backend::run_plan_backend(steps.parse()?).await?,
        [backend::SLOW_PROCESS] => backend::run_slow_backend().await?,
        [backend::FREE_PROCESS, deltas, at_once] => {
            backend::run_bench_backend(deltas.parse()?, at_once.parse()?).await?;
        }
        [backend::PROCESS] => backend::run_gated_backend().await?,
        [agent_server::PROCESS, address @ ..] => {
            let address: Vec<_> = address.iter().map(|word| (*word).to_owned()).collect();
            let address = address.try_into().ok().context("an agent takes three URLs and a key")?;
            agent_server::run_agent_process(address).await?;
        }
        ["--speed"] => {
            let report = Report::new(speed::measure_speed().await?, parts::describe_parts().await?);
            terminal::print_line(&report.to_table());
        }
        ["--cpu"] => print_figures(cpu::measure_cpu().await?),
        ["--runs", at_once] => cpu::finish_runs(at_once.parse()?).await?,
        ["--memory"] => print_figures(vec![memory::measure_memory().await?]),
        ["--viewers"] => print_figures(vec![viewers::measure_viewers().await?]),
        ["--turns"] => print_figures(journal::measure_journal().await?.0),
        ["--agents"] => print_figures(agents::measure_agents().await?),
        ["--sandbox"] => print_figures(sandbox::measure_sandbox().await?),
        ["--find-tables"] => print_figures(vec![tables::measure_find_tables().await?]),
        ["--web"] => print_figures(web::measure_web().await?),
        ["--outside-tools"] => print_figures(outside_tools::measure_outside_tools().await?),
        ["--gateway", gateway] => {
            print_figures(gateway_function::measure_gateway(Path::new(gateway)).await?);
        }
        ["--page", node] => print_figures(page::measure_page(Path::new(node)).await?),
        ["--modes"] => print_figures(modes::measure_modes().await?),
        ["--protocols"] => print_figures(protocols::measure_protocols().await?),
        ["--people"] => print_figures(people::measure_people().await?),
        ["--streams"] => {
            let figure = streams::measure_streams(streams::STREAMS).await?;
            print_figures(vec![figure]);
        }
        ["--streams", number] => {
            let figure = streams::measure_streams(number.parse()?).await?;
            print_figures(vec![figure]);
        }
        ["--join"] => print_figures(vec![join::measure_join().await?]),
        _ => bail!("{USAGE}"),
    }
    Ok(())
}

fn print_figures(figures: Vec<Figure>) {
    terminal::print_line(&Report::new(figures, String::new()).to_table());
}

/// Measures every figure. Quiet measurements come early, so none runs during another's cleanup.
async fn measure_all(agent: &Path, node: &Path) -> Result<Report> {
    // Fails if an archive has grown, so it comes before the minutes of measuring.
    terminal::print_note("1/13 the functions' archives");
    let mut figures = size::measure_sizes(agent).context("size")?;
    terminal::print_note("2/13 one run at a time, then 16 at once");
    figures.extend(speed::measure_speed().await.context("speed")?);
    let parts = parts::describe_parts().await.context("parts")?;
    terminal::print_note("3/13 processor time of runs");
    figures.extend(cpu::measure_cpu().await.context("processor time")?);
    terminal::print_note("4/13 500 open streams, then 200 viewers that do not read");
    figures.push(memory::measure_memory().await.context("memory")?);
    figures.push(viewers::measure_viewers().await.context("viewers")?);
    terminal::print_note("5/13 starts of the agent function");
    figures.push(start::measure_starts(agent).context("start")?);
    terminal::print_note("6/13 a run of 1 000 records");
    let (turns, loading) = journal::measure_journal().await.context("journal")?;
    figures.extend(turns);
    terminal::print_note("7/13 viewers of a run that has ended");
    let joining = join::measure_join().await.context("join")?;
    figures.extend(protocols::measure_protocols().await.context("protocols")?);
    terminal::print_note("8/13 what a driver does while a model writes (20 s)");
    figures.extend(driver_load::measure_driver_load().await.context("beside")?);
    figures.extend([loading, joining]);
    terminal::print_note("9/13 plans, agents and modes");
    figures.extend(plan::measure_plans().await.context("plans")?);
    figures.extend(many_children::measure_many_children().await.context("a thousand tasks")?);
    figures.extend(agents::measure_agents().await.context("agents")?);
    figures.extend(modes::measure_modes().await.context("modes")?);
    terminal::print_note("10/13 code");
    figures.extend(sandbox::measure_sandbox().await.context("code")?);
    terminal::print_note("11/13 the web, the web page, and the gateway function");
    figures.extend(web::measure_web().await.context("the web")?);
    figures.extend(page::measure_page(node).await.context("the web page")?);
    figures.extend(outside_tools::measure_outside_tools().await.context("tools from outside")?);
    let gateway = agent.with_file_name("gateway");
    figures.extend(gateway_function::measure_gateway(&gateway).await.context("the gateway")?);
    let database = size::measure_database_size(&agent.with_file_name("database"));
    figures.push(database.context("the function for databases")?);
    terminal::print_note("12/13 people who answer, and runs that wait for them (30 s)");
    figures.extend(people::measure_people().await.context("people")?);
    terminal::print_note("13/13 1 000 open streams (40 s)");
    figures.push(streams::measure_streams(streams::STREAMS).await.context("streams")?);
    Ok(Report::new(figures, parts))
}
