//! The gateway as a separate function: size, start time, and memory for reading many pages.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use axum::Router;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use djinn_runtime::port::outside::wire::{FORMAT, OutsideEnvelope, OutsideJob};
use djinn_runtime::port::outside::{PageTarget, ReadJob};
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::process::Command;
use tokio::sync::{Mutex, mpsc};

use crate::child_process::read_memory_mb;
use crate::figure::{Figure, FigureLimit};
use crate::size::measure_gateway_size;
use crate::start::measure_gateway_starts;
use crate::web_site::{WebSite, write_text_page};

/// Pages fetched in parallel, the size of each, and the delay of each server, which makes the fetches
/// overlap.
const PAGES: usize = 16;
const BYTES: usize = 500_000;
const DELAY: Duration = Duration::from_millis(200);
/// Number of repetitions: leaked memory would add up.
const JOBS: usize = 5;
/// Maximum wait for the function's answer.
const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) async fn measure_gateway(gateway: &Path) -> Result<Vec<Figure>> {
    Ok(vec![
        measure_gateway_size(gateway)?,
        measure_gateway_starts(gateway)?,
        measure_memory(gateway).await.context("memory")?,
    ])
}

/// A replacement for the Runtime API, which sends jobs and receives answers.
#[derive(Clone)]
struct RuntimeApi {
    jobs: Arc<Mutex<mpsc::Receiver<Value>>>,
    answer_sender: mpsc::Sender<Value>,
}

async fn hand_out_job(State(api): State<RuntimeApi>) -> Response {
    let job = api.jobs.lock().await.recv().await;
    let headers = [
        ("lambda-runtime-aws-request-id", "request-1"),
        ("lambda-runtime-deadline-ms", "4000000000000"),
        ("lambda-runtime-invoked-function-arn", "arn:aws:lambda:eu-west-1:1:function:djinn-fetch"),
    ];
    (headers, job.unwrap_or_default().to_string()).into_response()
}

async fn take_answer(State(api): State<RuntimeApi>, answer: String) -> Response {
    // The receiver may have stopped waiting.
    let _ = api.answer_sender.send(serde_json::from_str(&answer).unwrap_or_default()).await;
    axum::http::StatusCode::ACCEPTED.into_response()
}

async fn measure_memory(gateway: &Path) -> Result<Figure> {
    let site = WebSite::start(DELAY, write_text_page(BYTES)).await?;
    let (hand_out, jobs) = mpsc::channel(1);
    let (answer_sender, mut answer_receiver) = mpsc::channel(1);
    let app = Router::new()
        .route("/2018-06-01/runtime/invocation/next", get(hand_out_job))
        .route("/2018-06-01/runtime/invocation/{id}/response", post(take_answer))
        .route("/2018-06-01/runtime/invocation/{id}/error", post(take_answer))
        .layer(axum::extract::DefaultBodyLimit::disable())
        .with_state(RuntimeApi { jobs: Arc::new(Mutex::new(jobs)), answer_sender });
    let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
    let variables: BTreeMap<_, _> = [
        ("AWS_LAMBDA_RUNTIME_API", listener.local_addr()?.to_string()),
        ("AWS_LAMBDA_FUNCTION_NAME", "djinn-fetch".to_owned()),
        ("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "512".to_owned()),
        ("AWS_LAMBDA_FUNCTION_VERSION", "$LATEST".to_owned()),
        ("AWS_REGION", "eu-west-1".to_owned()),
        ("DJINN_GATEWAY_ROLE", "fetch".to_owned()),
        ("DJINN_LOCAL", "1".to_owned()),
        ("DJINN_EGRESS_ORIGINS", site.origins()),
    ]
    .into();
    let server = tokio::spawn(async move {
        let _ = axum::serve(listener, app).await;
    });
    let mut command = Command::new(gateway);
    command.env_clear().envs(variables).stdin(Stdio::null()).stdout(Stdio::null());
    let child = command.kill_on_drop(true).spawn();
    let function = child.with_context(|| format!("{} cannot be started", gateway.display()))?;
    let process = function.id().context("the function has gone")?;
    for _ in 0..JOBS {
        let pages = site.page_urls(PAGES).into_iter().map(PageTarget::new).collect();
        let job = OutsideJob::Read(ReadJob { pages });
        let envelope = OutsideEnvelope { v: FORMAT, job, put_answer: None };
        hand_out.send(serde_json::to_value(envelope)?).await?;
        let answer =
            tokio::time::timeout(PATIENCE, answer_receiver.recv()).await?.context("no answer")?;
        let pages = answer.pointer("/answer/content/value").and_then(Value::as_array);
        let is_page = |page: &&Value| page.pointer("/outcome/page").is_some();
        let page_count = pages.map_or(0, |pages| pages.iter().filter(is_page).count());
        ensure!(page_count == PAGES, "{page_count} of {PAGES} pages were read: {answer:.300}");
    }
    let (now, most) = read_memory_mb(process)?;
    server.abort();
    Ok(Figure {
        name: "gateway, memory with 16 fetches",
        limit: FigureLimit::AtMost(80.0),
        unit: "MB",
        measured: most,
        about: format!(
            "at most, of {JOBS} times {PAGES} pages of 500 KB of text at once; {now:.0} MB afterwards; its \
             release binary in a process of its own"
        ),
    })
}
