//! A run's budget where people are asked: more of it is offered, and nothing is lost meanwhile.

use serde_json::json;

use crate::world::{Protocol, Question, SALES, World};

/// One reply costs 120 tokens.
async fn world() -> World {
    let world = World::start_with(|options, _| {
        let human_requests = r#"{"enabled": true, "timeout": 0}"#;
        options.vars.push(("DJINN_PEOPLE__REQUESTS", human_requests.to_owned()));
        options.vars.push(("DJINN_LIMITS__MAX_TOKENS", "1000".to_owned()));
    })
    .await;
    world.upload("s1", "sales.csv", SALES).await;
    let read = json!({"command": "get", "filename": "sales.csv"});
    world
        .model
        .on("How did it go?")
        .say("I look.")
        .call("file_tool", read)
        .usage(900, 200, 0)
        .then()
        .reply("It went well, in short.");
    world
}

#[tokio::test]
async fn a_run_that_used_up_its_tokens_offers_more_and_goes_on_where_it_was() {
    let world = world().await;
    let stream = world.ask(Protocol::Native, &Question::of("How did it go?", "s1")).await;
    let (run, frames) = (stream.run(), stream.rest().await);
    assert_eq!(frames.last().unwrap().event(), "run.handed_over", "{frames:#?}");
    let ask = world.open_request(&run, "budget.1").await;
    assert_eq!(
        (&ask["about"], &ask["used_up"]["code"]),
        (&json!("budget_extension"), &json!("tokens_used_up"))
    );
    assert_eq!(ask["offer"], json!({"tokens": 1_000, "micro_usd": 0}));
    let answer = async |words: &str, parameters: serde_json::Value| {
        let mut body = json!({"response": words});
        if !parameters.is_null() {
            body["parameters"] = parameters;
        }
        let answer = world.respond(&run, "budget.1", &body).await;
        (answer.status, answer.json()["code"].clone())
    };
    let more = answer("modify", json!({"tokens": 1_001})).await;
    assert_eq!(more, (400, json!("invalid_field")), "what is offered is the most");
    assert_eq!(world.model.requests().len(), 1, "nothing is bought unasked");
    assert_eq!(answer("modify", json!({"tokens": 500})).await.0, 200);
    let frames = world.come_back(&run, None).await.rest().await;
    let end = frames.last().unwrap().json();
    assert_eq!(
        (&end["status"], &end["answer"]),
        (&json!("finished"), &json!("It went well, in short."))
    );
    world.model.assert_done();
}

#[tokio::test]
async fn in_a_chat_continue_takes_the_offer() {
    let world = world().await;
    let frames = world.ask(Protocol::Ui, &Question::of("How did it go?", "s1")).await.rest().await;
    let shown = frames.last().unwrap().json()["response"].as_str().unwrap().to_owned();
    assert!(shown.contains("budget of 1000 is used up. Continue with 1000 more tokens"), "{shown}");
    let said = Question::new("continue").session("s1").request("r2");
    let frames = world.ask(Protocol::Ui, &said).await.rest().await;
    let end = frames.last().unwrap().json();
    assert!(end["response"].as_str().unwrap().contains("in short"), "{end}");
}
