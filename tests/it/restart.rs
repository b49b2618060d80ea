//! A process that dies in the middle of a run, and the next one.

use std::fs;
use std::path::Path;
use std::time::Duration;

use djinn_local::{System, SystemOptions};
use djinn_runtime::settings::Settings;
use djinn_scripted::ScriptedModel;
use serde_json::json;

use crate::world::{
    Client, Protocol, Question, REGIONS, SETTLED_WITHIN, planner, step, summary, task,
};

/// Both processes keep their data there.
pub(crate) fn options(
    dir: &std::path::Path,
    model: &ScriptedModel,
    continue_runs: bool,
) -> SystemOptions {
    let base_url = model.base_url();
    SystemOptions {
        dir: Some(dir.to_owned()),
        continue_runs,
        var: Box::new(move |name| match name {
            "OPENAI_API_KEY" => Some("key".to_owned()),
            "OPENAI_BASE_URL" => Some(base_url.clone()),
            _ => None,
        }),
        settings: Some(crate::world::quick()),
        ..SystemOptions::default()
    }
}

/// Asks in a process of its own, which dies while the model writes its second reply.
async fn killed(dir: &std::path::Path, model: &ScriptedModel, question: &Question) {
    let upload = json!({"command": "upload", "filename": "a.md", "content": "A"});
    let rule = model.on("What survives?").say("I write it down.").call("file_tool", upload);
    let rule = rule.then().reply("Half of the answer").hang_after(2);
    rule.then().reply("Everything survives.");
    let mut process = tokio::runtime::Builder::new_multi_thread();
    let process = process.worker_threads(1).enable_all().build().unwrap();
    let options = options(dir, model, false);
    let system = process.spawn(async { System::start(options).await.unwrap() }).await.unwrap();
    let client = Client::new(format!("http://{}", system.address()));
    let mut stream = client.ask(Protocol::Native, question).await;
    stream.until(|frame| frame.json()["message"] == "t2").await;
    process.shutdown_background();
    drop(system);
    assert!(!stream.rest().await.iter().any(|frame| frame.is_final()));
}

#[tokio::test]
async fn the_same_request_in_the_next_process_goes_on_where_the_last_one_died() {
    let dir = tempfile::tempdir().unwrap();
    let model = ScriptedModel::start().await.unwrap();
    let question = Question::of("What survives?", "s1");
    killed(dir.path(), &model, &question).await;
    let system = System::start(options(dir.path(), &model, false)).await.unwrap();
    let client = Client::new(format!("http://{}", system.address()));
    let told = client.told(&question).await;
    let entries = told.iter().filter(|frame| !matches!(frame.event(), "" | "preview"));
    let ids: Vec<_> = entries.map(|frame| frame.json()["id"].clone()).collect();
    let expected = ["start", "t1", "t1.c1", "t1.c1.result", "resumed.2", "t2", "end"];
    assert_eq!(ids, expected);
    assert_eq!(told.last().unwrap().json()["answer"], "Everything survives.");
    assert_eq!(told.last().unwrap().json()["files"][0]["name"], "a.md");
    model.assert_done();
}

#[tokio::test]
async fn whoever_comes_back_to_a_run_that_nobody_drives_drives_it_and_frees_its_session() {
    let dir = tempfile::tempdir().unwrap();
    let model = ScriptedModel::start().await.unwrap();
    let question = Question::of("What survives?", "s1");
    killed(dir.path(), &model, &question).await;
    let system = System::start(options(dir.path(), &model, false)).await.unwrap();
    let client = Client::new(format!("http://{}", system.address()));
    let next = Question::new("And now?").session("s1").request("r2");
    let busy = client.ask(Protocol::Native, &next).await;
    assert_eq!(busy.status, 409);
    let run = busy.run();
    let shown = client.get(&format!("/runs/{run}")).await.json();
    assert_eq!((&shown["status"], &shown["answer"]), (&json!("running"), &json!(null)));

    let missed = client.come_back(&run, Some(&format!("{run}:2"))).await.rest().await;
    let entries = missed.iter().filter(|frame| !matches!(frame.event(), "" | "preview"));
    let ids: Vec<_> = entries.map(|frame| frame.json()["id"].clone()).collect();
    assert_eq!(ids, ["resumed.2", "t2", "end"]);
    model.on("And now?").reply("All is free.");
    assert_eq!(client.ending(&next).await["answer"], "All is free.");
    model.assert_done();
}

#[tokio::test]
async fn the_next_process_finishes_what_nobody_asks_for_again() {
    let dir = tempfile::tempdir().unwrap();
    let model = ScriptedModel::start().await.unwrap();
    let question = Question::of("What survives?", "s1");
    killed(dir.path(), &model, &question).await;
    let system = System::start(options(dir.path(), &model, true)).await.unwrap();
    // The answer, once more: nobody but the new process has asked for it.
    model.wait_for_request(3).await.wait_until_ended().await;
    let client = Client::new(format!("http://{}", system.address()));
    assert_eq!(client.ending(&question).await["answer"], "Everything survives.");
    model.assert_done();
}

#[tokio::test]
async fn what_an_earlier_layout_left_is_refused_with_what_to_do() {
    let dir = tempfile::tempdir().unwrap();
    let model = ScriptedModel::start().await.unwrap();
    let started = async || System::start(options(dir.path(), &model, false)).await;
    drop(started().await.unwrap());
    drop(started().await.unwrap());
    for mark in [None, Some("1"), Some("4"), Some("6"), Some("")] {
        let file = dir.path().join("layout");
        match mark {
            None => std::fs::remove_file(&file).unwrap(),
            Some(mark) => std::fs::write(&file, mark).unwrap(),
        }
        let said = started().await.err().map(|error| error.to_string()).unwrap();
        assert!(said.contains("was written by another version of Djinn"), "{mark:?}: {said}");
        assert!(said.contains("move it away, or set DJINN_HOME"), "{said}");
    }
}

/// A planner that has two steps worked on at once; whoever works on them first dies.
fn script_two_tasks(model: &ScriptedModel) {
    let steps = [step(REGIONS[0]), step(REGIONS[1])];
    for words in &steps {
        task(model, words).reply("Half of it").hang_after(2).then().reply("It is done.");
    }
    let create = json!({"command": "create", "title": "Two", "steps": steps,
        "depends_on": [[], []]});
    let rule = planner(model).say("I plan.").call("planning", create);
    rule.then().say("Done.").call("planning", json!({"command": "finish"}));
    summary(model).reply("Both are done.");
}

#[tokio::test]
async fn the_next_process_waits_for_no_lease_of_a_task_of_the_last_one() {
    let dir = tempfile::tempdir().unwrap();
    let model = ScriptedModel::start().await.unwrap();
    script_two_tasks(&model);
    let long = Duration::from_secs(3_600);
    let settings = Settings { lease: long, dispatch_every: long, ..crate::world::quick() };
    let options =
        || SystemOptions { settings: Some(settings.clone()), ..options(dir.path(), &model, false) };
    let question = Question::of("What survives?", "s1").deep();
    let mut process = tokio::runtime::Builder::new_multi_thread();
    let process = process.worker_threads(1).enable_all().build().unwrap();
    let first = options();
    let system = process.spawn(async { System::start(first).await.unwrap() }).await.unwrap();
    let client = Client::new(format!("http://{}", system.address()));
    let stream = client.ask(Protocol::Native, &question).await;
    // The planner, and both tasks.
    model.wait_for_request(3).await;
    process.shutdown_background();
    drop((system, stream));

    let system = System::start(options()).await.unwrap();
    let client = Client::new(format!("http://{}", system.address()));
    let ending = tokio::time::timeout(SETTLED_WITHIN, client.ending(&question)).await;
    assert_eq!(ending.expect("it waits for a lease")["answer"], "Both are done.");
    model.assert_done();
}

#[tokio::test]
async fn a_process_that_is_asked_to_end_has_not_crashed_however_often() {
    const STOPS: usize = 4;
    let dir = tempfile::tempdir().unwrap();
    let model = ScriptedModel::start().await.unwrap();
    let mut rule = model.on("What survives?");
    for _ in 0..STOPS {
        rule = rule.reply("Half of the answer").hang_after(2).then();
    }
    rule.reply("Everything survives.");
    let question = Question::of("What survives?", "s1");
    for stop in 1..=STOPS {
        let system = System::start(options(dir.path(), &model, true)).await.unwrap();
        let client = Client::new(format!("http://{}", system.address()));
        let stream = client.ask(Protocol::Native, &question).await;
        model.wait_for_request(stop).await;
        system.stop().await;
        assert!(!stream.rest().await.iter().any(|frame| frame.is_final()));
    }
    let system = System::start(options(dir.path(), &model, true)).await.unwrap();
    let client = Client::new(format!("http://{}", system.address()));
    let told = client.told(&question).await;
    assert_eq!(told.last().unwrap().json()["answer"], "Everything survives.");
    // Nobody died: no driver had to record that another one goes on.
    assert!(!told.iter().any(|frame| frame.event() == "run.resumed"), "{told:#?}");
    model.assert_done();
}

/// Removes every object of a run from the local bucket.
fn lose_objects(dir: &Path, run: &str) -> usize {
    let mut lost = 0;
    for entry in fs::read_dir(dir).unwrap().map(Result::unwrap) {
        let path = entry.path();
        if path.is_dir() && path.ends_with(run) {
            lost += fs::read_dir(&path).unwrap().count();
            fs::remove_dir_all(&path).unwrap();
        } else if path.is_dir() {
            lost += lose_objects(&path, run);
        }
    }
    lost
}

#[tokio::test]
async fn a_run_whose_journal_cannot_be_read_has_failed_and_the_others_go_on() {
    let dir = tempfile::tempdir().unwrap();
    let model = ScriptedModel::start().await.unwrap();
    let content = "All of it. ".repeat(20_000);
    let upload = json!({"command": "upload", "filename": "a.md", "content": content});
    let rule = model.on("What is lost?").say("I write it down.").call("file_tool", upload);
    rule.then().reply("Half of the answer").hang_after(2);
    let rule = model.on("What survives?").reply("Half of the answer").hang_after(2);
    rule.then().reply("Everything survives.");
    let lost = Question::of("What is lost?", "s1");
    let kept = Question::of("What survives?", "s2").request("r2");
    let mut process = tokio::runtime::Builder::new_multi_thread();
    let process = process.worker_threads(1).enable_all().build().unwrap();
    let first = options(dir.path(), &model, false);
    let system = process.spawn(async { System::start(first).await.unwrap() }).await.unwrap();
    let client = Client::new(format!("http://{}", system.address()));
    let mut stream = client.ask(Protocol::Native, &lost).await;
    stream.until(|frame| frame.json()["message"] == "t2").await;
    let mut other = client.ask(Protocol::Native, &kept).await;
    other.until(|frame| frame.event() == "preview").await;
    let run = stream.run();
    process.shutdown_background();
    drop(system);
    assert!(lose_objects(dir.path(), &run) > 0);

    let system = System::start(options(dir.path(), &model, true)).await.unwrap();
    let client = Client::new(format!("http://{}", system.address()));
    assert_eq!(client.ending(&kept).await["answer"], "Everything survives.");
    let refused = client.come_back(&run, None).await;
    assert_eq!(refused.status, 500);
    assert_eq!(refused.body().await["code"], "stored_data_unreadable");
    let runs = client.get("/runs").await.json();
    let listed = runs["runs"].as_array().unwrap().iter().find(|listed| listed["run"] == *run);
    assert_eq!(listed.unwrap()["status"], "failed");
    // Its session is free.
    model.on("And now?").reply("All is free.");
    let next = Question::new("And now?").session("s1").request("r3");
    assert_eq!(client.ending(&next).await["answer"], "All is free.");
    model.assert_done();
}
