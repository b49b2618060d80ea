//! Workflows over HTTP: fixed steps without a planner, in every protocol.

use std::fs;
use std::path::Path;

use djinn_local::{System, SystemOptions};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::human_requests::ending;
use crate::own_texts;
use crate::world::{Answer, Client, Frame, World, quick, task, task_of};

const WEEKLY: &str = r#"title: Weekly report
description: Reports on a table.
parameters:
  type: object
  properties:
    file: {type: string, description: The table.}
    detail: {type: string, enum: [full, short], default: short}
  required: [file]
steps:
  - {id: split, task: "List the regions of {{ file }}."}
  - {id: region, for_each: steps.split, task: "Report on {{ item }}.", on_error: skip}
  - {id: check, task: "Check {{ steps.region }}.", when: detail == full, confirm: true}
  - {id: sum, depends_on: [region, check], task: "Sum up {{ steps.region }}."}
answer: "Regions: {{ steps.sum }}"
"#;

const BRIEF: &str = "title: Brief\ndescription: Writes a brief.\nparameters:\n  type: object\n  properties:\n    \
                     task: {type: string}\n    words: {type: integer}\n  required: [task]\nsteps:\n  - {id: a, task: \
                     'Write on {{ task }} in {{ words }} words.'}\n";

fn write(folder: &Path, name: &str, text: &str) {
    let path = folder.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// A deployment with these workflows, and its configuration folder.
async fn start(workflows: &[(&str, &str)], vars: &[(&'static str, &str)]) -> (World, [TempDir; 2]) {
    let (home, folder) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    for (name, text) in workflows {
        write(folder.path(), &format!("workflows/{name}.yaml"), text);
    }
    let config = [("DJINN_CONFIG", folder.path().to_str().unwrap())];
    let vars: Vec<_> = config.into_iter().chain(vars.iter().copied()).collect();
    (own_texts::start(&home, &vars).await, [home, folder])
}

async fn ask(world: &World, body: &Value) -> Vec<Frame> {
    let request = world.request(reqwest::Method::POST, "/runs").json(body);
    world.ask_with(request).await.rest().await
}

fn weekly(arguments: Value) -> Value {
    let mut arguments = arguments;
    arguments["workflow"] = "weekly".into();
    json!({"mode": "workflow", "arguments": arguments, "session_id": "s1", "request_id": "r1"})
}

fn of<'a>(frames: &'a [Frame], event: &'a str) -> impl Iterator<Item = Value> + 'a {
    frames.iter().filter(move |frame| frame.event() == event).map(Frame::json)
}

/// What the steps reply.
fn script(world: &World) {
    task(&world.model, "List the regions of sales.csv.").reply(r#"["North", "South"]"#);
    task(&world.model, "Report on North.").reply("North grew.");
    task(&world.model, "Report on South.").reply("South shrank.");
    task(&world.model, "Sum up `region`.").reply("North grew and South shrank.");
}

#[tokio::test]
async fn a_workflow_runs_its_steps_and_writes_its_answer_without_a_model() {
    let (world, _folders) = start(&[("weekly", WEEKLY)], &[]).await;
    script(&world);
    let frames = ask(&world, &weekly(json!({"file": "sales.csv"}))).await;
    let started = of(&frames, "run.started").next().unwrap();
    assert_eq!(started["mode"], "weekly");
    let end = frames.last().unwrap().json();
    assert_eq!(end["answer"], "Regions: North grew and South shrank.");
    assert_eq!((&end["status"], &end["spent"]["model_calls"]), (&json!("finished"), &json!(4)));
    let requests = world.model.requests();
    let tasks: Vec<&str> = requests.iter().filter_map(|request| task_of(request)).collect();
    assert_eq!(tasks.len(), 4, "every call is a step's: {tasks:?}");
    // The results are data of the last step.
    let text = requests.last().unwrap().text();
    assert!(
        text.contains("## region (North)") && text.contains("<untrusted>\nNorth grew."),
        "{text}"
    );
    let plans: Vec<usize> = of(&frames, "plan.changed")
        .map(|event| event["plan"]["steps"].as_array().unwrap().len())
        .collect();
    assert_eq!(plans, [4, 5], "the list became steps");
    let skipped = of(&frames, "step.changed").find(|event| event["status"] == "skipped").unwrap();
    assert_eq!(skipped["step"], "s3", "{skipped}");
    // The same request is the same run.
    let again = ask(&world, &weekly(json!({"file": "sales.csv"}))).await;
    assert_eq!(again.last().unwrap().json()["answer"], end["answer"]);
    assert_eq!(world.model.requests().len(), 4);
}

#[tokio::test]
async fn workflows_are_modes_with_their_parameters_at_the_next_question() {
    let (world, [_, folder]) = start(&[("weekly", WEEKLY)], &[]).await;
    let names = |list: &Value| {
        let modes = list["modes"].as_array().unwrap().iter();
        modes.map(|mode| mode["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let find = |list: &Value, name: &str| {
        list["modes"].as_array().unwrap().iter().find(|mode| mode["name"] == name).unwrap().clone()
    };
    let list = world.get("/modes").await.json();
    assert_eq!(
        names(&list),
        ["react", "comprehensive", "data_query", "plan_solve", "router", "weekly", "workflow"]
    );
    let any = find(&list, "workflow");
    assert_eq!((&any["agent_type"], &any["title"]), (&json!(2), &json!("Workflow")));
    assert_eq!(any["parameters"]["properties"]["workflow"]["enum"], json!(["weekly"]));
    let weekly = find(&list, "weekly");
    assert_eq!(weekly["title"], "Weekly report");
    assert_eq!(weekly["parameters"]["required"], json!(["file"]));

    write(folder.path(), "workflows/brief.yaml", BRIEF);
    let list = world.get("/modes").await.json();
    assert_eq!(
        names(&list),
        [
            "react",
            "brief",
            "comprehensive",
            "data_query",
            "plan_solve",
            "router",
            "weekly",
            "workflow"
        ]
    );
    // A mode of its own name, with the question as its task.
    task(&world.model, "Write on gold in 9 words.").reply("Gold is dear.");
    let body = json!({"question": "gold", "mode": "brief", "arguments": {"words": 9}});
    assert_eq!(ask(&world, &body).await.last().unwrap().json()["answer"], "Gold is dear.");

    fs::remove_dir_all(folder.path().join("workflows")).unwrap();
    assert_eq!(
        names(&world.get("/modes").await.json()),
        ["react", "comprehensive", "data_query", "plan_solve", "router"]
    );
}

#[tokio::test]
async fn a_broken_workflow_keeps_its_last_version_and_is_named_to_clients() {
    let (world, [_, folder]) = start(&[("brief", BRIEF)], &[]).await;
    let broken = BRIEF.replace("{{ words }}", "{{ wrods }}");
    write(folder.path(), "workflows/brief.yaml", &broken);
    task(&world.model, "Write on gold in 9 words.").reply("Gold is dear.");
    let body = json!({"question": "gold", "mode": "brief", "arguments": {"words": 9}});
    let frames = ask(&world, &body).await;
    let warnings = of(&frames, "run.started").next().unwrap()["warnings"].clone();
    let path = folder.path().join("workflows/brief.yaml").display().to_string();
    let says =
        format!("{path}:10: `task` uses `wrods`, which is not a parameter: did you mean `words`?");
    assert_eq!(warnings, json!([says]));
}

#[tokio::test]
async fn a_person_approves_a_step_and_the_plan_is_edited_meanwhile() {
    let (world, _folders) =
        start(&[("weekly", WEEKLY)], &[("DJINN_PEOPLE__REQUESTS", r#"{"timeout": 0}"#)]).await;
    script(&world);
    task(&world.model, "Check `region`.").reply("It is right.");
    let request = world
        .request(reqwest::Method::POST, "/runs")
        .json(&weekly(json!({"file": "sales.csv", "detail": "full"})));
    let stream = world.ask_with(request).await;
    let run = stream.run();
    let frames = stream.rest().await;
    let asked = of(&frames, "human.requested").next().unwrap();
    assert_eq!(
        (&asked["requests"][0]["step"], &asked["requests"][0]["details"]),
        (&json!("s3"), &json!("Check `region`."))
    );
    // A turn that could read a message does not exist.
    let told = world.post(&format!("/runs/{run}/messages"), &json!({"text": "Be quick."})).await;
    assert_eq!((told.status, &told.json()["code"]), (409, &json!("run_ended")));
    let version = world.get(&format!("/runs/{run}")).await.json()["plan_version"].clone();
    let steps = json!([
        {"id": "s3", "details": "Check `region`."},
        {"id": "s4", "details": "Sum up `region` in one word.", "depends_on": ["s3"]},
    ]);
    let request = world.request(reqwest::Method::PATCH, &format!("/runs/{run}/plan"));
    let request = request.json(&json!({"version": version, "steps": steps}));
    let edited = Answer::of(request.send().await.unwrap()).await;
    assert_eq!(edited.status, 200, "{}", edited.text);
    task(&world.model, "Sum up `region` in one word.").reply("Growth.");
    let answered = world.respond(&run, "steps.s3", &json!({"response": "confirm"})).await;
    assert_eq!(answered.status, 200, "{}", answered.text);
    assert_eq!(ending(&world, &run).await["answer"], "Regions: Growth.");
}

#[tokio::test]
async fn missing_arguments_are_asked_for_where_people_may_be_asked() {
    let clarify = r#"{"timeout": 0, "agents": {"workflow": {"clarify": true, "timeout": 0}}}"#;
    let (world, _folders) =
        start(&[("weekly", WEEKLY)], &[("DJINN_PEOPLE__REQUESTS", clarify)]).await;
    script(&world);
    let request = world.request(reqwest::Method::POST, "/runs").json(&weekly(json!({})));
    let stream = world.ask_with(request).await;
    let run = stream.run();
    let frames = stream.rest().await;
    let asked = of(&frames, "human.requested").next().unwrap()["requests"][0].clone();
    assert_eq!(
        (&asked["tool"], &asked["arguments"]["questions"]),
        (&json!("ask_user"), &json!(["file: The table."]))
    );
    let answered = world.respond(&run, "before.c1", &json!({"response": "sales.csv"})).await;
    assert_eq!(answered.status, 200, "{}", answered.text);
    let end = ending(&world, &run).await;
    assert_eq!(end["answer"], "Regions: North grew and South shrank.");
}

#[tokio::test]
async fn joyagent_names_a_workflow_and_its_arguments_in_lines() {
    let (world, _folders) = start(&[("weekly", WEEKLY), ("brief", BRIEF)], &[]).await;
    let body = |query: &str, request: &str| json!({"query": query, "sessionId": "s1", "requestId": request, "agentType": 2, "isStream": true});
    script(&world);
    let request = world
        .request(reqwest::Method::POST, "/AutoAgent")
        .json(&body("Weekly report\nfile: sales.csv", "r1"));
    let frames = world.ask_with(request).await.rest().await;
    let events: Vec<Value> = frames.iter().map(Frame::raw).collect();
    let types: Vec<&str> =
        events.iter().filter_map(|event| event["messageType"].as_str()).collect();
    for word in ["plan", "task", "task_summary", "result"] {
        assert!(types.contains(&word), "{word}: {types:?}");
    }
    assert!(!types.contains(&"plan_thought"), "{types:?}");
    let numbers = events.iter().filter_map(|event| event["resultMap"].get("agentType"));
    assert!(numbers.clone().count() > 0 && numbers.clone().all(|number| *number == 2));
    let result = events.iter().find(|event| event["messageType"] == "result").unwrap();
    assert!(result.to_string().contains("Regions: North grew and South shrank."), "{result}");

    task(&world.model, "Write on gold in 9 words.").reply("Gold is dear.");
    let request = world
        .request(reqwest::Method::POST, "/AutoAgent")
        .json(&body("brief\nwords: 9\ngold", "r2"));
    let frames = world.ask_with(request).await.rest().await;
    assert!(frames.iter().any(|frame| frame.raw().to_string().contains("Gold is dear.")));

    for (query, says) in [
        ("Report, please.", "names no workflow in its first line: there are `brief`, `weekly`"),
        ("weekly", "lacks what the workflow `weekly` needs, `file`: write a line `file: VALUE`"),
        ("brief", "only names the workflow: write its task in the next line"),
    ] {
        let refused = world.post("/AutoAgent", &body(query, "r3")).await;
        let json = refused.json();
        assert_eq!((refused.status, &json["field"]), (400, &json!("query")), "{}", refused.text);
        assert!(json["message"].as_str().unwrap().contains(says), "{}", refused.text);
    }
}

#[tokio::test]
async fn a_question_that_no_workflow_can_answer_is_rejected_with_its_field() {
    let (world, _folders) = start(&[("weekly", WEEKLY), ("brief", BRIEF)], &[]).await;
    let ask = |mode: &str, arguments: Value| json!({"mode": mode, "arguments": arguments});
    for (body, field, says) in [
        (
            ask("workflow", json!({"workflow": "weakly"})),
            "arguments.workflow",
            "did you mean `weekly`? there are `brief`, `weekly`",
        ),
        (ask("workflow", json!({"workflow": 7})), "arguments.workflow", "names no workflow"),
        (
            ask("workflow", json!({"file": "a.csv"})),
            "question",
            "names no workflow in its first line",
        ),
        (
            ask("workflow", json!({"workflow": "weekly"})),
            "arguments.file",
            "is missing: the workflow `weekly` needs `file`",
        ),
        (ask("weekly", json!({"file": 3})), "arguments.file", "is not valid"),
        (ask("weekly", json!({"file": "a", "detail": "ful"})), "arguments.detail", "is not valid"),
        (ask("weekly", json!({"file": "a", "fiel": "b"})), "arguments.fiel", "is not an argument"),
        (ask("workflow", json!({"workflow": "brief"})), "arguments.task", "is missing"),
    ] {
        let refused = world.post("/runs", &body).await;
        let json = refused.json();
        let found = (refused.status, &json["code"], &json["field"]);
        assert_eq!(found, (400, &json!("invalid_field"), &json!(field)), "{}", refused.text);
        assert!(json["message"].as_str().unwrap().contains(says), "{}", refused.text);
    }
    assert_eq!(world.get("/runs").await.json()["runs"], json!([]));
    // Without workflows there is no such mode.
    let (world, _folders) = start(&[], &[]).await;
    let refused = world.post("/runs", &ask("workflow", json!({"workflow": "weekly"}))).await;
    assert_eq!((refused.status, &refused.json()["code"]), (400, &json!("unknown_agent")));
}

#[tokio::test]
async fn a_step_whose_agent_rejects_its_arguments_fails_and_says_so() {
    let text = "description: x\nsteps:\n  - {id: a, agent: reviewer, arguments: {question: '', answer: x}, task: Judge.}\n";
    let (world, _folders) = start(&[("judge", text)], &[]).await;
    let frames = ask(&world, &json!({"mode": "judge", "question": "Judge."})).await;
    let end = frames.last().unwrap().json();
    assert_eq!(
        (&end["status"], &end["failure"]["code"]),
        (&json!("failed"), &json!("step_failed"))
    );
    let detail = end["failure"]["detail"].as_str().unwrap();
    assert!(
        detail.starts_with("`a`. The workflow names an agent that cannot be called: `reviewer`: "),
        "{detail}"
    );
    assert_eq!(world.model.requests().len(), 0);
}

#[tokio::test]
async fn the_example_writes_its_report_with_the_demo_model() {
    // Its settings need the key of a model, and ask people.
    let folder = TempDir::new().unwrap();
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/config");
    for place in ["agents", "workflows"] {
        fs::create_dir(folder.path().join(place)).unwrap();
        for entry in fs::read_dir(examples.join(place)).unwrap() {
            let path = entry.unwrap().path();
            fs::copy(&path, folder.path().join(place).join(path.file_name().unwrap())).unwrap();
        }
    }
    let config = folder.path().display().to_string();
    let options = SystemOptions {
        settings: Some(quick()),
        var: Box::new(move |name| (name == "DJINN_CONFIG").then(|| config.clone())),
        ..SystemOptions::default()
    };
    let system = System::start(options).await.unwrap();
    let client = Client::new(format!("http://{}", system.address()));
    let csv = "region,year,sales\nNorth,2021,100\nNorth,2024,150\nSouth,2021,200\nSouth,2024,210\n";
    client.upload("s1", "sales.csv", csv).await;
    let arguments = json!({"workflow": "weekly", "file": "sales.csv"});
    let body = json!({"mode": "workflow", "arguments": arguments, "session_id": "s1"});
    let request = client.request(reqwest::Method::POST, "/runs").json(&body);
    let frames = client.ask_with(request).await.rest().await;
    let end = frames.last().unwrap().json();
    assert_eq!(end["status"], "finished", "{end}");
    let answer = end["answer"].as_str().unwrap();
    assert!(answer.starts_with("The weekly report on sales.csv is written."), "{answer}");
    let names: Vec<&str> = end["files"]
        .as_array()
        .unwrap()
        .iter()
        .map(|file| file["name"].as_str().unwrap())
        .collect();
    assert!(names.iter().any(|name| name.starts_with("weekly-report")), "{names:?}");
    let started: Vec<String> = of(&frames, "child.started")
        .map(|child| child["description"].as_str().unwrap().to_owned())
        .collect();
    assert!(
        started.iter().any(|task| task == "North: write a report on this region from sales.csv"),
        "{started:?}"
    );
}
