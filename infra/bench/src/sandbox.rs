//! Code written by agents: the sandbox's time, and the other cost of a block.

use std::fs;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use djinn_core::id::{FileName, SessionId, TenantId, UserId};
use djinn_local::{prepare_fonts, prepare_python};
use djinn_runtime::port::SessionKey;
use djinn_runtime::port::sandbox::{
    JobContext, JobEnd, JobOutput, Sandbox, SandboxAnswer, SandboxError, SandboxFile, SandboxJob,
    SandboxKind, SandboxWork,
};
use djinn_runtime::port::tool::BoxFuture;
use djinn_scripted::{RecordedRequest, Script, ScriptedResponse};
use futures::future::try_join_all;
use sandbox::{LocalSandbox, WallChoice, ZygoteSettings};
use serde_json::json;

use crate::agent_server::{AgentOptions, AgentServer};
use crate::backend::Backend;
use crate::client::BenchClient;
use crate::documents::measure_documents;
use crate::figure::{Figure, FigureLimit};
use crate::looks::measure_looks;
use crate::plan::count_requests;
use crate::sample::Sample;
use crate::tables::{measure_find_tables, measure_queries};
use crate::terminal::print_note;

/// Timed blocks of each kind, after a warm-up.
const TIMED: usize = 30;
const WARM_UP: usize = 3;
/// A block with the maximum number of products, 1 MB each.
const PRODUCTS: &str = "for n in range(20): open(f'{n}.bin', 'wb').write(bytes([n]) * 1_000_000)";

/// Parallel blocks.
const AT_ONCE: usize = 8;
/// Timed runs, and the additional turns with a block in the longer run.
const RUNS: usize = 60;
const TURNS: usize = 5;
/// Time for the work after a run's end.
const SETTLING: Duration = Duration::from_millis(500);

const SALES: &str = include_str!("../../../examples/sales.csv");

/// A group-by with a chart.
const CHART: &str = "import pandas as pd, matplotlib.pyplot as plt\n\
    table = pd.read_csv('sales.csv')\n\
    table.groupby('region').sales.sum().plot.bar()\nplt.savefig('sales.png', dpi=150)";

pub(crate) async fn measure_sandbox() -> Result<Vec<Figure>> {
    let mut figures = measure_blocks().await.context("blocks")?;
    figures.extend(measure_turns().await.context("turns")?);
    figures.push(measure_find_tables().await.context("the list of tables")?);
    Ok(figures)
}

fn figure(
    name: &'static str,
    most: f64,
    unit: &'static str,
    measured: f64,
    about: String,
) -> Figure {
    Figure { name, limit: FigureLimit::AtMost(most), unit, measured, about }
}

fn block(code: &str) -> Result<SandboxJob> {
    let work = SandboxWork::Python { code: code.to_owned(), earlier: Vec::new() };
    let sales = SandboxFile { name: FileName::new("sales.csv")?, content: SALES.into() };
    Ok(SandboxJob { work, files: vec![sales], state: Vec::new() })
}

/// Returns the session of the code and the pages.
pub(crate) fn bench_session() -> Result<SessionKey> {
    Ok(SessionKey {
        tenant: TenantId::new("local")?,
        owner: UserId::new("you")?,
        session: SessionId::new("bench")?,
    })
}

/// Runs a block of Python, and returns its time.
pub(crate) async fn run_block(sandbox: &LocalSandbox, code: &str) -> Result<Duration> {
    let context = JobContext::new(&bench_session()?);
    let began = Instant::now();
    let answer = sandbox.run_job(&context, block(code)?).await?;
    ensure!(answer.end == JobEnd::Done, "{:?}: {}", answer.end, answer.output.head);
    Ok(began.elapsed())
}

async fn measure_blocks() -> Result<Vec<Figure>> {
    // Next to the programs, in the folder for build requirements.
    let place = std::env::current_exe()?;
    let place = place.ancestors().nth(2).context("a program in a folder of target")?;
    let place = place.join("sandbox-python");
    let python = prepare_python(&place, &print_note)?;
    let fonts = prepare_fonts(&place, &print_note)?;
    let scratch = tempfile::tempdir()?;
    let walls = WallChoice::default();
    let settings = ZygoteSettings {
        python: python.clone(),
        packages: None,
        fonts,
        needs_file_wall: true,
        walls,
    };
    let sandbox = LocalSandbox::new(settings, scratch.path().to_owned());
    let mut figures = measure_zygotes(&sandbox).await?;
    let print = time_blocks(&sandbox, "print(1)").await?;
    let chart = time_blocks(&sandbox, CHART).await?;
    let products = time_blocks(&sandbox, PRODUCTS).await?;
    let began = Instant::now();
    try_join_all((0..AT_ONCE).map(|_| run_block(&sandbox, CHART))).await?;
    let at_once = began.elapsed();
    let about = |sample: &Sample| format!("p95 {:.0} ms of {TIMED}", sample.p95());
    let looks = measure_looks(&sandbox).await?;
    let documents = measure_documents(&sandbox).await?;
    let queries = measure_queries(&sandbox, &python).await.context("queries")?;
    figures.extend([
        figure("sandbox warm, `print(1)`, median", 40.0, "ms", print.median(), about(&print)),
        figure(
            "sandbox warm, a group-by and a chart, median",
            250.0,
            "ms",
            chart.median(),
            about(&chart),
        ),
        figure(
            "sandbox warm, a block with 20 products of 1 MB, beyond `print(1)`",
            30.0,
            "ms",
            products.median() - print.median(),
            "to write and to collect them".to_owned(),
        ),
        figure("8 charts at once, all", 1.5, "s", at_once.as_secs_f64(), "wall".to_owned()),
        looks,
    ]);
    figures.extend(documents);
    figures.extend(queries);
    Ok(figures)
}

/// Starts the zygotes of both sandboxes.
async fn measure_zygotes(sandbox: &LocalSandbox) -> Result<Vec<Figure>> {
    let start = async |kind| {
        let began = Instant::now();
        sandbox.start(kind).await?;
        anyhow::Ok(began.elapsed().as_secs_f64())
    };
    let code = start(SandboxKind::Code).await?;
    let code_memory = zygotes_memory_mb()?;
    let documents = start(SandboxKind::Documents).await?;
    let documents_memory = zygotes_memory_mb()? - code_memory;
    let about_code =
        "with numpy, pandas, matplotlib, seaborn and the readers of workbooks".to_owned();
    let resident = "resident, before the first block".to_owned();
    let relative = |measured: f64, unit: &str| format!("{measured:.2} {unit}, relative to code");
    Ok(vec![
        figure("zygote, start", 2.5, "s", code, about_code),
        figure("zygote, memory", 150.0, "MB", code_memory, resident),
        figure("zygote for documents, start", 0.7, "×", documents / code, relative(documents, "s")),
        figure(
            "zygote for documents, memory",
            0.8,
            "×",
            documents_memory / code_memory,
            relative(documents_memory, "MB"),
        ),
    ])
}

async fn time_blocks(sandbox: &LocalSandbox, code: &str) -> Result<Sample> {
    let mut sample = Sample::default();
    for nth in 0..WARM_UP + TIMED {
        let took = run_block(sandbox, code).await?;
        if nth >= WARM_UP {
            sample.add(took);
        }
    }
    Ok(sample)
}

/// Returns the resident memory of the zygotes of this process.
fn zygotes_memory_mb() -> Result<f64> {
    let own = std::process::id().to_string();
    let mut memory_kb = 0.0;
    for entry in fs::read_dir("/proc")?.flatten() {
        let read_file =
            |name: &str| fs::read_to_string(entry.path().join(name)).unwrap_or_default();
        let status = read_file("status");
        let command = read_file("cmdline");
        let value = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name))?;
            line.split_whitespace().next().map(str::to_owned)
        };
        if command.contains("zygote.py") && value("PPid:").as_deref() == Some(own.as_str()) {
            memory_kb += value("VmRSS:").context("no VmRSS")?.parse::<f64>()?;
        }
    }
    Ok(memory_kb / 1024.0)
}

/// A sandbox that returns at once without running any code.
pub(crate) struct InstantSandbox;

impl Sandbox for InstantSandbox {
    fn max_bytes(&self) -> u64 {
        1_000_000
    }

    fn run_job<'a>(
        &'a self,
        _: &'a JobContext,
        _: SandboxJob,
    ) -> BoxFuture<'a, Result<SandboxAnswer, SandboxError>> {
        Box::pin(async {
            Ok(SandboxAnswer {
                end: JobEnd::Done,
                seconds: 0.0,
                output: JobOutput::default(),
                value: json!({"kept": ["table"]}),
                products: Vec::new(),
                left_out: Vec::new(),
                state: b"variables".to_vec(),
            })
        })
    }
}

struct CodeBench {
    agent: AgentServer,
    client: BenchClient,
    backend: Backend,
}

impl CodeBench {
    /// Starts an agent whose runs have this number of blocks.
    async fn start(blocks: usize) -> Result<Self> {
        let script = Script::default();
        let respond = move |request: &RecordedRequest| {
            let call = request.header("djinn-call").unwrap_or_default();
            let message = call.split('/').nth(1).unwrap_or_default();
            let response = ScriptedResponse::default();
            let turn = message.strip_prefix("t1.c1.t").and_then(|turn| turn.parse::<usize>().ok());
            match (message, turn) {
                ("t1", _) => {
                    response.say("I ask.").call("code_interpreter", json!({"task": "Count."}))
                }
                (_, Some(turn)) if turn <= blocks => {
                    let code = format!("print({turn})");
                    response.say("I count.").call("python", json!({ "code": code }))
                }
                _ => response.reply("All is done."),
            }
            .at_once()
        };
        script.on_request(|_| true).respond_with(respond).always();
        let backend = Backend::start(script).await?;
        let code: Option<Arc<dyn Sandbox>> = Some(Arc::new(InstantSandbox));
        let changes = AgentOptions { code, ..AgentOptions::default() };
        let agent = AgentServer::start(&backend.address(), changes).await?;
        let client = BenchClient::new(agent.url())?;
        Ok(Self { agent, client, backend })
    }

    /// Returns the store requests of one run: table puts, table gets, object puts, object gets.
    async fn count_run(&self) -> Result<[f64; 4]> {
        self.client.run_question().await?;
        tokio::time::sleep(SETTLING).await;
        drop(self.agent.aws().request_counter().take_counts());
        self.client.run_question().await?;
        tokio::time::sleep(SETTLING).await;
        let counts = self.agent.aws().request_counter().take_counts();
        Ok(["PutItem", "GetItem", "PutObject", "GetObject"]
            .map(|kind| count_requests(&counts, &[kind])))
    }
}

async fn measure_turns() -> Result<Vec<Figure>> {
    let few = CodeBench::start(1).await?;
    let many = CodeBench::start(1 + TURNS).await?;
    let fewer = few.count_run().await?;
    let more = many.count_run().await?;
    let mut differences = fewer.iter().zip(more).map(|(fewer, more)| (more - fewer) / TURNS as f64);
    let mut next = || differences.next().unwrap_or_default();
    let puts = next();
    let gets = next();
    let objects_put = next();
    let objects_got = next();
    let mut samples = [Sample::default(), Sample::default()];
    for nth in 0..WARM_UP + RUNS {
        for (bench, sample) in [&few, &many].into_iter().zip(&mut samples) {
            let took = bench.client.run_question().await?;
            if nth >= WARM_UP {
                sample.add(took.whole);
            }
        }
    }
    few.backend.check_expected()?;
    many.backend.check_expected()?;
    let [few, many] = samples;
    let each = (many.median() - few.median()) / TURNS as f64;
    let objects = format!("{objects_put:.1} objects put and {objects_got:.1} got: the variables");
    Ok(vec![
        figure("journal puts of a `python` turn", 2.0, "", puts, objects),
        figure("reads of items of a `python` turn", 0.0, "", gets, String::new()),
        Figure {
            name: "a `python` turn, its block taken as done at once",
            limit: FigureLimit::Unbounded,
            unit: "ms",
            measured: each,
            about: "medians; with the model's stream, two records and the object of its variables"
                .to_owned(),
        },
    ])
}
