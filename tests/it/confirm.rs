//! Confirm points of a plan: steps that a person lets begin, and results that a person looks at.

use serde_json::{Value, json};

use crate::world::{Client, Frame, Protocol, Question, World, employees, planner, summary, task};

/// What is asked now, which is one thing: it is answered, and the run followed to its next question
/// or its end.
async fn answered(client: &Client, run: &str, id: &str, body: Value) -> Value {
    let requests = client.open_requests(run).await;
    let [request] = &requests[..] else { panic!("{requests:#?}") };
    assert_eq!(request["id"], id);
    let mut response = json!({"digest": request["digest"]});
    response.as_object_mut().unwrap().extend(body.as_object().unwrap().clone());
    let taken = client.respond(run, id, &response).await;
    assert_eq!(taken.status, 200, "{}", taken.text);
    request.clone()
}

async fn next_stop(client: &Client, run: &str, asked: usize) -> Vec<Frame> {
    loop {
        let frames = client.come_back(run, None).await.rest().await;
        let asks = frames.iter().filter(|frame| frame.event() == "human.requested").count();
        let has_ended = frames.last().is_some_and(|frame| frame.event() == "run.ended");
        if asks >= asked || has_ended {
            return frames;
        }
    }
}

#[tokio::test]
async fn a_plan_goes_on_as_a_person_lets_its_steps_begin_and_likes_their_results() {
    let human_requests = r#"{"confirm_steps": ["publish"], "confirm_results": true, "timeout": 0}"#;
    let world = World::start_with(|options, _| {
        options.vars.push(("DJINN_PEOPLE__REQUESTS", human_requests.to_owned()));
    })
    .await;
    planner(&world.model)
        .say("One after the other.")
        .call(
            "planning",
            json!({
                "command": "create", "title": "The price of gold",
                "steps": ["look at gold", "Publish the price"],
                "depends_on": [[], [1]],
            }),
        )
        .then()
        .call("planning", json!({"command": "finish"}));
    employees(&world.model).reply("{}").always();
    task(&world.model, "look at gold").reply("It is 60 dollars.").then().reply("It is 55 euros.");
    task(&world.model, "Post the price on the intranet").reply("It is posted.");
    summary(&world.model).reply("Gold is 55 euros, as staff can read.");
    let question = Question::of("What is the price of gold?", "s1").deep();
    let stream = world.ask(Protocol::Native, &question).await;
    let (run, run_frames) = (stream.run(), stream.rest().await);
    assert!(run_frames.iter().any(|frame| frame.event() == "human.requested"), "{run_frames:#?}");

    let ask = answered(&world, &run, "s1.1.result", json!({"response": "In euros."})).await;
    assert_eq!((&ask["about"], &ask["reasons"]), (&json!("result_review"), &json!(["result"])));
    assert_eq!((&ask["step"], &ask["text"]), (&json!("s1"), &json!("It is 60 dollars.")));
    next_stop(&world, &run, 2).await;
    let seen = world.model.requests();
    let told = |text: &str| text.contains("It is 60 dollars.") && text.contains("\nIn euros.");
    assert!(seen.iter().any(|request| told(request.text())), "{seen:#?}");
    answered(&world, &run, "s1.2.result", json!({"response": "yes"})).await;

    next_stop(&world, &run, 3).await;
    let wrong = json!({"response": "modify", "parameters": {"words": 1}});
    let refused = world.respond(&run, "steps.s2", &wrong).await;
    assert_eq!((refused.status, &refused.json()["code"]), (400, &json!("invalid_field")));
    let parameters = json!({"details": "Post the price on the intranet"});
    let comment = "Only staff may read it.";
    let changed = json!({"response": "modify", "parameters": parameters, "comment": comment});
    let ask = answered(&world, &run, "steps.s2", changed).await;
    assert_eq!(
        (&ask["about"], &ask["details"]),
        (&json!("step_review"), &json!("Publish the price"))
    );

    next_stop(&world, &run, 4).await;
    let parameters = json!({"text": "It is posted on page 2."});
    let comment = "I moved it.";
    let changed = json!({"response": "modify", "parameters": parameters, "comment": comment});
    answered(&world, &run, "s2.1.result", changed).await;
    let frames = next_stop(&world, &run, 5).await;
    assert_eq!(frames.last().unwrap().json()["answer"], "Gold is 55 euros, as staff can read.");
    let planner = world.model.requests();
    let sees = |text: &str| planner.iter().any(|request| request.text().contains(text));
    assert!(sees(
        "reworded s2; follow the changed plan. They say of it:\n\nOnly staff may read it."
    ));
    assert!(sees("Done. The user changed its text and says:\n\nI moved it.\n"));
    world.model.assert_done();
}
