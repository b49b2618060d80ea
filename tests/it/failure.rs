//! Runs that end badly: the final event says what happened and what to do, what was written stays,
//! and the session accepts the next question.

use djinn_local::{System, SystemOptions};
use djinn_scripted::{Rule, ScriptedModel};
use serde_json::{Value, json};

use crate::world::{
    Client, Door, KEY, Options, Protocol, QUESTION, Question, SALES, World, models,
};

fn writes_a_file(rule: Rule) -> Rule {
    let file = json!({"command": "upload", "filename": "found.md", "content": "Found."});
    rule.say("I write down what I found.").call("file_tool", file)
}

/// How a run ends in each protocol after it wrote a file: its code and what the user reads.
async fn ends(script: impl Fn(Rule) -> Rule) -> (String, String) {
    let mut ends = Vec::new();
    for protocol in Protocol::ALL {
        let world = World::start().await;
        script(writes_a_file(world.model.on("What is wrong?")).then());
        let question = Question::of("What is wrong?", "s1");
        let frames = world.ask(protocol, &question).await.rest().await;
        assert!(frames.last().unwrap().is_final(), "{frames:?}");
        ends.push(frames.last().unwrap().json());
        nothing_is_lost(&world, &world.model, "found.md").await;
    }
    let [native, raw, ui] = ends.as_slice() else { panic!("{ends:?}") };
    assert_eq!(native["status"], "failed");
    assert_eq!(native["files"][0]["name"], "found.md");
    assert_eq!(raw["resultMap"]["fileList"][0]["fileName"], "found.md");
    assert_eq!((&ui["finished"], &ui["response"]), (&json!(true), &raw["result"]));
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    (text(&native["failure"]["code"]), text(&raw["result"]))
}

async fn nothing_is_lost(client: &Client, model: &ScriptedModel, name: &str) {
    let file = json!({"requestId": "s1", "fileName": name});
    assert_eq!(client.post("/v1/file_tool/get_file", &file).await.status, 200);
    model.on("And now?").reply("Now it works.");
    let next = Question::new("And now?").session("s1").request("next");
    assert_eq!(client.ending(&next).await["answer"], "Now it works.");
}

#[tokio::test]
async fn a_key_that_the_provider_refuses() {
    let (code, text) = ends(|rule| rule.status(401)).await;
    assert_eq!(code, "model_key_refused");
    assert!(text.contains("I write down what I found."), "what there was stays: {text}");
    assert!(text.contains("rejected the API key") && !text.contains(KEY), "{text}");
}

#[tokio::test]
async fn a_reason_is_told_as_often_as_it_comes_and_never_what_users_or_tools_wrote() {
    const REASON: &str = "Incorrect API key provided. Ask your administrator for another one.";
    let world = World::start().await;
    let fails = |question: &str, words: &str| {
        let rule = world.model.on(question);
        let _ = rule.error(401, "invalid_request_error", Some("invalid_api_key"), words);
    };
    let detail = async |question: &str, request: &str| {
        let question = Question::new(question).session("s1").request(request);
        let end = world.ending(&question).await;
        assert_eq!(end["failure"]["code"], "model_key_refused");
        end["failure"]["detail"].as_str().unwrap().to_owned()
    };
    // The first failure is part of the second's conversation.
    fails("first time", REASON);
    fails("second time", REASON);
    let told = format!("HTTP 401: {REASON}");
    assert_eq!(detail("Does it work the first time?", "r1").await, told);
    assert_eq!(detail("Does it work the second time?", "r2").await, told);
    assert!(world.model.last_request().unwrap().text().contains(REASON));

    let asked = "What do Anna Ruiz and her two sons owe us?";
    fails(asked, &format!("{REASON} You sent: {asked}"));
    assert_eq!(detail(asked, "r3").await, format!("{told} You sent: …"));

    let bill = "Bill no. 4711: Anna Ruiz owes 4,000 euros since May.";
    world.upload("s1", "bill.txt", bill).await;
    let get = json!({"command": "get", "filename": "bill.txt"});
    let rule = world.model.on("What does the bill say?").say("I read it.").call("file_tool", get);
    let words = format!("{REASON} You sent: {bill}");
    rule.then().error(401, "invalid_request_error", Some("invalid_api_key"), words);
    let told_then = detail("What does the bill say?", "r4").await;
    assert!(told_then.starts_with(&told) && !told_then.contains("Anna"), "{told_then}");
}

#[tokio::test]
async fn a_model_that_the_provider_does_not_know() {
    let script = |rule: Rule| {
        let message = "The model `scripted` does not exist";
        rule.error(404, "invalid_request_error", Some("model_not_found"), message)
    };
    let (code, text) = ends(script).await;
    assert_eq!(code, "model_unknown");
    assert!(text.contains("does not know this model") && text.contains("scripted"), "{text}");
}

fn too_long(rule: Rule) -> Rule {
    let message = "This model's maximum context length is 4097 tokens.";
    rule.error(400, "invalid_request_error", Some("context_length_exceeded"), message)
}

#[tokio::test]
async fn a_conversation_that_does_not_fit_also_after_it_was_shortened() {
    let (code, text) = ends(|rule| too_long(too_long(rule).then())).await;
    assert_eq!(code, "context_too_long");
    assert!(text.contains("exceeds") && text.contains("max_input_tokens"), "{text}");
}

#[tokio::test]
async fn a_conversation_that_is_too_long_is_asked_once_more_with_half_of_it() {
    let world = World::start_with(|options: &mut Options, model| {
        options.vars.push(("DJINN_MODELS", models(model, &json!({"max_input_tokens": 6000}))));
    })
    .await;
    let long = "figure ".repeat(3_000);
    world.model.on("Tell me much.").reply(long.as_str());
    world.told(&Question::of("Tell me much.", "s1")).await;
    let rule = too_long(world.model.on("And in short?")).then();
    too_long(rule).then().reply("In short: figures.");
    let ending = world.ending(&Question::new("And in short?").session("s1").request("r2")).await;
    assert_eq!(ending["answer"], "In short: figures.");
    let requests = world.model.requests();
    let holds_all = |nth: usize| requests[nth].text().contains(long.trim());
    // Such words may be about the output limit, so that is lowered first.
    assert_eq!((holds_all(1), holds_all(2)), (true, true));
    assert_eq!((requests.len(), holds_all(3)), (4, false));
    world.model.assert_done();
}

#[tokio::test]
async fn no_model_at_all() {
    let mut door = Door::open(None, |_| {}, |_| {});
    let client = door.listen().await;
    client.upload("s1", "kept.md", "Kept.").await;
    for (nth, protocol) in Protocol::ALL.into_iter().enumerate() {
        let question = Question::of("Is there a model?", "s1").request(&format!("r{nth}"));
        let frames = client.ask(protocol, &question).await.rest().await;
        let last = frames.last().unwrap();
        assert!(last.is_final());
        let text = last.json().to_string();
        let wanted = if protocol == Protocol::Native { "no_model" } else { "Set OPENAI_API_KEY" };
        assert!(text.contains(wanted) && text.contains("react"), "{text}");
    }
    let file = json!({"requestId": "s1", "fileName": "kept.md"});
    assert_eq!(client.post("/v1/file_tool/get_file", &file).await.status, 200);
}

#[tokio::test]
async fn a_step_budget_that_is_used_up() {
    let world = World::start_with(|options, _| {
        options.vars.push(("DJINN_LIMITS__MAX_STEPS", "2".to_owned()));
    })
    .await;
    let rule = writes_a_file(world.model.on("How far do you get?")).then();
    let get = json!({"command": "get", "filename": "found.md"});
    rule.say("I look at it once more.").call("file_tool", get).then().reply("Half of it is done.");
    let ending = world.ending(&Question::of("How far do you get?", "s1")).await;
    assert_eq!(
        (&ending["status"], &ending["answer"]),
        (&json!("failed"), &json!("Half of it is done."))
    );
    assert_eq!(ending["failure"], json!({"code": "steps_used_up", "detail": "2"}));
    assert_eq!(ending["files"][0]["name"], "found.md");
    nothing_is_lost(&world, &world.model, "found.md").await;
    world.model.assert_done();
}

#[tokio::test]
async fn a_token_budget_that_is_used_up() {
    let world = World::start_with(|options, _| {
        options.vars.push(("DJINN_LIMITS__MAX_TOKENS", "1000".to_owned()));
    })
    .await;
    let rule = writes_a_file(world.model.on("How much do you read?")).usage(1_200, 10, 0).then();
    rule.reply("Half of it is done.");
    let ending = world.ending(&Question::of("How much do you read?", "s1")).await;
    assert_eq!(
        (&ending["status"], &ending["answer"]),
        (&json!("failed"), &json!("Half of it is done."))
    );
    assert_eq!(ending["failure"], json!({"code": "tokens_used_up", "detail": "1000"}));
    nothing_is_lost(&world, &world.model, "found.md").await;
    world.model.assert_done();
}

#[tokio::test]
async fn a_time_budget_that_is_used_up() {
    let world = World::start_with(|options, _| {
        options.vars.push(("DJINN_LIMITS__MAX_SECONDS", "15".to_owned()));
    })
    .await;
    let rule = writes_a_file(world.model.on("How long do you take?")).then();
    rule.say("For ever").hang_after(2).then().reply("Half of it is done.");
    let ending = world.ending(&Question::of("How long do you take?", "s1")).await;
    assert_eq!(ending["failure"], json!({"code": "time_used_up", "detail": "15"}));
    assert_eq!(
        (&ending["status"], &ending["answer"]),
        (&json!("failed"), &json!("Half of it is done."))
    );
    assert_eq!(ending["files"][0]["name"], "found.md");
    nothing_is_lost(&world, &world.model, "found.md").await;
}

#[tokio::test]
async fn a_question_that_the_demo_has_no_script_for() {
    let system = System::start(SystemOptions::default()).await.unwrap();
    let client = Client::new(format!("http://{}", system.address()));
    assert!(system.demo_model().is_some());
    let frames = client.ask(Protocol::Ui, &Question::of("What is love?", "s1")).await.rest().await;
    let envelope = frames.last().unwrap().json();
    let text = envelope["response"].as_str().unwrap();
    assert_eq!(envelope["finished"], true);
    assert!(text.contains("scripted demo model") && text.contains("OPENAI_API_KEY"), "{text}");
    client.upload("s1", "sales.csv", SALES).await;
    let question = Question::new(QUESTION).session("s1").request("r2");
    let ending = client.ending(&question).await;
    assert_eq!(
        (&ending["status"], &ending["files"][0]["name"]),
        (&json!("finished"), &json!("growth.md"))
    );
}
