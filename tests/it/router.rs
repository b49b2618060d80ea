//! The mode `router`: it answers at once, or hands over to the mode that suits the question.

use djinn_local::{System, SystemOptions};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::agents::{add_agent, at};
use crate::human_requests::ending;
use crate::world::{Client, Frame, Protocol, Question, World, planner, quick, summary, task};

const QUESTION: &str = "Compare the regions.";

async fn ask(world: &World, body: &Value) -> Vec<Frame> {
    let request = world.request(reqwest::Method::POST, "/runs").json(body);
    world.ask_with(request).await.rest().await
}

#[tokio::test]
async fn direct_answer_of_the_router_costs_one_model_call() {
    let world = World::start().await;
    world.model.on("Hello!").reply("Hello! What do you want to know?");
    let frames = ask(&world, &json!({"question": "Hello!", "mode": "router"})).await;
    let ended = frames.last().unwrap().json();
    assert_eq!(ended["answer"], "Hello! What do you want to know?");
    assert_eq!((&ended["status"], &ended["spent"]["model_calls"]), (&json!("finished"), &json!(1)));
    let requests = world.model.requests();
    let [request] = requests.as_slice() else { panic!("{} calls", requests.len()) };
    assert!(request.system().starts_with("You are the front desk"), "{}", request.system());
    let tools: Vec<&str> = request.tools().iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(tools, ["comprehensive", "data_query", "plan_solve", "react"]);
}

#[tokio::test]
async fn router_hands_over_to_a_plan_which_joyagent_shows_as_the_runs() {
    for protocol in [Protocol::Native, Protocol::Raw] {
        let world = World::start().await;
        world.model.on(QUESTION).say("This takes a plan.").call("plan_solve", json!({}));
        planner(&world.model).call(
            "planning",
            json!({"command": "create", "title": "Regions", "steps": ["Look up East"]}),
        );
        task(&world.model, "Look up East").reply("East grew.");
        planner(&world.model).call("planning", json!({"command": "finish"}));
        summary(&world.model).reply("East grew most.");
        let frames = match protocol {
            Protocol::Native => ask(&world, &json!({"question": QUESTION, "mode": "router"})).await,
            Protocol::Raw | Protocol::Ui => {
                let body = json!({"query": QUESTION, "sessionId": "s1", "requestId": "r1", "agentType": 4, "isStream": true});
                let request = world.request(reqwest::Method::POST, "/AutoAgent").json(&body);
                world.ask_with(request).await.rest().await
            }
        };
        let seen: String = frames.iter().map(|frame| frame.json().to_string()).collect();
        assert!(!seen.contains("This takes a plan"), "{seen}");
        let last = frames.last().unwrap();
        match protocol {
            Protocol::Native => {
                let plans = frames.iter().filter(|frame| frame.event() == "plan.changed");
                assert!(
                    plans.clone().all(|plan| plan.json()["path"].is_null()) && plans.count() > 0
                );
                assert_eq!(last.json()["answer"], "East grew most.");
            }
            Protocol::Raw | Protocol::Ui => {
                let types: Vec<Value> =
                    frames.iter().map(|frame| frame.raw()["messageType"].clone()).collect();
                assert!(
                    types.contains(&json!("plan")) && types.contains(&json!("task")),
                    "{types:?}"
                );
                assert_eq!(last.raw()["resultMap"]["taskSummary"], "East grew most.");
                assert_eq!(last.raw()["resultMap"]["agentType"], 4);
            }
        }
    }
}

#[tokio::test]
async fn router_offers_the_modes_of_the_deployment_and_may_ask_first() {
    let folder = TempDir::new().unwrap();
    add_agent(&folder, "analyst", "entry: true\nagent_type: 7\n", "You analyse.");
    let path = folder.path().to_str().unwrap().to_owned();
    let world = World::start_with(|options, _| {
        options.vars.push(("DJINN_CONFIG", path));
        options.vars.push(("DJINN_DEFAULT_MODE", "router".to_owned()));
        let clarify = r#"{"clarify": true, "timeout": 0}"#;
        options.vars.push(("DJINN_PEOPLE__REQUESTS", clarify.to_owned()));
    })
    .await;
    let modes = world.get("/modes").await.json();
    assert_eq!(
        (&modes["modes"][0]["name"], &modes["modes"][0]["is_default"]),
        (&json!("router"), &json!(true))
    );
    at(&world.model, "")
        .call("ask_user", json!({"questions": ["Which year?"]}))
        .then()
        .call("analyst", json!({}))
        .then()
        .reply("East grew.");
    let stream = world.ask(Protocol::Native, &Question::of(QUESTION, "s1")).await;
    let run = stream.run();
    stream.rest().await;
    assert_eq!(world.respond(&run, "t1.c1", &json!({"response": "1986"})).await.status, 200);
    assert_eq!(ending(&world, &run).await["answer"], "East grew.");
    let requests = world.model.requests();
    let tools: Vec<&str> = requests[0].tools().iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(
        tools,
        ["analyst", "comprehensive", "data_query", "plan_solve", "react", "ask_user"]
    );
    assert!(
        requests[2].text().contains("1986") && requests[2].system().starts_with("You analyse.")
    );
}

#[tokio::test]
async fn unknown_modes_in_settings_leave_the_defaults_and_are_reported() {
    let world = World::start_with(|options, _| {
        options.vars.push(("DJINN_DEFAULT_MODE", "ruoter".to_owned()));
        let people = r#"{"agents": {"routr": {"enabled": true}, "plan_solve": {"enabled": true}}}"#;
        options.vars.push(("DJINN_PEOPLE__REQUESTS", people.to_owned()));
    })
    .await;
    world.model.on("Hello?").reply("Hello.");
    let frames = ask(&world, &json!({"question": "Hello?"})).await;
    let started = frames.iter().find(|frame| frame.event() == "run.started").unwrap().json();
    assert_eq!(started["mode"], "react");
    let of_default = "`default_mode` is `ruoter`, which is not a mode: did you mean `router`?";
    let of_people =
        "`people.requests.agents` names `routr`, which is not a mode: did you mean `router`?";
    assert_eq!(started["warnings"], json!([of_default, of_people]));
}

#[tokio::test]
async fn demo_model_answers_a_greeting_at_once_and_plans_a_comparison() {
    let options = SystemOptions { settings: Some(quick()), ..SystemOptions::default() };
    let system = System::start(options).await.unwrap();
    let client = Client::new(format!("http://{}", system.address()));
    let csv = "region,year,sales\nNorth,2021,100\nNorth,2024,150\nSouth,2021,200\nSouth,2024,210\n";
    client.upload("s1", "sales.csv", csv).await;
    let ask = async |question: &str| {
        let body = json!({"question": question, "mode": "router", "session_id": "s1"});
        let request = client.request(reqwest::Method::POST, "/runs").json(&body);
        client.ask_with(request).await.rest().await
    };
    let ended = ask("hello").await.last().unwrap().json();
    assert_eq!((&ended["status"], &ended["spent"]["model_calls"]), (&json!("finished"), &json!(1)));
    assert!(ended["answer"].as_str().unwrap().starts_with("Hello!"), "{ended}");
    let frames = ask("Compare the regions in sales.csv, one report each").await;
    let ended = frames.last().unwrap().json();
    assert_eq!(ended["status"], "finished", "{ended}");
    assert!(frames.iter().any(|frame| frame.event() == "plan.changed"));
    assert!(ended["answer"].as_str().unwrap().contains("North grew fastest"), "{ended}");
}
