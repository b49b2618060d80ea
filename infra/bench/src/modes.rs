//! Modes: what the router and the critic add to the agents behind them.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use djinn_runtime::port::outside::DisabledOutside;
use djinn_scripted::{Bench, PlanBench, Script, ScriptedResponse};

use crate::agent_server::{AgentOptions, AgentServer};
use crate::backend::Backend;
use crate::client::BenchClient;
use crate::figure::{Figure, FigureLimit};
use crate::sample::Sample;

/// Runs of each mode, in turns, after a warm-up.
const ROUNDS: usize = 40;
const ENSEMBLES: usize = 10;
const WARM_UP: usize = 5;

/// The duration of a reply of an agent of an ensemble, and the replies with a tool call.
const WORK: Duration = Duration::from_millis(200);
const CALLS: usize = 2;

pub(crate) async fn measure_modes() -> Result<Vec<Figure>> {
    Ok(vec![measure_router().await?, measure_ensemble().await?])
}

/// Returns the options of an agent with all shipped modes and without the web.
fn with_modes() -> AgentOptions {
    let web = Arc::new(DisabledOutside("no web".to_owned()));
    AgentOptions { web: Some(web), ..AgentOptions::default() }
}

/// Compares the first text of direct answers of 200 words.
async fn measure_router() -> Result<Figure> {
    let script = Script::default();
    let words = || (0..200).map(|n| format!("word {n} "));
    let answer =
        move |_: &_| ScriptedResponse::default().deltas(words()).delta_chars(usize::MAX).at_once();
    script.on_request(|_| true).respond_with(answer).always();
    let backend = Backend::start(script).await?;
    let agent = AgentServer::start(&backend.address(), with_modes()).await?;
    let client = BenchClient::new(agent.url())?;
    let react = client.clone();
    let router = client.with_mode("router");
    let mut react_times = Sample::default();
    let mut router_times = Sample::default();
    for nth in 0..WARM_UP + ROUNDS {
        for (client, sample) in [(&react, &mut react_times), (&router, &mut router_times)] {
            let mut stream = client.open_stream().await?;
            let took = stream.read_first_text().await?;
            stream.read_to_end().await?;
            if nth >= WARM_UP {
                sample.add(took);
            }
        }
    }
    backend.check_expected()?;
    Ok(Figure {
        name: "the router's direct answer against react's, first text",
        limit: FigureLimit::AtMost(1.1),
        unit: "×",
        measured: router_times.median() / react_times.median(),
        about: format!(
            "medians of {ROUNDS}: {:.1} ms and {:.1} ms; the model writes at once",
            router_times.median(),
            react_times.median()
        ),
    })
}

/// Compares three agents and a critic that replies at once with the slowest of the three, a planned run.
async fn measure_ensemble() -> Result<Figure> {
    let Bench { tool, arguments, .. } = Bench::default();
    let bench = PlanBench { steps: 3, calls: CALLS, work: WORK, tool, arguments };
    let backend = Backend::start(Script::plan_bench(bench)).await?;
    let agent = AgentServer::start(&backend.address(), with_modes()).await?;
    let client = BenchClient::new(agent.url())?;
    let (plan, ensemble) =
        (client.clone().with_mode("plan_solve"), client.with_mode("comprehensive"));
    let mut plan_times = Sample::default();
    let mut ensemble_times = Sample::default();
    for nth in 0..=ENSEMBLES {
        for (client, sample) in [(&plan, &mut plan_times), (&ensemble, &mut ensemble_times)] {
            let took = client.run_question().await?.whole;
            if nth > 0 {
                sample.add(took);
            }
        }
    }
    backend.check_expected()?;
    Ok(Figure {
        name: "an ensemble of three against its slowest agent",
        limit: FigureLimit::AtMost(1.15),
        unit: "×",
        measured: ensemble_times.median() / plan_times.median(),
        about: format!(
            "medians of {ENSEMBLES}: {:.0} ms and {:.0} ms; a plan of 3 steps with {} replies of {} ms each",
            ensemble_times.median(),
            plan_times.median(),
            CALLS + 1,
            WORK.as_millis()
        ),
    })
}
