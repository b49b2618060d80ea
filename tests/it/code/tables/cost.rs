//! The cost of a data question, relative to a run with one tool call.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use djinn_core::tool::EffectClass;
use djinn_runtime::port::sandbox::{JobContext, Sandbox, SandboxAnswer, SandboxError, SandboxJob};
use djinn_runtime::port::tool::BoxFuture;
use djinn_runtime::settings::Settings;
use djinn_testkit::ledger::{Ledger, LedgerTool};
use djinn_testkit::point::Points;
use reqwest::Method;

use super::*;
use crate::cost::undisturbed;
use crate::world::{Answer, settled};

/// A sandbox that counts its jobs.
struct CountedSandbox {
    sandbox: Arc<LocalSandbox>,
    jobs: Arc<AtomicUsize>,
}

impl Sandbox for CountedSandbox {
    fn max_bytes(&self) -> u64 {
        self.sandbox.max_bytes()
    }

    fn run_job<'a>(
        &'a self,
        context: &'a JobContext,
        job: SandboxJob,
    ) -> BoxFuture<'a, Result<SandboxAnswer, SandboxError>> {
        self.jobs.fetch_add(1, Ordering::Relaxed);
        self.sandbox.run_job(context, job)
    }
}

/// The store requests of a run by this route, without updates: a driver may write down later that it left.
async fn count_requests(world: &World, path: &str, body: &Value) -> BTreeMap<String, u64> {
    let counter = world.system.aws().request_counter();
    let _ = counter.take_counts();
    let request = world.request(Method::POST, path).header("accept", "text/event-stream");
    let answer = Answer::of(request.json(body).send().await.unwrap()).await;
    assert_eq!(answer.status, 200, "{path}: {}", answer.text);
    let mut counts = counter.take_counts();
    settled(world.system.ports(), answer.header("djinn-run-id")).await;
    let later = counter.take_counts();
    *counts.entry("PutItem".to_owned()).or_default() += later.get("PutItem").unwrap_or(&0);
    counts.remove("UpdateItem");
    counts
}

#[tokio::test]
#[ignore = "needs a Python: cargo verify --only data"]
async fn data_question_costs_one_model_call_and_one_job_and_hardly_more_than_a_run_with_a_call() {
    let scratch = TempDir::new().unwrap();
    let folder = TempDir::new().unwrap();
    write_table(folder.path());
    let jobs = Arc::new(AtomicUsize::new(0));
    let sandbox = CountedSandbox { sandbox: open_sandbox(&scratch), jobs: Arc::clone(&jobs) };
    let tool = LedgerTool::new("work", EffectClass::Read, &Ledger::default(), &Points::new());
    let config = folder.path().display().to_string();
    let world = World::start_with(|options, _| {
        options.vars.push(("DJINN_CONFIG", config));
        options.settings = Settings { hand_over_after_record: false, ..undisturbed() };
        let djinn = Djinn::new().with_sandbox(Arc::new(sandbox));
        options.djinn = djinn.with_dyn_tool(Arc::new(tool));
    });
    let world = world.await;
    world.model.on("Work.").say("I work.").call("work", json!({})).then().reply("Done.");
    let body = Protocol::Native.body(&Question::of("Work.", "s1"));
    let call = count_requests(&world, "/runs", &body).await;
    let sql = "SELECT region, sum(amount) AS total FROM sales GROUP BY 1";
    let mut costs = Vec::new();
    // The first question also reads the table.
    for _ in 0..2 {
        let rule = world.model.on("Sales by region?");
        rule.say("Sums by region.").call("run_sql", queries(sql));
        let model_calls = world.model.requests().len();
        let before = jobs.load(Ordering::Relaxed);
        let content = json!({"content": "Sales by region?"});
        let counts = count_requests(&world, "/data/chatQuery", &content).await;
        let model_calls = world.model.requests().len() - model_calls;
        costs.push((counts, model_calls, jobs.load(Ordering::Relaxed) - before));
    }
    let (counts, model_calls, jobs) = costs.remove(1);
    assert_eq!((model_calls, jobs), (1, 1));
    let more = |kind: &str| counts.get(kind).unwrap_or(&0) - call.get(kind).unwrap_or(&0);
    // One record more, for the tables, and the items of two files: the table's data and the result.
    assert_eq!((more("PutItem"), more("TransactWriteItems")), (3, 0), "{counts:?} {call:?}");
    // The files of the session are listed.
    assert_eq!((more("Query"), more("GetItem")), (1, 0), "{counts:?} {call:?}");
}
