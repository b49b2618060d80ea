//! Agents called by agents: the cost of a call, many calls, and viewers of a tree.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use djinn_scripted::{ChunkGate, RecordedRequest, Script, ScriptedResponse};
use serde_json::json;

use crate::agent_server::{AgentOptions, AgentServer};
use crate::backend::Backend;
use crate::client::BenchClient;
use crate::figure::{Figure, FigureLimit};
use crate::plan::{READS, WORK, WRITES, count_requests, list_requests};
use crate::sample::Sample;
use crate::{clerk, note};

/// Timed runs of each kind, after a warm-up.
const TIMED: usize = 200;
const WARM_UP: usize = 20;

/// Length of an answer that is also stored as a file, in characters.
const LONG: usize = 12_000;

/// Time for the work after a run's end.
const SETTLING: Duration = Duration::from_millis(500);

/// Tasks with one agent call each, and rounds of alternating with the same turns without agents.
const TASKS: usize = 100;
const ROUNDS: usize = 3;

/// Levels below the root, turns of each level before the next call, and calls of each turn.
const LEVELS: usize = 4;
const TURNS: usize = 8;
const CALLS: usize = 16;

/// Viewers of a tree, in sequence.
const VIEWERS: usize = 10;

/// Entries of a tree when the lowest run is held: the question, and the turns of all runs but the root. Each level
/// above the lowest adds a reply with a call and the start of the called run.
const SHOWN: usize = 1 + LEVELS * TURNS * (1 + 2 * CALLS) + LEVELS * 3;

/// The entries of the root's first two records.
const SEEN: usize = 4;

pub(crate) async fn measure_agents() -> Result<Vec<Figure>> {
    let mut figures = vec![measure_time().await.context("time")?];
    figures.extend(measure_costs().await.context("costs")?);
    figures.push(measure_many().await.context("many")?);
    figures.extend(measure_viewers().await.context("viewers")?);
    Ok(figures)
}

/// Returns a script with the response for each message name, such as `t1` or `t1.c1.t1`.
fn script(says: impl Fn(&str) -> ScriptedResponse + Send + Sync + 'static) -> Script {
    let script = Script::default();
    let respond = move |request: &RecordedRequest| {
        let call = request.header("djinn-call").unwrap_or_default();
        says(call.split('/').nth(1).unwrap_or_default())
    };
    script.on_request(|_| true).respond_with(respond).always();
    script
}

fn reply(text: impl Into<String>) -> ScriptedResponse {
    ScriptedResponse::default().reply(text).at_once()
}

fn call_clerk() -> ScriptedResponse {
    let task = json!({"task": "Write it."});
    ScriptedResponse::default().say("I ask.").call(clerk::NAME, task).at_once()
}

fn call_note(nth: usize) -> ScriptedResponse {
    ScriptedResponse::default().say("I note.").call(note::NAME, note::nth_arguments(nth)).at_once()
}

/// Returns a script with one call of an agent that replies at once.
fn with_agent(answer: String) -> Script {
    script(move |message| match message {
        "t1" => call_clerk(),
        "t1.c1.t1" => reply(answer.clone()),
        _ => reply("All is done."),
    })
}

/// Returns a script with `calls` tool calls, one per turn.
fn with_notes(calls: usize) -> Script {
    script(move |message| match message.strip_prefix('t').and_then(|turn| turn.parse().ok()) {
        Some(turn) if turn <= calls => call_note(turn),
        _ => reply("All is done."),
    })
}

/// An agent over a backend, with a client.
struct Bench {
    backend: Backend,
    agent: AgentServer,
    client: BenchClient,
}

impl Bench {
    async fn start(script: Script) -> Result<Self> {
        let backend = Backend::start(script).await?;
        let changes = AgentOptions { tools: clerk::offer_clerk(), ..AgentOptions::default() };
        let agent = AgentServer::start(&backend.address(), changes).await?;
        let client = BenchClient::new(agent.url())?;
        Ok(Self { backend, agent, client })
    }

    /// Returns the requests of one run.
    async fn count_run(&self) -> Result<BTreeMap<String, u64>> {
        // A warm-up opens connections and checks the bucket.
        self.client.run_question().await?;
        tokio::time::sleep(SETTLING).await;
        drop(self.agent.aws().request_counter().take_counts());
        self.client.run_question().await?;
        tokio::time::sleep(SETTLING).await;
        self.backend.check_expected()?;
        Ok(self.agent.aws().request_counter().take_counts())
    }
}

async fn measure_time() -> Result<Figure> {
    let answer = "It is written.".to_owned();
    let both = [Bench::start(with_agent(answer)).await?, Bench::start(with_notes(2)).await?];
    let mut samples = [Sample::default(), Sample::default()];
    for nth in 0..WARM_UP + TIMED {
        for (bench, sample) in both.iter().zip(&mut samples) {
            let took = bench.client.run_question().await?;
            if nth >= WARM_UP {
                sample.add(took.whole);
            }
        }
    }
    for bench in &both {
        bench.backend.check_expected()?;
    }
    let [with, without] = samples;
    Ok(Figure {
        name: "an agent called alone, beside its turns, medians",
        limit: FigureLimit::AtMost(6.0),
        unit: "ms",
        measured: with.median() - without.median(),
        about: format!(
            "{:.1} ms (p95 {:.1}) against {:.1} ms (p95 {:.1}) of a run with as many turns, whose \
             middle one calls a tool; {TIMED} each",
            with.median(),
            with.p95(),
            without.median(),
            without.p95()
        ),
    })
}

async fn measure_costs() -> Result<Vec<Figure>> {
    let without = Bench::start(with_notes(1)).await?.count_run().await?;
    let short = Bench::start(with_agent("It is written.".to_owned())).await?.count_run().await?;
    let long = Bench::start(with_agent("word ".repeat(LONG / 5))).await?.count_run().await?;
    let extra_requests = |with: &BTreeMap<String, u64>, kinds: &[&str]| {
        count_requests(with, kinds) - count_requests(&without, kinds)
    };
    let figure = |name, most, measured, about| {
        let limit = FigureLimit::AtMost(most);
        Figure { name, limit, unit: "", measured, about }
    };
    let all = |with: &BTreeMap<String, u64>| {
        format!("{}; without an agent {}", list_requests(with), list_requests(&without))
    };
    let beside = "beside those of a run that calls a tool instead".to_owned();
    Ok(vec![
        figure(
            "writes of an agent called alone",
            6.0,
            extra_requests(&short, &WRITES),
            all(&short),
        ),
        figure(
            "reads of an agent called alone",
            5.0,
            extra_requests(&short, &READS),
            beside.clone(),
        ),
        figure("writes of one with a long answer", 7.0, extra_requests(&long, &WRITES), all(&long)),
        figure(
            "objects of one with a long answer",
            1.0,
            extra_requests(&long, &["PutObject"]),
            beside,
        ),
    ])
}

/// Returns a plan of tasks with three turns. The middle turn belongs to a called agent or to the task itself.
fn plan_script(calls_agents: bool) -> Script {
    let steps: Vec<String> = (1..=TASKS).map(|n| format!("Part {n}: write it")).collect();
    let waits_for: Vec<[usize; 0]> = vec![[]; TASKS];
    let plan =
        json!({"command": "create", "title": "Parts", "steps": steps, "depends_on": waits_for});
    let plans = |arguments| ScriptedResponse::default().say("I plan.").call("planning", arguments);
    script(move |message| match message.split('.').collect::<Vec<_>>().as_slice() {
        ["t1"] => plans(plan.clone()),
        ["t2"] => plans(json!({"command": "finish"})),
        [_, _, "t1"] if calls_agents => call_clerk().spread_over(WORK),
        [_, _, "t1"] => call_note(1).spread_over(WORK),
        [_, _, "t2"] if !calls_agents => call_note(2).spread_over(WORK),
        [_, _, ..] => reply("It is written.").spread_over(WORK),
        _ => reply("All is done."),
    })
}

async fn measure_many() -> Result<Figure> {
    let mut samples = [Sample::default(), Sample::default()];
    for _ in 0..ROUNDS {
        for (calls_agents, sample) in [true, false].into_iter().zip(&mut samples) {
            let bench = Bench::start(plan_script(calls_agents)).await?;
            let mut stream = bench.client.clone().with_mode("plan_solve").open_stream().await?;
            sample.add(stream.read_to_end().await?.whole);
            bench.backend.check_expected()?;
            let (heard, expected) =
                (stream.child_count(), if calls_agents { 2 * TASKS } else { TASKS });
            ensure!(heard == expected, "{heard} runs below instead of {expected}");
        }
    }
    let [with, without] = samples;
    Ok(Figure {
        name: "100 executors that each call an agent, wall against the same turns",
        limit: FigureLimit::AtMost(1.3),
        unit: "×",
        measured: with.median() / without.median(),
        about: format!(
            "{:.0} ms against {:.0} ms, medians of {ROUNDS}; three turns of {} ms each, 10 at once",
            with.median(),
            without.median(),
            WORK.as_millis()
        ),
    })
}

/// Returns a tree with one run per level. Each run takes notes and calls the next; the lowest run is held
/// before the answer.
fn deep_script(gate: ChunkGate) -> Script {
    script(move |message| {
        let level = message.matches(".c").count();
        let turn = message.rsplit('.').next().and_then(|turn| turn.strip_prefix('t'));
        let turn: usize = turn.and_then(|turn| turn.parse().ok()).unwrap_or_default();
        let notes = if level == 0 { 0 } else { TURNS };
        if (1..=notes).contains(&turn) {
            let calls =
                (1..=CALLS).map(|nth| (note::NAME, note::nth_arguments(turn * CALLS + nth)));
            // Low enough for the budget shares of the lowest levels.
            return ScriptedResponse::default()
                .say("I note.")
                .calls(calls)
                .usage(100, 10, 0)
                .at_once();
        }
        match (level, turn == notes + 1) {
            (LEVELS, _) => ScriptedResponse::default().reply("Written.").with_gate(1, gate.clone()),
            (_, true) => call_clerk(),
            (_, false) => reply("All is done."),
        }
    })
}

async fn measure_viewers() -> Result<Vec<Figure>> {
    let gate = ChunkGate::default();
    let bench = Bench::start(deep_script(gate.clone())).await?;
    let mut driven = bench.client.open_stream().await?;
    let run = driven.run_id()?.to_owned();
    driven.read_entries(SHOWN).await.context("the run")?;
    // The client left after the first two records of the root.
    let cursor = format!("{run}:1");
    let mut at_work = Sample::default();
    let mut after_end = Sample::default();
    for _ in 0..VIEWERS {
        let began = Instant::now();
        let mut viewer = bench.client.join_run_after(&run, &cursor).await?;
        viewer.read_entries(SHOWN - SEEN).await.context("who comes back")?;
        at_work.add(began.elapsed());
    }
    gate.open();
    driven.read_to_end().await?;
    let mut entries = 0;
    for _ in 0..VIEWERS {
        let took = bench.client.join_run_after(&run, &cursor).await?.finish().await?;
        entries = took.entries;
        ensure!(entries >= 1_000, "only {entries} entries");
        after_end.add(took.whole);
    }
    bench.backend.check_expected()?;
    let figure = |name, sample: &Sample, entries| Figure {
        name,
        limit: FigureLimit::AtMost(150.0),
        unit: "ms",
        measured: sample.median(),
        about: format!(
            "p95 {:.1} ms of {VIEWERS}, {entries} entries, {LEVELS} levels below the root",
            sample.p95()
        ),
    };
    Ok(vec![
        figure("coming back to a tree of 1 000 entries at work, median", &at_work, SHOWN - SEEN),
        figure("coming back to one that has ended, all frames, median", &after_end, entries),
    ])
}
