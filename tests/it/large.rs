//! What is larger than an item of the table: it is stored whole, or refused with its bound, and nothing hangs.

use std::collections::{BTreeMap, BTreeSet};

use djinn_scripted::{RecordedRequest, ScriptedModel, ScriptedResponse};
use serde_json::{Value, json};

use crate::world::{
    Answer, Client, Door, Frame, Options, Protocol, Question, Slow, World, models, planner,
    summary, task,
};

const KB: usize = 1_000;

/// A model that takes all of it.
fn reads_everything(options: &mut Options, model: &ScriptedModel) {
    let takes = json!({"max_input_tokens": 9_000_000});
    options.vars.push(("DJINN_MODELS", models(model, &takes)));
}

/// A plan of two steps at once.
fn two_steps() -> Value {
    json!({
        "command": "create", "title": "Metals", "steps": ["gold", "silver"],
        "depends_on": [[], []],
    })
}

fn upload(name: &str, description: &str, content: &str) -> Value {
    json!({
        "command": "upload", "filename": name, "description": description, "content": content,
    })
}

#[tokio::test]
async fn a_task_asks_about_450_kb_of_arguments_and_a_person_changes_420_kb_of_them() {
    let human_requests =
        r#"{"enabled": true, "timeout": 0, "requireConfirmationTools": ["file_tool"]}"#;
    let world = World::start_with(|options, model| {
        reads_everything(options, model);
        options.vars.push(("DJINN_PEOPLE__REQUESTS", human_requests.to_owned()));
    })
    .await;
    planner(&world.model)
        .call("planning", two_steps())
        .then()
        .call("planning", json!({"command": "finish"}));
    let long = "gold, ".repeat(75 * KB);
    let wants = upload("gold.md", "all of it", &long);
    let asks = move |_: &RecordedRequest| {
        ScriptedResponse::default().call("file_tool", wants.clone()).delta_chars(64 * KB)
    };
    task(&world.model, "gold").respond_with(asks).then().reply("It is in gold.md.");
    task(&world.model, "silver").reply("There is none.");
    summary(&world.model).reply("Gold it is.$$$gold.md");
    let stream = world.ask(Protocol::Native, &deep("What of the metals?")).await;
    let run = stream.run();
    stream.rest().await;
    world.settled_paused(&run).await;

    let ask = world.open_request(&run, "s1.1.t1.c1").await;
    assert_eq!(ask["arguments"]["content"].as_str().map(str::len), Some(450 * KB));
    let changed = "Gold; ".repeat(70 * KB);
    let answer = json!({
        "response": "modify", "digest": ask["digest"],
        "parameters": upload("gold.md", "less of it", &changed),
    });
    let taken = world.respond(&run, "s1.1.t1.c1", &answer).await;
    // On a busy machine the run may not have been heard of yet.
    assert!([200, 202].contains(&taken.status), "{}", taken.text);
    let frames = whole(&world, &run).await;
    let end = frames.last().unwrap().json();
    assert_eq!((&end["status"], &end["answer"]), (&json!("finished"), &json!("Gold it is.")));
    let written = &end["files"][0];
    assert_eq!((&written["name"], &written["size"]), (&json!("gold.md"), &json!(420 * KB)));
}

#[tokio::test]
async fn two_tasks_at_once_hand_over_120_long_described_files_each() {
    let world = World::start_with(reads_everything).await;
    planner(&world.model)
        .call("planning", two_steps())
        .then()
        .call("planning", json!({"command": "finish"}));
    let description = "长".repeat(1_500);
    for metal in ["gold", "silver"] {
        let mut rule = task(&world.model, metal);
        for turn in 0..4 {
            let calls = (0..30).map(|nth| {
                let name = format!("{metal}-{}.md", turn * 30 + nth);
                ("file_tool", upload(&name, &description, metal))
            });
            rule = rule.calls(calls).delta_chars(64 * KB).then();
        }
        rule.reply(format!("All of {metal} is written down."));
    }
    summary(&world.model).reply("Both are known.");
    let stream = world.ask(Protocol::Native, &deep("What of the metals?")).await;
    let run = stream.run();
    stream.rest().await;
    let frames = whole(&world, &run).await;
    let ends = frames.iter().filter(|frame| frame.event() == "child.ended").map(Frame::json);
    // One that ended a response is sent once more.
    let ends: BTreeMap<String, Value> =
        ends.map(|end| (end["child"].to_string(), end["status"].clone())).collect();
    assert_eq!(ends.into_values().collect::<Vec<_>>(), ["finished", "finished"]);
    let end = frames.last().unwrap().json();
    assert_eq!((&end["status"], &end["answer"]), (&json!("finished"), &json!("Both are known.")));
    let listed = json!({"requestId": "s1", "page": 1, "pageSize": 1});
    let listed = world.post("/v1/file_tool/get_file_list", &listed).await;
    // The plan is a file, too.
    assert_eq!(listed.json()["totalSize"], 241, "{}", listed.text);
}

#[tokio::test]
async fn a_plan_of_200_kb_is_taken_and_one_beyond_its_bounds_is_refused_with_them() {
    let model = ScriptedModel::start().await.unwrap();
    let slow = Slow::new();
    let mut door = Door::open(
        &model,
        |_| {},
        |parts| parts.ports.tools = parts.ports.tools.clone().with_tool(slow.clone()),
    );
    let client = door.listen().await;
    let plan = json!({
        "command": "create", "title": "T".repeat(500 * KB), "steps": ["gold", "silver"],
        "depends_on": [[], [1]],
    });
    planner(&model).call("planning", plan).delta_chars(64 * KB);
    task(&model, "gold").call("slow", json!({}));
    model.on("xxxxxxxx").reply("It is known.").always();
    let stream = client.ask(Protocol::Native, &deep("What of the metals?")).await;
    let run = stream.run();
    slow.started.acquire().await.unwrap().forget();
    let steps = |bytes: usize| {
        let step = |nth: usize| json!({"details": format!("{nth:02} {}", "x".repeat(bytes))});
        (0..99).map(step).collect::<Vec<_>>()
    };
    let patch = async |title: String, steps: Vec<Value>| {
        let body = json!({"version": 1, "title": title, "steps": steps});
        let request = client.request(reqwest::Method::PATCH, &format!("/runs/{run}/plan"));
        Answer::of(request.json(&body).send().await.unwrap()).await
    };
    for (title, steps, code, field, bound) in [
        ("T".repeat(390 * KB), steps(10), "too_long", "title", "at most 1024 bytes"),
        (String::new(), steps(5_000), "too_long", "steps", "at most 2048 bytes"),
        (
            String::new(),
            [steps(10), steps(10)].concat(),
            "invalid_field",
            "steps",
            "at most 100 steps",
        ),
    ] {
        let refused = patch(title, steps).await;
        let body = refused.json();
        let about = (&body["code"], body["field"].as_str(), body["retryable"].as_bool());
        assert_eq!(refused.status, 400, "{}", refused.text);
        assert_eq!(about, (&json!(code), Some(field), Some(false)));
        assert!(body["message"].as_str().unwrap().contains(bound), "{}", refused.text);
    }
    let taken = patch("Metals".to_owned(), steps(2_000)).await;
    assert!([200, 202].contains(&taken.status), "{}", taken.text);
    let changes = |frames: &[Frame]| -> Vec<Value> {
        let changed = frames.iter().filter(|frame| frame.event() == "plan.changed");
        // A client without a cursor begins anew, and is told of a plan again.
        let mut plans: Vec<Value> = Vec::new();
        for plan in changed.map(|frame| frame.json()["plan"].clone()) {
            if !plans.contains(&plan) {
                plans.push(plan);
            }
        }
        plans
    };
    // Told by their cursors: a client that parsed all of them at every frame would be too slow for its buffer.
    let has_both = |frames: &[Frame]| {
        let changed = frames.iter().filter(|frame| frame.event() == "plan.changed");
        changed.filter_map(Frame::id).collect::<BTreeSet<_>>().len() >= 2
    };
    let seen = read_until(&client, &run, has_both).await;
    let [first, second] = &changes(&seen)[..] else { panic!("{seen:?}") };
    // What the planner had called it was cut.
    assert_eq!(first["title"].as_str().map(str::len), Some(1024));
    assert_eq!(second["title"], "Metals");
    assert_eq!(second["steps"].as_array().map(Vec::len), Some(100));
    assert!(client.stop(&run).await.status < 300);
    let frames = whole(&client, &run).await;
    assert_eq!(frames.last().unwrap().json()["status"], "stopped");
}

fn deep(text: &str) -> Question {
    Question::of(text, "s1").deep()
}

/// A run from its beginning to its end, which is waited for.
async fn whole(client: &Client, run: &str) -> Vec<Frame> {
    let has_ended =
        |frames: &[Frame]| frames.last().is_some_and(|frame| frame.event() == "run.ended");
    read_until(client, run, has_ended).await
}

/// A run from its beginning on, until enough is read of it. What is longer than a response's buffer ends
/// that, and the client comes back where it was.
async fn read_until(client: &Client, run: &str, enough: impl Fn(&[Frame]) -> bool) -> Vec<Frame> {
    let mut frames: Vec<Frame> = Vec::new();
    while !enough(&frames) {
        let cursor = frames.iter().rev().find_map(Frame::id).map(str::to_owned);
        let mut stream = client.come_back(run, cursor.as_deref()).await;
        assert_eq!(stream.status, 200, "{run} cannot be read");
        while !enough(&frames)
            && let Some(frame) = stream.next().await
        {
            frames.push(frame);
        }
    }
    frames
}
