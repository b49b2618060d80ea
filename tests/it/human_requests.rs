//! People in the loop, over HTTP: a run stops before what can do harm, waits at no cost, and goes on
//! as somebody says.

use std::time::Duration;

use djinn_runtime::port::clock::Clock as _;
use djinn_runtime::settings::Settings;
use djinn_runtime::world::Ports as _;
use djinn_scripted::ScriptedModel;
use reqwest::Method;
use serde_json::{Value, json};

use crate::keys::{keyed, let_in};
use crate::world::{
    Answer, Client, Door, Frame, Protocol, QUESTION, Question, SALES, SETTLED_WITHIN, World,
    employees, planner, script, settled, task,
};

/// Asks before files are written, and waits for ever.
pub(crate) const APPROVAL: &str = r#"{"enabled": true, "timeout": 0}"#;

async fn approving() -> World {
    let on = |options: &mut crate::world::Options, _: &ScriptedModel| {
        options.vars.push(("DJINN_PEOPLE__REQUESTS", APPROVAL.to_owned()));
    };
    let world = World::start_with(on).await;
    world.upload("s1", "sales.csv", SALES).await;
    script(&world.model, QUESTION).always();
    world
}

/// The run that asks whether it may write, and what it asked.
pub(crate) async fn waiting(client: &Client) -> (String, Value) {
    waiting_about(client, QUESTION).await
}

/// The run of a question that waits for its asker, and what it asks.
pub(crate) async fn waiting_about(client: &Client, question: &str) -> (String, Value) {
    let stream = client.ask(Protocol::Native, &Question::of(question, "s1")).await;
    let (run, frames) = (stream.run(), stream.rest().await);
    let asked = frames.iter().find(|frame| frame.event() == "human.requested");
    let asked = asked.unwrap_or_else(|| panic!("{frames:#?}")).json();
    assert_eq!(frames.last().unwrap().event(), "run.handed_over");
    (run, asked)
}

async fn respond(client: &Client, run: &str, body: Value) -> (u16, Value) {
    let answer = client.respond(run, "t2.c1", &body).await;
    (answer.status, answer.json())
}

pub(crate) async fn ending(client: &Client, run: &str) -> Value {
    let mut stream = client.come_back(run, None).await;
    loop {
        // A run that goes on elsewhere is followed until it has ended.
        let frames = stream.rest().await;
        let last = frames.last().map(Frame::json).unwrap_or_default();
        if last["type"] == "run.ended" {
            return last;
        }
        stream = client.come_back(run, None).await;
    }
}

#[tokio::test]
async fn a_person_sees_what_is_planned_and_changes_it() {
    let world = approving().await;
    let (run, asked) = waiting(&world).await;
    assert_eq!((&asked["group"], &asked["risk"]), (&json!("t2"), &json!("medium")));
    assert_eq!(asked["reasoning"], "East grew fastest; I write that down.");
    let ask = &asked["requests"][0];
    assert_eq!((&ask["id"], &ask["tool"]), (&json!("t2.c1"), &json!("file_tool")));
    assert_eq!(ask["arguments"]["filename"], "growth.md");
    assert_eq!((&ask["reasons"], &ask["estimate"]["tokens"]), (&json!(["risk"]), &json!(1_000)));
    assert_eq!(world.model.requests().len(), 2, "reading needs nobody's consent");
    let runs = world.get("/runs?status=paused").await.json();
    assert_eq!(runs["runs"][0]["run"], json!(run));
    let mut open = world.open_requests(&run).await;
    let schema = open[0].as_object_mut().unwrap().remove("schema").unwrap();
    assert_eq!(schema["type"], "object", "the list also has what a form needs");
    assert_eq!(open, std::slice::from_ref(ask));

    let mut arguments = ask["arguments"].clone();
    arguments["command"] = json!("dance");
    let wrong = json!({"response": "modify", "parameters": arguments});
    let (status, refused) = respond(&world, &run, wrong).await;
    assert_eq!((status, &refused["code"]), (400, &json!("invalid_field")), "{refused}");
    assert_eq!(refused["field"], "parameters");

    (arguments["command"], arguments["filename"]) = (json!("upload"), json!("east.md"));
    let changed = json!({
        "response": "modify", "parameters": arguments,
        "comment": "A better name.", "digest": ask["digest"],
    });
    let (status, taken) = respond(&world, &run, changed.clone()).await;
    let receipt = json!({"run": run, "request": "t2.c1", "response": "modify", "state": "taken"});
    assert_eq!((status, &taken), (200, &receipt));
    let end = ending(&world, &run).await;
    assert_eq!(end["status"], "finished");
    let listed = world.get("/sessions/s1").await.json();
    let names: Vec<_> = listed["files"].as_array().unwrap().iter().map(|f| &f["name"]).collect();
    assert!(names.contains(&&json!("east.md")) && !names.contains(&&json!("growth.md")));
    let told = world.model.wait_for_request(3).await.text().to_owned();
    assert!(told.contains("east.md"), "{told}");

    assert_eq!(world.open_requests(&run).await, [Value::Null; 0], "the run has ended");
    let (status, late) = respond(&world, &run, changed).await;
    assert_eq!((status, &late["code"]), (409, &json!("request_resolved")), "{late}");
    let audit = world.get(&format!("/runs/{run}/audit")).await;
    assert_eq!(audit.header("content-type"), "application/x-ndjson");
    let lines: Vec<Value> =
        audit.text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let what: Vec<_> = lines.iter().map(|line| line["what"].as_str().unwrap()).collect();
    assert_eq!(what, ["started", "human.requested", "human.resolved", "run.ended"]);
    assert_eq!(lines[2]["detail"]["by"], "you");
    assert_eq!(lines[2]["detail"]["comment"], "A better name.");
    let records = settled(world.system.ports(), &run).await;
    let hash_of = |line: &Value| json!(records[line["record"].as_u64().unwrap() as usize].hash);
    assert!(lines.iter().all(|line| line["hash"] == hash_of(line) && line["hash"].is_string()));
}

#[tokio::test]
async fn list_says_that_an_agent_waits_while_another_works() {
    for has_client in [true, false] {
        let world = World::start_with(|options, _| {
            options.vars.push(("DJINN_PEOPLE__REQUESTS", APPROVAL.to_owned()));
            if !has_client {
                // Only a driver that sleeps notes the request.
                let never = Duration::from_secs(3_600);
                options.settings =
                    Settings { lease: 2 * never, renew_every: never, ..options.settings.clone() };
            }
        })
        .await;
        let steps = json!({"command": "create", "title": "Metals", "steps": ["gold", "silver"], "depends_on": [[], []]});
        planner(&world.model).say("Both.").call("planning", steps);
        employees(&world.model).reply("{}").always();
        let file = json!({"command": "upload", "filename": "gold.md", "description": "Gold", "content": "# Gold"});
        task(&world.model, "gold").call("file_tool", file);
        let silver = task(&world.model, "silver").reply("Silver is cheap.").delta_chars(6);
        let gate = silver.gate(1);
        let question = Question::of("What of them?", "s1").deep();
        let (run, _stream) = if has_client {
            let mut stream = world.ask(Protocol::Native, &question).await;
            stream.until(|frame| frame.event() == "human.requested").await;
            (stream.run(), Some(stream))
        } else {
            let request = world.request(Method::POST, "/runs").header("accept", "application/json");
            let answer = request.json(&Protocol::Native.body(&question)).send().await.unwrap();
            (Answer::of(answer).await.json()["run"].as_str().unwrap().to_owned(), None)
        };
        gate.wait_until_reached().await;
        let noted = async {
            loop {
                let runs = world.get("/runs?status=running").await.json();
                if runs["runs"][0]["has_open_requests"] == json!(true) {
                    return;
                }
            }
        };
        tokio::time::timeout(SETTLED_WITHIN, noted).await.unwrap();
        world.stop(&run).await;
        world.come_back(&run, None).await.rest().await;
        let runs = world.get("/runs").await.json();
        assert_eq!(runs["runs"][0]["has_open_requests"], json!(false));
    }
}

#[tokio::test]
async fn what_is_skipped_or_said_is_told_to_the_model() {
    for (said, told) in
        [("skip", "skipped by the user"), ("Use a table instead.", "Use a table instead.")]
    {
        let world = approving().await;
        let (run, _) = waiting(&world).await;
        assert_eq!(respond(&world, &run, json!({"response": said})).await.0, 200);
        assert_eq!(ending(&world, &run).await["status"], "finished");
        let sees = world.model.wait_for_request(3).await.text().to_owned();
        assert!(sees.contains(told), "{said}: {sees}");
        let files = world.get("/sessions/s1").await.json();
        assert_eq!(files["files"].as_array().unwrap().len(), 1, "{said}: {files}");
    }
}

#[tokio::test]
async fn stop_as_an_answer_stops_the_run_and_a_cancelled_question_is_skipped() {
    let world = approving().await;
    let (run, _) = waiting(&world).await;
    let stop = world.respond(&run, "t2", &json!({"response": "Abort"})).await;
    assert_eq!((stop.status, &stop.json()["response"]), (200, &json!("stop")));
    assert_eq!(ending(&world, &run).await["status"], "stopped");

    let world = approving().await;
    let (run, _) = waiting(&world).await;
    let skip = async |id: &str| {
        let answer = world.delete(&format!("/runs/{run}/requests/{id}")).await;
        let json = answer.json();
        (answer.status, json["code"].clone(), json["response"].clone())
    };
    assert_eq!(skip("t9.c9").await, (404, json!("request_not_found"), Value::Null));
    assert_eq!(skip("t2.c1").await, (200, Value::Null, json!("skip")));
    assert_eq!(skip("t2.c1").await, (409, json!("request_resolved"), Value::Null));
    assert_eq!(ending(&world, &run).await["status"], "finished");
}

#[tokio::test]
async fn joyagents_clients_are_asked_in_their_words_and_answer_in_the_chat() {
    for protocol in [Protocol::Raw, Protocol::Ui] {
        let world = approving().await;
        let stream = world.ask(protocol, &Question::of(QUESTION, "s1")).await;
        let frames = stream.rest().await;
        let raw: Vec<Value> = frames.iter().map(Frame::raw).collect();
        let of = |kind: &str| {
            let found = raw.iter().find(|event| event["messageType"] == kind);
            found.unwrap_or_else(|| panic!("no {kind} in {raw:#?}"))["resultMap"].clone()
        };
        let request = of("human_feedback_request");
        assert_eq!(request["feedbackId"], "t2.c1");
        assert_eq!(request["requestType"], "tool_execution_confirmation");
        assert_eq!(request["requestData"]["riskLevel"], "medium");
        assert_eq!(request["requestData"]["plannedActions"][0]["toolName"], "file_tool");
        assert_eq!(request["requestData"]["estimatedCost"]["tokenCost"], 1_000);
        let change = of("parameter_modification_request");
        assert_eq!(change["currentParameters"]["filename"], "growth.md");
        let names = change["modifiableFields"].as_array().unwrap().iter();
        assert_eq!(names.filter(|field| field["name"] == "filename").count(), 1);
        // A client that can only chat is told what is asked, and unlocked.
        let last = raw.last().unwrap();
        assert_eq!(last["finish"], protocol == Protocol::Ui, "the raw protocol can come back");
        assert!(last["result"].as_str().unwrap().contains("`file_tool` (medium risk)"), "{last}");

        let yes = Question::new("Yes").session("s1").request("r2");
        let mut frames = world.ask(protocol, &yes).await.rest().await;
        if !frames.last().unwrap().raw()["result"].to_string().contains("East grew") {
            let go_on = Question::new("continue").session("s1").request("r3");
            frames = world.ask(protocol, &go_on).await.rest().await;
        }
        let end = frames.last().unwrap().raw();
        assert!(end["result"].as_str().unwrap().contains("East grew fastest"), "{end}");
        assert_eq!(world.get("/sessions/s1").await.json()["files"].as_array().unwrap().len(), 2);
    }
}

#[tokio::test]
async fn a_request_has_people_asked_about_more_and_never_about_less() {
    let world = World::start().await;
    world.upload("s1", "sales.csv", SALES).await;
    script(&world.model, QUESTION).always();
    let ask = async |world: &World, request: &str, settings: Value| {
        let body = json!({
            "question": QUESTION, "session_id": "s1", "request_id": request,
            "human_requests": settings,
        });
        let stream =
            world.ask_with(world.request(reqwest::Method::POST, "/runs").json(&body)).await;
        let (run, frames) = (stream.run(), stream.rest().await);
        (run, frames.last().unwrap().event().to_owned())
    };
    let (run, last) = ask(&world, "r1", json!({"enabled": true})).await;
    assert_eq!(last, "run.handed_over");
    let all = world.respond(&run, "t2", &json!({"response": "confirm"})).await;
    assert_eq!(all.status, 200, "{}", all.text);
    ending(&world, &run).await;
    assert_eq!(ask(&world, "r2", Value::Null).await.1, "run.ended");

    let world = approving().await;
    let loose = json!({"enabled": false, "auto_confirm_tools": ["file_tool"], "risk": "high"});
    assert_eq!(ask(&world, "r1", loose).await.1, "run.handed_over");
}

#[tokio::test]
async fn nobody_else_sees_any_of_it() {
    let model = ScriptedModel::start().await.unwrap();
    let (list, [anna, bob]) = keyed([("acme", "anna"), ("acme", "bob")]);
    let mut door = Door::open(&model, |_| {}, let_in(list));
    let client = door.listen().await;
    let (anna, bob) = (client.clone().bearing(&anna), client.bearing(&bob));
    anna.upload("s1", "sales.csv", SALES).await;
    script(&model, QUESTION).always();
    let question = json!({
        "question": QUESTION, "session_id": "s1", "request_id": "r1",
        "human_requests": {"enabled": true, "timeout": 0},
    });
    let request = anna.request(reqwest::Method::POST, "/runs").json(&question);
    let stream = anna.ask_with(request).await;
    let (run, _) = (stream.run(), stream.rest().await);
    let paths = ["", "/events", "/audit", "/requests"].map(|rest| format!("/runs/{run}{rest}"));
    let pending = ["r1", "s1", run.as_str()].map(|id| format!("/api/feedback/pending/{id}"));
    for path in paths.iter().chain(&pending) {
        let seen = bob.get(path).await;
        assert_eq!((seen.status, &seen.json()["code"]), (404, &json!("run_not_found")), "{path}");
        assert_eq!(anna.request(reqwest::Method::GET, path).send().await.unwrap().status(), 200);
    }
    let confirm = json!({"response": "confirm"});
    assert_eq!(respond(&bob, &run, confirm.clone()).await.0, 404);
    assert_eq!(bob.delete(&format!("/runs/{run}/requests/t2.c1")).await.status, 404);
    assert_eq!(bob.delete(&format!("/api/feedback/{run}/t2.c1")).await.status, 404);
    assert_eq!(bob.stop(&run).await.status, 404);
    assert_eq!(bob.get("/runs").await.json()["runs"], json!([]));
    // What he says is no answer: it is a question, in a session of his own.
    model.on("confirm").reply("Confirm what?").always();
    let said = Question::new("confirm").session("s1").request("r1");
    assert_eq!(bob.ending(&said).await["answer"], "Confirm what?");
    assert_eq!(model.last_request().unwrap().text(), "user confirm");
    assert_eq!(anna.open_requests(&run).await.len(), 1, "it waits on");

    // Nor is any of it to be seen once the run has ended.
    assert_eq!(respond(&anna, &run, confirm).await.0, 200);
    assert_eq!(ending(&anna, &run).await["status"], "finished");
    for path in &paths {
        assert_eq!(bob.get(path).await.status, 404, "{path}");
    }
    let again = Question::new("confirm again").session("s1").request("r2");
    bob.told(&again).await;
    let sees = model.last_request().unwrap().text().to_owned();
    assert_eq!(sees, "user confirm\nassistant Confirm what?\nuser confirm again");
    let his = bob.get("/sessions/s1").await.json();
    assert_eq!((his["turns"].as_array().unwrap().len(), &his["files"]), (2, &json!([])));
    assert_eq!(bob.delete("/sessions/s1").await.status, 204);
    let hers = anna.get("/sessions/s1").await.json();
    assert_eq!(hers["turns"][0]["run"], json!(run), "{hers}");
    assert_eq!(hers["files"].as_array().unwrap().len(), 2, "{hers}");
}

#[tokio::test]
async fn a_provider_without_balance_is_asked_again_after_a_top_up() {
    let world = World::start().await;
    let rule = world.model.on("Anything new?").error(402, "x", None, "Insufficient Balance");
    rule.then().reply("Nothing new.");
    let stream = world.ask(Protocol::Native, &Question::of("Anything new?", "s1")).await;
    let (run, frames) = (stream.run(), stream.rest().await);
    let asked = frames.iter().find(|frame| frame.event() == "human.requested").unwrap().json();
    let interrupt = &asked["requests"][0]["interrupt"];
    assert_eq!(interrupt["code"], "model_no_balance");
    assert!(interrupt["message"].as_str().unwrap().contains("Add credit"), "{interrupt}");
    let go_on = Question::new("continue").session("s1").request("r2");
    world.told(&go_on).await;
    let end = ending(&world, &run).await;
    assert_eq!((&end["answer"], &end["spent"]["steps"]), (&json!("Nothing new."), &json!(1)));
}

/// As Doubao, SiliconFlow and GLM say it.
#[tokio::test]
async fn an_overdue_account_is_one_without_balance_whatever_its_status() {
    let overdue = "The request failed because your account has an overdue balance.";
    for (status, body) in [
        (
            403,
            json!({"error": {"code": "AccountOverdueError", "message": overdue, "type": "Forbidden"}}),
        ),
        (403, json!({"code": 30001, "message": "Sorry, your account balance is insufficient"})),
        (429, json!({"error": {"code": "1113", "message": "您的账户已欠费，请充值后重试。"}})),
    ] {
        let world = World::start().await;
        let rule = world.model.on("Anything new?").status_body(status, body.clone());
        rule.then().reply("Nothing new.");
        let stream = world.ask(Protocol::Native, &Question::of("Anything new?", "s1")).await;
        let (run, frames) = (stream.run(), stream.rest().await);
        let asked = frames.iter().find(|frame| frame.event() == "human.requested").unwrap().json();
        assert_eq!(asked["requests"][0]["interrupt"]["code"], "model_no_balance", "{body}");
        assert_eq!(world.model.requests().len(), 1, "it is not tried again by itself: {body}");
        let go_on = Question::new("continue").session("s1").request("r2");
        world.told(&go_on).await;
        assert_eq!(ending(&world, &run).await["answer"], "Nothing new.");
    }
}

#[tokio::test]
async fn an_estimate_is_what_earlier_calls_of_the_tool_came_to_once_there_are_twenty() {
    let world = World::start_with(|options, _| {
        let only_high = r#"{
            "enabled": true, "risk": "high", "timeout": 0,
            "cost_threshold": {"token": 100000, "time": 600, "api": 100}
        }"#;
        options.vars.push(("DJINN_PEOPLE__REQUESTS", only_high.to_owned()));
    })
    .await;
    let note = |name: String| json!({"command": "upload", "filename": name, "description": "a note", "content": "x"});
    let mut rule = world.model.on("Twenty notes?").say("At once.");
    for nth in 0..19 {
        rule = rule.call("file_tool", note(format!("note-{nth}.md")));
    }
    rule.then().reply("Nineteen.");
    world.ask(Protocol::Native, &Question::of("Twenty notes?", "s1")).await.rest().await;
    let asked = async |question: &str, request: &str| {
        let more = note("more.md".to_owned());
        world.model.on(question).say("One.").call("file_tool", more);
        let body = json!({
            "question": question, "session_id": request, "request_id": request,
            "human_requests": {"risk": "medium"},
        });
        let request = world.request(reqwest::Method::POST, "/runs").json(&body);
        let frames = world.ask_with(request).await.rest().await;
        let asked = frames.iter().find(|frame| frame.event() == "human.requested");
        let asked = asked.unwrap_or_else(|| panic!("{frames:#?}")).json();
        asked["requests"][0]["estimate"].clone()
    };
    let declared = asked("One more?", "s2").await;
    assert_eq!((&declared["samples"], &declared["tokens"]), (&json!(0), &json!(1_000)));
    world
        .model
        .on("A twentieth?")
        .say("So.")
        .call("file_tool", note("20.md".to_owned()))
        .then()
        .reply("Done.");
    world.ask(Protocol::Native, &Question::of("A twentieth?", "s3")).await.rest().await;
    let told = asked("And one more?", "s4").await;
    assert_eq!(told["samples"], 20, "{told}");
    let (usual, p95) = (told["tokens"].as_u64().unwrap(), told["tokens_p95"].as_u64().unwrap());
    assert!((1..1_000).contains(&usual) && usual <= p95, "{told}");
    assert!(told["ms"].as_u64() <= told["ms_p95"].as_u64(), "{told}");
}

/// What a run says that writing a file may cost, natively and in JoyAgent's words.
async fn estimates(prices: &str) -> (Value, Value) {
    let asking = async |protocol| {
        let world = World::start_with(|options, _| {
            options.vars.push(("DJINN_PEOPLE__REQUESTS", APPROVAL.to_owned()));
            options.vars.push(("DJINN_PRICES", prices.to_owned()));
        })
        .await;
        world.upload("s1", "sales.csv", SALES).await;
        script(&world.model, QUESTION).always();
        world.ask(protocol, &Question::of(QUESTION, "s1")).await.rest().await
    };
    let frames = asking(Protocol::Native).await;
    let asked = frames.iter().find(|frame| frame.event() == "human.requested").unwrap().json();
    assert_eq!(asked["estimate"], asked["requests"][0]["estimate"]);
    let frames = asking(Protocol::Raw).await;
    let events = frames.iter().filter(|frame| frame.received().is_some()).map(Frame::raw);
    let mut requests = events.filter(|event| event["messageType"] == "human_feedback_request");
    let request = requests.next().unwrap()["resultMap"]["requestData"].clone();
    (asked["estimate"].clone(), request["estimatedCost"].clone())
}

#[tokio::test]
async fn an_estimate_tells_what_its_tokens_cost_and_without_a_price_nothing_of_money() {
    let price = r#"{"scripted": {"input": 2000000, "cached_input": 500000, "output": 8000000}}"#;
    let (native, joyagent) = estimates(price).await;
    // A thousand tokens that the model is to read, at two dollars a million.
    assert_eq!((&native["tokens"], &native["micro_usd"]), (&json!(1_000), &json!(2_000)));
    assert_eq!(joyagent["moneyCost"], 2_000);

    let (native, joyagent) = estimates("").await;
    assert_eq!((&native["tokens"], native.get("micro_usd")), (&json!(1_000), None));
    assert_eq!((&joyagent["tokenCost"], joyagent.get("moneyCost")), (&json!(1_000), None));
}

#[tokio::test]
async fn a_run_uses_up_no_wall_time_while_it_waits_for_people() {
    let world = approving().await;
    let (run, _) = waiting(&world).await;
    world.settled_paused(&run).await;
    let spent = async || {
        let shown = world.get(&format!("/runs/{run}")).await.json();
        shown["budget"]["wall_ms"]["spent"].as_u64().unwrap()
    };
    let before = spent().await;
    // Time passes, as the run's own clock has it.
    let clock = world.system.ports().clock();
    let since_ms = clock.now_ms();
    while clock.now_ms() < since_ms + 3 {
        world.get("/runs").await;
    }
    assert_eq!(spent().await, before);
    respond(&world, &run, json!({"response": "skip"})).await;
    let end = ending(&world, &run).await;
    let (took, paused) = (end["took_ms"].as_u64().unwrap(), end["paused_ms"].as_u64().unwrap());
    assert!(paused >= 3, "{end}");
    assert_eq!(spent().await, took - paused);
}

#[tokio::test]
async fn a_request_says_what_happens_at_its_timeout() {
    let world = World::start().await;
    let write =
        json!({"command": "upload", "filename": "a.md", "description": "a", "content": "x"});
    for (nth, (timeout, action)) in [
        (json!({"enabled": true}), json!("skip")),
        (json!({"enabled": true, "on_timeout": "stop"}), json!("stop")),
        (json!({"enabled": true, "on_timeout": "stop", "timeout": 0}), Value::Null),
    ]
    .into_iter()
    .enumerate()
    {
        let question = format!("Note {nth}?");
        world.model.on(&question).say("I write.").call("file_tool", write.clone());
        let body = json!({
            "question": question, "session_id": format!("s{nth}"), "request_id": "r1",
            "human_requests": timeout,
        });
        let request = world.request(reqwest::Method::POST, "/runs").json(&body);
        let stream = world.ask_with(request).await;
        let (run, _) = (stream.run(), stream.rest().await);
        assert_eq!(world.open_requests(&run).await[0]["on_timeout"], action, "{timeout}");
    }
}
