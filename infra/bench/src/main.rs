//! Measures how fast and how small the product is: what `cargo bench-run` starts.
//!
//! `djinn-bench --agent PATH [--json]` prints every figure beside what it has to reach; PATH is the
//! agent function as it ships. With `--speed`, `--cpu`, `--memory`, `--join`, `--turns`, `--plans`, `--people` or `--streams` it is for a profiler.
//! `djinn-bench stores` and `djinn-bench agent URL URL URL` are the
//! processes that [`memory`] measures apart.

mod backend;
mod beside;
mod child;
mod client;
mod cpu;
mod figure;
mod floor;
mod front;
mod join;
mod journal;
mod many;
mod memory;
mod note;
mod parts;
mod people;
mod plan;
mod sample;
mod size;
mod speed;
mod start;
mod streams;
mod terminal;

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context as _, Result, bail};
use figure::Report;

const USAGE: &str = "djinn-bench --agent PATH [--json], or djinn-bench --speed | --cpu | --memory | --join | --turns | --plans | --people | --streams";

#[tokio::main]
async fn main() -> ExitCode {
    djinn_local::log_to_stderr("warn");
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match command(&words).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            terminal::note(&format!("the benchmark broke: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

async fn command(words: &[&str]) -> Result<()> {
    match words {
        ["--agent", agent] => terminal::say(&measure(Path::new(agent)).await?.table()),
        ["--agent", agent, "--json"] => {
            terminal::say(&measure(Path::new(agent)).await?.json().to_string());
        }
        ["--plans"] => {
            let mut figures = plan::figures().await?;
            figures.extend(many::figures().await?);
            terminal::say(&Report::new(figures, String::new()).table());
        }
        [backend::PLAN_PROCESS, steps] => backend::be_a_plan_process(steps.parse()?).await?,
        [backend::SLOW_PROCESS] => backend::be_a_slow_process().await?,
        [backend::FREE_PROCESS, deltas, at_once] => {
            backend::be_a_run_process(deltas.parse()?, at_once.parse()?).await?;
        }
        [backend::PROCESS] => backend::be_a_process().await?,
        [front::PROCESS, place @ ..] => {
            let place: Vec<_> = place.iter().map(|word| (*word).to_owned()).collect();
            let place = place.try_into().ok().context("a front takes three URLs and a key")?;
            front::be_a_process(place).await?;
        }
        ["--speed"] => {
            terminal::say(&Report::new(speed::figures().await?, parts::in_words().await?).table());
        }
        ["--cpu"] => terminal::say(&Report::new(cpu::figures().await?, String::new()).table()),
        ["--memory"] => {
            terminal::say(&Report::new(vec![memory::figure().await?], String::new()).table());
        }
        ["--turns"] => {
            terminal::say(&Report::new(journal::figures().await?.0, String::new()).table());
        }
        ["--people"] => {
            terminal::say(&Report::new(people::figures().await?, String::new()).table());
        }
        ["--streams"] => {
            let figure = streams::figure(streams::STREAMS).await?;
            terminal::say(&Report::new(vec![figure], String::new()).table());
        }
        ["--streams", number] => {
            let figure = streams::figure(number.parse()?).await?;
            terminal::say(&Report::new(vec![figure], String::new()).table());
        }
        ["--join"] => {
            terminal::say(&Report::new(vec![join::figure().await?], String::new()).table());
        }
        _ => bail!("{USAGE}"),
    }
    Ok(())
}

/// Every figure. Quiet ones first, so that none is taken while another one still tidies up.
async fn measure(agent: &Path) -> Result<Report> {
    let mut figures = Vec::new();
    terminal::note("1/11 one run at a time, then 16 at once");
    figures.extend(speed::figures().await.context("speed")?);
    let parts = parts::in_words().await.context("parts")?;
    terminal::note("2/11 processor time of runs");
    figures.extend(cpu::figures().await.context("processor time")?);
    terminal::note("3/11 500 open streams");
    figures.push(memory::figure().await.context("memory")?);
    terminal::note("4/11 starts of the agent function");
    figures.push(start::figure(agent).context("start")?);
    terminal::note("5/11 the agent function's archive");
    figures.push(size::figure(agent).context("size")?);
    terminal::note("6/11 a run of 1 000 records");
    let (turns, loading) = journal::figures().await.context("journal")?;
    figures.extend(turns);
    terminal::note("7/11 viewers of a run that has ended");
    let joining = join::figure().await.context("join")?;
    terminal::note("8/11 what a driver does while a model writes (20 s)");
    figures.extend(beside::figures().await.context("beside")?);
    figures.extend([loading, joining]);
    terminal::note("9/11 plans");
    figures.extend(plan::figures().await.context("plans")?);
    figures.extend(many::figures().await.context("a thousand tasks")?);
    terminal::note("10/11 people who answer, and runs that wait for them (30 s)");
    figures.extend(people::figures().await.context("people")?);
    terminal::note("11/11 1 000 open streams (40 s)");
    figures.push(streams::figure(streams::STREAMS).await.context("streams")?);
    Ok(Report::new(figures, parts))
}
