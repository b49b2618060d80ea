//! Whatever the executor is invoked with, it succeeds; and it does nothing, unless there is something
//! to be done.

use djinn_core::entry::Event;
use djinn_core::error_code::ErrorCode;
use djinn_core::id::ChildId;
use djinn_core::run::MAX_HOPS;
use djinn_core::settings::Machine;
use djinn_core::status::RunStatus;
use djinn_runtime::port::RunKey;
use djinn_runtime::port::clock::Clock as _;
use djinn_runtime::port::journal::Journals as _;
use djinn_runtime::port::mailbox::{Mail, Mailbox as _};
use djinn_testkit::story::StoryLine;
use serde_json::{Value, json};

use crate::world::{Function, Logged};

/// Two steps at once, and a summary.
pub(crate) fn planner() -> Function {
    let plan = json!({"command": "create", "title": "Prices", "steps": ["gold", "silver"],
        "depends_on": [[], []]});
    Function::new([
        ("t1", StoryLine::say("I plan.").with_call("planning", plan)),
        ("s1.1.t1", StoryLine::say("Gold is dear.")),
        ("s2.1.t1", StoryLine::say("Silver is cheap.")),
        ("t2", StoryLine::say("Done.").with_call("planning", json!({"command": "finish"}))),
        ("summary", StoryLine::say("Gold is the dearer one.")),
    ])
}

fn payload(key: &RunKey, hops: u32) -> Value {
    json!(djinn_aws::RunInvocation::new(key, hops))
}

/// A payload with one member more, or another.
fn with(mut payload: Value, member: &str, value: Value) -> Value {
    payload[member] = value;
    payload
}

async fn status(function: &Function, key: &RunKey) -> RunStatus {
    function.executor.ports.store.find_meta(key).await.unwrap().unwrap().status
}

/// Everything that an invocation could change.
async fn everything(function: &Function, keys: &[RunKey]) -> Vec<String> {
    let store = &function.executor.ports.store;
    let mut seen = vec![format!("{:?}", function.host.alarms())];
    for key in keys {
        let meta = store.find_meta(key).await.unwrap();
        let records = store.read_from(key, 0).await.unwrap();
        seen.push(format!("{meta:?} {records:?} {:?}", store.list_mail(key).await.unwrap()));
    }
    seen
}

const NOT_OURS: &str = "invoked with a payload that is none of ours";
const TOO_FAR: &str = "invoked with a format or a hop that is none of ours";
const NOTHING: &str = "there is nothing to drive";

#[tokio::test]
async fn what_leads_nowhere_is_logged_and_has_no_effect() {
    let function = planner();
    let run = function.accept(Machine::PlanSolve).await;
    function.invoke(payload(&run, 0)).await;
    let tasks = [ChildId::for_step(1, 1), ChildId::for_step(2, 1)].map(|task| run.with_child(task));
    assert_eq!(function.host.kicks(), tasks.clone().map(|task| payload(&task, 0)));
    let keys = [run.clone(), tasks[0].clone(), tasks[1].clone()];
    let before = everything(&function, &keys).await;
    function.writes();

    let ours = payload(&run, 0);
    let without = |member: &str| {
        let mut payload = ours.clone();
        payload.as_object_mut().unwrap().shift_remove(member);
        payload
    };
    let rows = [
        ("nothing", Value::Null, NOT_OURS),
        ("a text", json!("sk-scripted-0123456789"), NOT_OURS),
        ("a list", json!([ours]), NOT_OURS),
        ("an empty object", json!({}), NOT_OURS),
        ("no tenant", without("tenant"), NOT_OURS),
        ("no run", without("run"), NOT_OURS),
        ("no format", without("v"), NOT_OURS),
        ("no hops", without("hops"), NOT_OURS),
        ("hops below 0", with(ours.clone(), "hops", json!(-1)), NOT_OURS),
        ("a run that cannot be one", with(ours.clone(), "run", json!("s1#x")), NOT_OURS),
        ("a tenant that cannot be one", with(ours.clone(), "tenant", json!("")), NOT_OURS),
        ("a path that cannot be one", with(ours.clone(), "path", json!("#")), NOT_OURS),
        ("a newer format", with(ours.clone(), "v", json!(2)), TOO_FAR),
        ("a hop too many", payload(&run, MAX_HOPS + 1), TOO_FAR),
        ("as many hops as can be written", payload(&run, u32::MAX), TOO_FAR),
        ("an unknown run", with(ours.clone(), "run", json!(format!("run_{:032x}", 1))), NOTHING),
        ("an unknown tenant", with(ours.clone(), "tenant", json!("999999999999")), NOTHING),
        ("an unknown task", payload(&run.with_child(ChildId::for_step(9, 1)), 0), NOTHING),
    ];
    for (what, payload, said) in rows {
        let log = Logged::start();
        function.invoke(payload).await;
        let lines = log.lines();
        assert!(lines.iter().any(|line| line["message"] == said), "{what}: {lines:?}");
        assert!(!format!("{lines:?}").contains("sk-scripted"), "{what}: {lines:?}");
        assert_eq!((function.writes(), function.host.kicks()), (0, Vec::new()), "{what}");
    }
    assert_eq!(everything(&function, &keys).await, before);
}

#[tokio::test]
async fn an_ended_task_puts_its_outcome_again_and_an_ended_run_does_nothing() {
    let function = planner();
    let run = function.accept(Machine::PlanSolve).await;
    let task = run.with_child(ChildId::for_step(1, 1));
    let other = run.with_child(ChildId::for_step(2, 1));
    function.invoke(payload(&run, 0)).await;
    function.invoke(payload(&task, 0)).await;
    assert_eq!(status(&function, &task).await, RunStatus::Finished);
    function.host.kicks();

    // Its message is lost; the run looks after it.
    let store = &function.executor.ports.store;
    let sent = store.list_mail(&run).await.unwrap();
    assert!(matches!(sent.as_slice(), [Mail::ChildEnded { ended }] if ended.report.done));
    store.delete_mail(&run, &[sent[0].id()]).await.unwrap();
    let records = store.read_from(&task, 0).await.unwrap();
    let log = Logged::start();
    for _ in 0..2 {
        function.invoke(payload(&task, 0)).await;
        assert_eq!(store.list_mail(&run).await.unwrap(), sent);
        assert_eq!(function.host.kicks(), [payload(&run, 0)], "its run must hear of it");
        assert!(log.lines().iter().any(|line| line["message"] == NOTHING));
    }
    assert_eq!(store.read_from(&task, 0).await.unwrap(), records);

    function.invoke(payload(&other, 0)).await;
    function.invoke(payload(&run, 0)).await;
    assert_eq!(status(&function, &run).await, RunStatus::Finished);
    assert_eq!(function.host.alarms(), [Value::Null; 0]);
    function.host.kicks();
    let before = everything(&function, std::slice::from_ref(&run)).await;
    function.writes();
    log.lines();
    for hops in [0, 3, MAX_HOPS] {
        function.invoke(payload(&run, hops)).await;
        assert!(log.lines().iter().any(|line| line["message"] == NOTHING));
    }
    assert_eq!((function.writes(), function.host.kicks()), (0, Vec::new()));
    assert_eq!(everything(&function, &[run]).await, before);
    function.invoke(payload(&task, 0)).await;
    assert_eq!(function.host.kicks(), [Value::Null; 0], "its run has ended");
}

#[tokio::test]
async fn the_last_hop_ends_a_run_that_would_have_to_go_on() {
    for hops in [MAX_HOPS - 1, MAX_HOPS] {
        let function = Function::new([("t1", StoryLine::say("Never asked."))]);
        let run = function.accept(Machine::React).await;
        let executor = &function.executor;
        // There is no time left for anything but handing over.
        let deadline_ms = executor.ports.clock.now_ms() + 10_000;
        executor.handle(payload(&run, hops), Some(deadline_ms)).await.unwrap();
        let kicks = function.host.kicks();
        if hops < MAX_HOPS {
            assert_eq!(kicks, [payload(&run, MAX_HOPS)]);
            continue;
        }
        assert_eq!(kicks, [Value::Null; 0]);
        assert_eq!(status(&function, &run).await, RunStatus::Failed);
        let records = executor.ports.store.read_from(&run, 0).await.unwrap();
        let entries = records.iter().flat_map(|record| &record.entries);
        let failure = entries.filter_map(|entry| match &entry.event {
            Event::RunEnded(end) => end.failure.clone(),
            _ => None,
        });
        let codes: Vec<_> = failure.map(|failure| failure.code).collect();
        assert_eq!(codes, [ErrorCode::HopLimit]);
    }
}
