//! `infra/events`: what AWS sends to the functions, through their real handlers.

use std::fs;
use std::sync::Arc;

use axum::body::to_bytes;
use djinn_core::settings::Machine;
use djinn_runtime::port::clock::Clock as _;
use djinn_runtime::port::journal::Journals as _;
use djinn_scripted::ScriptedModel;
use djinn_wiring::Variables;
use serde_json::{Value, json};

use crate::executor::planner;
use crate::layout::root;
use crate::template::transformed;
use crate::world::{Door, not_local};

/// What is in a file of `infra/events`.
fn event(name: &str) -> Value {
    let text = fs::read_to_string(root().join("infra/events").join(name)).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// The status, the run and the text that answer an event, at a deployment.
async fn answered(door: &Door, name: &str) -> (u16, Option<String>, String) {
    let (parts, body) = door.answer(event(name)).await.into_parts();
    let bytes = to_bytes(body, usize::MAX).await.unwrap();
    let run = parts.headers.get("djinn-run-id").map(|run| run.to_str().unwrap().to_owned());
    (parts.status.as_u16(), run, String::from_utf8(bytes.to_vec()).unwrap())
}

#[tokio::test]
async fn requests_are_answered_as_those_of_their_caller() {
    let model = ScriptedModel::start().await.unwrap();
    let door = Door::open(&model, |_| {}, not_local);
    let (status, _, said) = answered(&door, "health-v2.json").await;
    assert_eq!((status, said.as_str()), (200, "ok"));

    let (status, _, said) = answered(&door, "upload-v1.json").await;
    let place: Value = serde_json::from_str(&said).unwrap();
    let sales = fs::metadata(root().join("examples/sales.csv")).unwrap().len();
    let held = (status, &place["fileSize"]);
    assert_eq!(held, (200, &json!(sales)), "upload-v1.json holds examples/sales.csv: renew it");
    let domain = "https://abcdefghij.execute-api.eu-west-1.amazonaws.com/live/";
    assert!(place["domainUrl"].as_str().unwrap().starts_with(domain), "{place}");

    let question = "Which region grew fastest? Write the answer to growth.md";
    model.on(question).reply("North did.").then().reply("North, still.");
    let (status, run, said) = answered(&door, "question-v2.json").await;
    assert_eq!((status, run.as_deref()), (200, event("run.json")["run"].as_str()));
    assert!(said.contains("event: run.ended") && said.contains("North did."), "{said}");
    // The file that came with the other kind of event is of the same session of the same user.
    let told = model.last_request().unwrap().system().to_owned();
    assert!(told.contains("sales.csv"), "{told}");
    let (status, another, said) = answered(&door, "question-v1.json").await;
    assert!(status == 200 && another.is_some() && another != run);
    assert!(said.contains("\"finish\":true") && said.contains("North, still."), "{said}");
    model.assert_done();
}

#[tokio::test]
async fn payloads_are_those_of_a_run_that_is_planned_handed_over_and_woken() {
    let function = planner();
    let run = function.accept(Machine::PlanSolve).await;
    let executor = &function.executor;
    let too_late = Some(executor.ports.clock.now_ms() + 1_000);
    executor.handle(json!(djinn_aws::RunInvocation::new(&run, 0)), too_late).await.unwrap();
    assert_eq!(function.host.kicks(), [event("run.json")]);

    function.invoke(event("run.json")).await;
    assert_eq!(function.host.alarms(), [event("alarm.json")]);
    let tasks = function.host.kicks();
    assert_eq!(tasks.first(), Some(&event("child.json")));

    function.invoke(event("child.json")).await;
    function.invoke(tasks[1].clone()).await;
    function.invoke(event("alarm.json")).await;
    let meta = executor.ports.store.find_meta(&run).await.unwrap().unwrap();
    assert!(meta.status.has_ended(), "{meta:?}");
}

#[test]
fn the_variables_are_the_templates_and_enough_to_start_with() {
    let env = event("env.json")["Parameters"].clone();
    let given = env.as_object().unwrap();
    let template = transformed();
    for function in ["Agent", "Executor"] {
        let variables = &template["Resources"][function]["Properties"]["Environment"]["Variables"];
        // `sam local` leaves out what the template does not name.
        let unknown: Vec<_> = given.keys().filter(|name| variables[name].is_null()).collect();
        assert!(unknown.is_empty(), "{function} has no {unknown:?}");
    }
    // It gives what it cannot make out as an empty text.
    let given = given.clone();
    let variables: Variables = Arc::new(move |name| {
        Some(given.get(name).map_or("", |value| value.as_str().unwrap()).into())
    });
    djinn_wiring::build_lambda_world(&djinn_wiring::Djinn::new(), &variables).map(drop).unwrap();
    agent::Settings::from_vars(&*variables).map(drop).unwrap();
}

#[test]
fn no_event_is_left_untried() {
    let tried = include_str!("event.rs");
    for file in fs::read_dir(root().join("infra/events")).unwrap() {
        let name = file.unwrap().file_name().into_string().unwrap();
        assert!(tried.contains(&format!("\"{name}\"")), "{name}");
    }
}
