//! A process that dies between the model's reply and the rows, and a stop while a query runs.

use std::future::pending;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use djinn_runtime::port::sandbox::{
    JobContext, Sandbox, SandboxAnswer, SandboxError, SandboxJob, SandboxWork,
};
use djinn_scripted::ScriptedModel;
use futures::future::BoxFuture;
use reqwest::Method;
use tokio::sync::Notify;

use super::*;

/// The file that tells a process when to die, and the address of its model.
const CHILD_FILE: &str = "to-be-killed";
/// The line of a process that is to be killed.
const REACHED: &str = "reached";

/// The moments of the death: before the query runs, or before its rows are recorded.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Moment {
    Before,
    After,
    Never,
}

/// A sandbox whose first query is the last action of its process.
struct MortalSandbox {
    inner: Arc<LocalSandbox>,
    moment: Moment,
    queries: AtomicUsize,
    reached: Notify,
}

impl MortalSandbox {
    fn new(scratch: &TempDir, moment: Moment) -> Arc<Self> {
        let (queries, reached) = (AtomicUsize::new(0), Notify::new());
        Arc::new(Self { inner: open_sandbox(scratch), moment, queries, reached })
    }

    async fn reach(&self, moment: Moment) {
        if self.moment == moment {
            self.reached.notify_one();
            pending::<()>().await;
        }
    }
}

impl Sandbox for MortalSandbox {
    fn max_bytes(&self) -> u64 {
        self.inner.max_bytes()
    }

    fn call_timeout(&self) -> Duration {
        self.inner.call_timeout()
    }

    fn run_job<'a>(
        &'a self,
        context: &'a JobContext,
        job: SandboxJob,
    ) -> BoxFuture<'a, Result<SandboxAnswer, SandboxError>> {
        Box::pin(async move {
            if !matches!(job.work, SandboxWork::Query { .. }) {
                return self.inner.run_job(context, job).await;
            }
            self.queries.fetch_add(1, Ordering::SeqCst);
            if self.moment == Moment::Never {
                self.reached.notify_one();
            }
            self.reach(Moment::Before).await;
            let answer = self.inner.run_job(context, job).await;
            self.reach(Moment::After).await;
            answer
        })
    }
}

/// A process over this home.
fn options(home: &Path, base_url: String, sandbox: Arc<MortalSandbox>) -> SystemOptions {
    SystemOptions {
        dir: Some(home.to_owned()),
        continue_runs: false,
        var: Box::new(move |name| match name {
            "OPENAI_API_KEY" => Some("key".to_owned()),
            "OPENAI_BASE_URL" => Some(base_url.clone()),
            _ => None,
        }),
        settings: Some(quick()),
        djinn: Djinn::new().with_sandbox(sandbox),
        ..SystemOptions::default()
    }
}

async fn open_stream(client: &Client) -> crate::world::Stream {
    let body = json!({
        "question": "What is the total of each region?", "mode": "data_query", "session_id": "s1",
        "request_id": "r1",
    });
    client.ask_with(client.request(Method::POST, "/runs").json(&body)).await
}

/// Not a test of its own: `process_that_dies_between_reply_and_rows_leaves_the_request_to_the_next` runs it in a process
/// that it kills.
#[tokio::test]
#[ignore = "needs a Python: cargo verify --only data"]
async fn asks_until_it_is_killed() {
    let Ok(child) = std::fs::read_to_string(CHILD_FILE) else { return };
    let (moment, base_url) = child.split_once(' ').unwrap();
    let moment = if moment == "Before" { Moment::Before } else { Moment::After };
    let scratch = TempDir::new_in(".").unwrap();
    let mortal = MortalSandbox::new(&scratch, moment);
    let options = options(Path::new("home"), base_url.to_owned(), Arc::clone(&mortal));
    let system = System::start(options).await.unwrap();
    let client = Client::new(format!("http://{}", system.address()));
    client.upload("s1", "orders.csv", ORDERS).await;
    let _stream = open_stream(&client).await;
    mortal.reached.notified().await;
    println!("{REACHED}");
    pending::<()>().await;
}

/// Asks in a process of its own, and kills the process at the moment.
fn ask_and_kill(folder: &Path, moment: Moment, base_url: &str) {
    std::fs::write(folder.join(CHILD_FILE), format!("{moment:?} {base_url}")).unwrap();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "code::tables::kills::asks_until_it_is_killed"])
        .args(["--ignored", "--nocapture"])
        .current_dir(folder)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    assert!(lines.any(|line| line.contains(REACHED)), "the process ended");
    // On Unix this is SIGKILL.
    child.kill().unwrap();
    child.wait().unwrap();
}

#[tokio::test]
#[ignore = "needs a Python: cargo verify --only data"]
async fn process_that_dies_between_reply_and_rows_leaves_the_request_to_the_next() {
    for moment in [Moment::Before, Moment::After] {
        let folder = TempDir::new().unwrap();
        let model = ScriptedModel::start().await.unwrap();
        at(&model, "").say("The regions, with their sums.").call("run_sql", queries(TOTALS));
        let (path, base_url) = (folder.path().to_owned(), model.base_url());
        tokio::task::spawn_blocking(move || ask_and_kill(&path, moment, &base_url)).await.unwrap();

        let scratch = TempDir::new().unwrap();
        let sandbox = MortalSandbox::new(&scratch, Moment::Never);
        let second = options(&folder.path().join("home"), model.base_url(), Arc::clone(&sandbox));
        let system = System::start(second).await.unwrap();
        let client = Client::new(format!("http://{}", system.address()));
        let frames = open_stream(&client).await.rest().await;
        let ended = frames.last().unwrap().json();
        assert_eq!(ended["status"], "finished", "{moment:?}: {ended}");
        assert!(frames.iter().any(|frame| frame.event() == "run.resumed"), "{frames:?}");
        let shown = completed(&frames, "t1.c1.result");
        assert_eq!(shown.len(), 1, "{moment:?}");
        let rows = shown[0].json()["result"]["view"]["results"][0]["rows"].clone();
        assert_eq!(rows, json!([["华东", 3200.75], ["华北", 300]]), "{moment:?}");
        // Neither the reply nor the table is paid for again.
        assert_eq!(model.requests().len(), 1, "{moment:?}");
        assert_eq!(sandbox.queries.load(Ordering::SeqCst), 1, "{moment:?}");
    }
}

#[tokio::test]
#[ignore = "needs a Python: cargo verify --only data"]
async fn stop_while_a_query_runs_ends_the_run_and_the_next_query_has_rows() {
    const ENDLESS: &str =
        "SELECT count(*) FROM range(1000000) a, range(1000000) b WHERE a.range + b.range = 7";
    let scratch = TempDir::new().unwrap();
    let sandbox = MortalSandbox::new(&scratch, Moment::Never);
    let djinn = Djinn::new().with_sandbox(Arc::clone(&sandbox) as Arc<dyn Sandbox>);
    let world = World::start_with(|options, _| options.djinn = djinn).await;
    world.upload("s1", "orders.csv", ORDERS).await;
    at(&world.model, "").call("run_sql", queries(ENDLESS));
    let body = json!({"question": "How many?", "mode": "data_query", "session_id": "s1"});
    let stream = world.ask_with(world.request(Method::POST, "/runs").json(&body)).await;
    sandbox.reached.notified().await;
    assert_eq!(world.stop(&stream.run()).await.status, 202);
    let ended = stream.rest().await.last().unwrap().json();
    assert_eq!(ended["status"], "stopped", "{ended}");
    at(&world.model, "").call("run_sql", queries(TOTALS));
    let frames = ask(&world).await;
    let rows = completed(&frames, "t1.c1.result")[0].json()["result"]["view"]["results"][0]["rows"]
        .clone();
    assert_eq!(rows, json!([["华东", 3200.75], ["华北", 300]]));
}
