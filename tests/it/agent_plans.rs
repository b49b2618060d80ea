//! Agents that plan, agents that borrow a planner's model, and steps that name agents.

use djinn_local::{System, SystemOptions};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::agents::{add_agent, at, path_of, start};
use crate::world::{Frame, Protocol, Question, World};

const QUESTION: &str = "Which region grew?";

async fn ask(world: &World, question: &Question) -> Vec<Frame> {
    world.ask(Protocol::Native, question).await.rest().await
}

#[tokio::test]
async fn an_agent_that_plans_has_its_own_words_and_tools_and_sums_up() {
    let folder = TempDir::new().unwrap();
    let keys = "mode: plan_solve\ntools: [researcher]\n";
    add_agent(&folder, "lead", keys, "You lead: {{ task }}");
    let world = start(&folder).await;
    at(&world.model, "").call("lead", json!({"task": "Find it out."})).then().reply("East grew.");
    let plan = json!({"command": "create", "title": "It", "steps": ["Look: read all"]});
    let lead = at(&world.model, "t1.c1").say("I plan.").call("planning", plan);
    let lead = lead.then().say("That is all.").call("planning", json!({"command": "finish"}));
    lead.then().reply("In short: East.");
    at(&world.model, "t1.c1.s1.1").reply("East, by a third.");
    let frames = ask(&world, &Question::of(QUESTION, "s1")).await;
    let ended: Vec<Value> =
        frames.iter().filter(|f| f.event() == "child.ended").map(Frame::json).collect();
    assert_eq!(ended.len(), 2, "{ended:#?}");
    assert_eq!(
        (&ended[1]["child"], &ended[1]["text"]),
        (&json!("t1.c1"), &json!("In short: East."))
    );
    let requests = world.model.requests();
    let of = |path: &str| requests.iter().find(|r| path_of(r).as_deref() == Some(path)).unwrap();
    let lead = of("t1.c1");
    assert!(lead.system().contains("You lead: Find it out."), "{}", lead.system());
    assert!(lead.offers_tool("planning"));
    let step = of("t1.c1.s1.1");
    let tools: Vec<&str> = step.tools().iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(tools, ["researcher"], "its file names no other");
    assert!(step.text().contains("Find it out."), "{}", step.text());
}

#[tokio::test]
async fn an_agent_may_use_the_planners_model_and_is_no_planner() {
    let folder = TempDir::new().unwrap();
    add_agent(&folder, "thinker", "model: planner\ntools: [file_tool]\n", "You think.");
    let world = start(&folder).await;
    at(&world.model, "").call("thinker", json!({"task": "Think."})).then().reply("Done.");
    at(&world.model, "t1.c1").reply("I thought.");
    let frames = ask(&world, &Question::of(QUESTION, "s1")).await;
    assert_eq!(frames.last().unwrap().json()["status"], "finished");
    let requests = world.model.requests();
    let thinker = requests.iter().find(|r| path_of(r).as_deref() == Some("t1.c1")).unwrap();
    assert!(thinker.system().contains("You think."), "{}", thinker.system());
    assert!(thinker.offers_tool("file_tool") && !thinker.offers_tool("planning"));
}

#[tokio::test]
async fn planners_are_told_of_agents_that_can_do_a_step_and_no_others_are_called() {
    let folder = TempDir::new().unwrap();
    let world = World::start_with(|options, _| {
        options.vars.push(("DJINN_AGENTS__OFFERED", "researcher, reviewer".to_owned()));
    })
    .await;
    drop(folder);
    let plan = json!({
        "command": "create", "title": "It", "steps": ["Look: read all"], "agents": ["writer"],
    });
    let planner = world.model.on_request(|request| request.offers_tool("planning"));
    let planner = planner.say("I plan.").call("planning", plan);
    planner.then().say("Done.").call("planning", json!({"command": "finish"}));
    at(&world.model, "s1.1").reply("It is read.");
    crate::world::summary(&world.model).reply("East.");
    let frames = ask(&world, &Question::of(QUESTION, "s1").deep()).await;
    assert_eq!(frames.last().unwrap().json()["status"], "finished");
    let requests = world.model.requests();
    let system = requests.iter().find(|r| r.offers_tool("planning")).unwrap().system().to_owned();
    // A reviewer wants an answer to judge, which no step gives it.
    assert!(system.contains("- researcher: ") && !system.contains("- reviewer: "), "{system}");
    let step = requests.iter().find(|r| path_of(r).as_deref() == Some("s1.1")).unwrap();
    assert!(!step.system().contains("You are a writer of Djinn"), "it is not offered");
}

#[tokio::test]
async fn a_name_that_no_agent_has_ends_the_start() {
    let options = SystemOptions {
        var: Box::new(|name| (name == "DJINN_AGENTS__OFFERED").then(|| "resercher".to_owned())),
        ..SystemOptions::default()
    };
    let error = System::start(options).await.err().unwrap().to_string();
    assert!(
        error.contains(
            "DJINN_AGENTS__OFFERED names `resercher`, which is no agent: did you mean `researcher`? \
             there are code_interpreter, comprehensive, data_analysis, data_query, deep_search, plan_solve, react,"
        ),
        "{error}"
    );
}
