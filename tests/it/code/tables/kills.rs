//! A process that dies between the model's reply and the rows, and a stop while a query runs.

use std::future::pending;
use std::path::Path;
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
fn options(home: &Path, model: &ScriptedModel, sandbox: Arc<MortalSandbox>) -> SystemOptions {
    let base_url = model.base_url();
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

#[tokio::test]
#[ignore = "needs a Python: cargo verify --only data"]
async fn process_that_dies_between_reply_and_rows_leaves_the_request_to_the_next() {
    for moment in [Moment::Before, Moment::After] {
        let (home, scratch) = (TempDir::new().unwrap(), TempDir::new().unwrap());
        let model = ScriptedModel::start().await.unwrap();
        at(&model, "").say("The regions, with their sums.").call("run_sql", queries(TOTALS));
        let mut process = tokio::runtime::Builder::new_multi_thread();
        let process = process.worker_threads(1).enable_all().build().unwrap();
        let mortal = MortalSandbox::new(&scratch, moment);
        let first = options(home.path(), &model, Arc::clone(&mortal));
        let system = process.spawn(async { System::start(first).await.unwrap() }).await.unwrap();
        let client = Client::new(format!("http://{}", system.address()));
        client.upload("s1", "orders.csv", ORDERS).await;
        let stream = open_stream(&client).await;
        mortal.reached.notified().await;
        process.shutdown_background();
        drop((system, stream));

        let scratch = TempDir::new().unwrap();
        let sandbox = MortalSandbox::new(&scratch, Moment::Never);
        let second = options(home.path(), &model, Arc::clone(&sandbox));
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
