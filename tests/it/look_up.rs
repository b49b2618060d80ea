//! Looking things up: runs, sessions, what was said in one, and deleting it.

use djinn_core::budget::Budget;
use djinn_core::id::{RunId, TenantId};
use djinn_runtime::port::RunKey;
use djinn_runtime::port::journal::Journals as _;
use djinn_scripted::ScriptedModel;
use serde_json::{Value, json};

use crate::world::{
    COMPARE, Client, Door, Protocol, QUESTION, Question, REGIONS, SALES, World, caller_v1,
    caller_v2, not_local, planner, script, script_plan, step, task,
};

const ANNA: &str = "arn:aws:sts::123456789012:assumed-role/Analyst/anna@example.com";
const CARL: &str = "arn:aws:iam::123456789012:user/carl";
const MALLORY: &str = "arn:aws:sts::999999999999:assumed-role/Analyst/anna@example.com";

async fn shown(client: &Client, run: &str) -> Value {
    let answer = client.get(&format!("/runs/{run}")).await;
    assert_eq!((answer.status, answer.header("djinn-run-id")), (200, run), "{}", answer.text);
    answer.json()
}

/// The values of a member of each item.
fn each(items: &Value, member: &str) -> Vec<String> {
    let items = items.as_array().unwrap().iter();
    items.map(|item| item[member].as_str().unwrap_or("null").to_owned()).collect()
}

#[tokio::test]
async fn a_run_is_shown_at_work_and_when_it_has_ended() {
    let world = World::start().await;
    let upload = json!({"command": "upload", "filename": "a.md", "content": "A"});
    let rule = world.model.on("What lasts?").say("I write.").call("file_tool", upload);
    let gate = rule.usage(100, 10, 50).then().reply("This lasts.").usage(200, 20, 0).gate(1);
    let question = Question::of("What lasts?", "s1");
    let stream = world.ask(Protocol::Native, &question).await;
    let run = stream.run();
    gate.wait_until_reached().await;
    let at_work = shown(&world, &run).await;
    let limit = Budget::default();
    assert_eq!(at_work["status"], "running");
    assert_eq!((&at_work["question"], &at_work["mode"]), (&json!("What lasts?"), &json!("react")));
    assert_eq!((&at_work["session"], &at_work["request"]), (&json!("s1"), &json!("r1")));
    assert_eq!((&at_work["plan"], &at_work["children"]), (&Value::Null, &json!([])));
    assert_eq!(at_work["budget"]["steps"], json!({"limit": limit.steps, "spent": 1}));
    assert_eq!(at_work["budget"]["tokens"], json!({"limit": limit.tokens, "spent": 110}));
    assert_eq!(at_work["budget"]["wall_ms"]["limit"], limit.wall_ms);
    assert_eq!((&at_work["ended_at_ms"], at_work.get("answer")), (&Value::Null, None));
    let usage = json!({
        "model_calls": 1, "tool_calls": 1, "input_tokens": 100, "output_tokens": 10,
        "cached_tokens": 50, "lost_calls": 0, "micro_usd": 0,
    });
    assert_eq!(at_work["usage"], usage);

    gate.open();
    let told = stream.rest().await;
    let (end, ended) = (told.last().unwrap().json(), shown(&world, &run).await);
    assert_eq!((&ended["status"], &ended["answer"]), (&json!("finished"), &json!("This lasts.")));
    assert_eq!((&ended["files"], &ended["failure"]), (&end["files"], &Value::Null));
    assert_eq!(ended["files"][0]["name"], "a.md");
    assert_eq!(ended["budget"]["steps"]["spent"], end["spent"]["steps"]);
    assert_eq!(ended["budget"]["wall_ms"]["spent"], end["took_ms"]);
    let took = ended["ended_at_ms"].as_i64().unwrap() - ended["started_at_ms"].as_i64().unwrap();
    assert_eq!(end["took_ms"], took);
}

#[tokio::test]
async fn a_plan_is_shown_with_its_steps_and_the_tasks_at_work() {
    let world = World::start().await;
    let steps = REGIONS.map(step);
    let create = json!({
        "command": "create", "title": "Regions", "steps": steps, "depends_on": [[], [], [1, 2]],
    });
    planner(&world.model).say("I plan.").call("planning", create);
    task(&world.model, &steps[0]).reply("North grew.");
    let gate = task(&world.model, &steps[1]).reply("South grew.").gate(1);
    let mut stream = world.ask(Protocol::Native, &Question::of(COMPARE, "s1").deep()).await;
    stream.until(|frame| frame.event() == "child.ended").await;
    gate.wait_until_reached().await;
    let run = stream.run();
    let at_work = shown(&world, &run).await;
    assert_eq!(at_work["mode"], "plan_solve");
    let plan = &at_work["plan"];
    assert_eq!((&plan["title"], each(&plan["steps"], "id")[2].as_str()), (&json!("Regions"), "s3"));
    let statuses = each(&plan["steps"], "status");
    assert_eq!(statuses, ["completed", "in_progress", "not_started"]);
    assert_eq!(plan["steps"][2]["depends_on"], json!(["s1", "s2"]));
    assert_eq!(at_work["children"], json!([{"child": "s2.1", "description": steps[1]}]));
    assert_eq!(world.stop(&run).await.status, 202);
    stream.rest().await;
    let ended = shown(&world, &run).await;
    assert_eq!((&ended["status"], &ended["children"]), (&json!("stopped"), &json!([])));
    assert_eq!(ended["plan"]["steps"][0]["status"], "completed");
}

#[tokio::test]
async fn a_run_that_failed_says_why() {
    let world = World::start().await;
    world.model.on("Will it fail?").status(400);
    let stream = world.ask(Protocol::Native, &Question::of("Will it fail?", "s1")).await;
    let (run, told) = (stream.run(), stream.rest().await);
    let (end, failed) = (told.last().unwrap().json(), shown(&world, &run).await);
    assert_eq!((&failed["status"], &failed["answer"]), (&json!("failed"), &json!("")));
    let (failure, known) = (&failed["failure"], &end["failure"]);
    assert_eq!((&failure["code"], &failure["detail"]), (&known["code"], &known["detail"]));
    assert!(failure["message"].as_str().unwrap().starts_with("The model provider rejected"));
    assert_eq!(each(&world.get("/runs?status=failed").await.json()["runs"], "run"), [run]);
}

#[tokio::test]
async fn runs_are_listed_by_their_status_page_by_page() {
    let world = World::start().await;
    world.model.on("Done?").reply("Done.").always();
    for nth in 0..5 {
        world.told(&Question::of("Done?", &format!("s{nth}"))).await;
    }
    world.model.on("What hangs?").reply("So far").hang_after(1);
    let hangs = world.ask(Protocol::Native, &Question::of("What hangs?", "s9")).await;
    let list = |query: &str| {
        let path = format!("/runs?{query}");
        let world = &world;
        async move { world.get(&path).await.json() }
    };
    let all = list("").await;
    assert_eq!(each(&all["runs"], "session"), ["s9", "s4", "s3", "s2", "s1", "s0"]);
    let first = &all["runs"][0];
    assert_eq!((&first["run"], &first["status"]), (&json!(hangs.run()), &json!("running")));
    assert_eq!((&first["title"], &first["request"]), (&json!("What hangs?"), &json!("r1")));
    assert_eq!((&first["ended_at_ms"], &all["next"]), (&Value::Null, &Value::Null));
    assert_eq!(each(&list("status=running").await["runs"], "session"), ["s9"]);
    for none in ["paused", "failed", "stopped", "queued"] {
        assert_eq!(list(&format!("status={none}")).await["runs"], json!([]), "{none}");
    }
    let (mut seen, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = list(&format!("status=finished&limit=2&cursor={cursor}")).await;
        seen.extend(each(&page["runs"], "session"));
        match page["next"].as_str() {
            Some(next) => cursor = next.to_owned(),
            None => break,
        }
    }
    assert_eq!(seen, ["s4", "s3", "s2", "s1", "s0"]);
    assert_eq!(world.stop(&hangs.run()).await.status, 202);
    hangs.rest().await;
    assert_eq!(each(&list("status=stopped").await["runs"], "session"), ["s9"]);
}

#[tokio::test]
async fn a_session_shows_what_was_said_and_its_files() {
    let world = World::start().await;
    script(&world.model, QUESTION);
    world.upload("s1", "sales.csv", SALES).await;
    assert_eq!(world.get("/sessions/s1").await.status, 404, "nothing was asked in it yet");
    let first = world.ask(Protocol::Native, &Question::of(QUESTION, "s1")).await;
    let first = (first.run(), first.rest().await).0;
    world.model.on("And before?").reply("Before").hang_after(1);
    let question = Question::new("And before?").session("s1").request("r2");
    let stream = world.ask(Protocol::Native, &question).await;
    let session = world.get("/sessions/s1").await.json();
    assert_eq!((&session["session"], &session["title"]), (&json!("s1"), &json!(QUESTION)));
    assert_eq!(each(&session["turns"], "status"), ["running", "finished"]);
    assert_eq!(each(&session["turns"], "run"), [stream.run(), first]);
    assert_eq!(each(&session["turns"], "request"), ["r2", "r1"]);
    assert_eq!(each(&session["turns"], "question"), ["And before?", QUESTION]);
    let answer = "East grew fastest: 55.9 % from 2021 to 2024.";
    assert_eq!(each(&session["turns"], "answer"), ["null", answer]);
    assert_eq!(each(&session["files"], "name"), ["growth.md", "sales.csv"]);
    assert!(session["files"][0]["object"].is_null(), "where its bytes lie is ours to know");
    let link = session["files"][1]["download_url"].as_str().unwrap();
    assert_eq!(world.follow(link).await.text, SALES);
    let page = world.get("/sessions/s1?limit=1").await.json();
    assert_eq!((page["turns"].as_array().unwrap().len(), &page["next"]), (2, &Value::Null));
    world.stop(&stream.run()).await;
    stream.rest().await;
    let page = world.get("/sessions/s1?limit=1").await.json();
    assert_eq!(each(&page["turns"], "request"), ["r2"]);
    let next = page["next"].as_str().unwrap();
    let page = world.get(&format!("/sessions/s1?limit=1&cursor={next}")).await.json();
    assert_eq!(
        (each(&page["turns"], "request"), &page["next"]),
        (vec!["r1".to_owned()], &json!(null))
    );
}

#[tokio::test]
async fn sessions_are_listed_by_their_newest_question_and_may_be_renamed() {
    let world = World::start().await;
    world.model.on("Done").reply("Done.").always();
    for (session, request) in [("a", "r1"), ("b", "r1"), ("c", "r1"), ("a", "r2")] {
        let question = Question::new(&format!("Done, {session} {request}?"));
        world.told(&question.session(session).request(request)).await;
    }
    let all = world.get("/sessions").await.json();
    assert_eq!(each(&all["sessions"], "session"), ["a", "c", "b"]);
    assert_eq!(all["sessions"][0]["title"], "Done, a r1?");
    assert_eq!(all["sessions"][0]["newest_question"], "Done, a r2?");
    assert_eq!(all["shared"], json!([]));
    let times = |at: usize, name: &str| all["sessions"][at][name].as_i64().unwrap();
    assert!(times(0, "last_active_at_ms") >= times(1, "last_active_at_ms"));
    assert!(times(0, "started_at_ms") <= times(2, "started_at_ms"));
    let page = world.get("/sessions?limit=2").await.json();
    assert_eq!(each(&page["sessions"], "session"), ["a", "c"]);
    let next = page["next"].as_str().unwrap();
    let page = world.get(&format!("/sessions?limit=2&cursor={next}")).await.json();
    assert!(page.get("shared").is_none(), "{page}");
    assert_eq!(
        (each(&page["sessions"], "session"), &page["next"]),
        (vec!["b".to_owned()], &json!(null))
    );

    let title = "  Über\n金 ".to_owned() + &"x".repeat(193);
    let renamed = world.post("/sessions/b/title", &json!({"title": title})).await;
    let title = format!("Über 金 {}", "x".repeat(193));
    assert_eq!((renamed.status, renamed.json()), (200, json!({"session": "b", "title": title})));
    world.told(&Question::new("Done, once more?").session("b").request("r9")).await;
    let all = world.get("/sessions").await.json();
    assert_eq!(
        (&all["sessions"][0]["session"], &all["sessions"][0]["title"]),
        (&json!("b"), &json!(title))
    );
    assert_eq!(world.get("/sessions/b").await.json()["title"], title);
}

#[tokio::test]
async fn a_session_is_deleted_with_all_that_is_in_it_but_not_while_it_answers() {
    let world = World::start().await;
    script_plan(&world.model);
    world.upload("s1", "sales.csv", SALES).await;
    let stream = world.ask(Protocol::Native, &Question::of(COMPARE, "s1").deep()).await;
    let (deep, told) = (stream.run(), stream.rest().await);
    let link = told.last().unwrap().json()["files"][0]["download_url"].as_str().unwrap().to_owned();
    let object = world.client.follow(&link).await;
    assert_eq!(object.text, "# Regions\n");
    world.model.on("What hangs?").reply("So far").hang_after(1);
    let question = Question::new("What hangs?").session("s1").request("r2");
    let hangs = world.ask(Protocol::Native, &question).await;

    let busy = world.delete("/sessions/s1").await;
    assert_eq!((busy.status, &busy.json()["code"]), (409, &json!("session_busy")));
    assert_eq!(busy.header("djinn-run-id"), hangs.run());
    assert!(busy.json()["message"].as_str().unwrap().contains("stop it first"));
    world.stop(&hangs.run()).await;
    let hung = (hangs.run(), hangs.rest().await).0;

    let gone = world.delete("/sessions/s1").await;
    assert_eq!((gone.status, gone.text.as_str()), (204, ""));
    let ports = world.system.ports();
    let tenant = TenantId::new("local").unwrap();
    for run in [&deep, &hung] {
        for path in [format!("/runs/{run}"), format!("/runs/{run}/events")] {
            let answer = world.get(&path).await;
            assert_eq!((answer.status, &answer.json()["code"]), (404, &json!("run_not_found")));
        }
        let key = RunKey::new(tenant.clone(), RunId::new(run.as_str()).unwrap());
        let task = key.with_child(djinn_core::id::ChildId::for_step(1, 1));
        for key in [key, task] {
            assert!(ports.store.read_from(&key, 0).await.unwrap().is_empty());
        }
    }
    assert_eq!(world.get("/runs").await.json()["runs"], json!([]));
    assert_eq!(world.get("/sessions").await.json()["sessions"], json!([]));
    let file = json!({"requestId": "s1", "fileName": "regions.md"});
    assert_eq!(world.post("/v1/file_tool/get_file", &file).await.status, 404);
    for path in ["/sessions/s1", "/sessions/s2"] {
        let again = world.delete(path).await;
        assert_eq!((again.status, &again.json()["code"]), (404, &json!("session_not_found")));
    }
    // The label begins a new conversation, whose model knows nothing of the old one.
    world.model.on("Who are you?").reply("A stranger.");
    world.told(&Question::of("Who are you?", "s1")).await;
    assert_eq!(world.model.last_request().unwrap().messages().len(), 1);
}

#[tokio::test]
async fn what_is_anothers_is_not_there() {
    let model = ScriptedModel::start().await.unwrap();
    let door = Door::open(&model, |_| {}, not_local);
    model.on("What is secret?").reply("This.");
    let question = json!({"question": "What is secret?", "session_id": "s1", "request_id": "r1"});
    let answer = door.answer(caller_v2(Some(ANNA), "POST", "/runs", &question)).await;
    let run = answer.headers()["djinn-run-id"].to_str().unwrap().to_owned();
    axum::body::to_bytes(answer.into_body(), usize::MAX).await.unwrap();

    let title = json!({"title": "Mine"});
    let rows = [
        ("GET", format!("/runs/{run}"), "run_not_found"),
        ("GET", format!("/runs/{run}/events"), "run_not_found"),
        ("GET", "/sessions/s1".to_owned(), "session_not_found"),
        ("POST", "/sessions/s1/title".to_owned(), "session_not_found"),
        ("DELETE", "/sessions/s1".to_owned(), "session_not_found"),
    ];
    for caller in [caller_v1, caller_v2] {
        for (method, path, code) in &rows {
            for stranger in [MALLORY, CARL] {
                let event = caller(Some(stranger), method, path, &title);
                let (status, answer) = door.status_and_json(event).await;
                assert_eq!((status, &answer["code"]), (404, &json!(code)), "{method} {path}");
            }
            let (status, answer) = door.status_and_json(caller(None, method, path, &title)).await;
            assert_eq!((status, &answer["code"]), (503, &json!("no_identity")), "{method} {path}");
        }
        for (path, list) in [("/runs", "runs"), ("/sessions", "sessions")] {
            for (user, count) in [(ANNA, 1), (CARL, 0), (MALLORY, 0)] {
                let (status, answer) =
                    door.status_and_json(caller(Some(user), "GET", path, &json!({}))).await;
                assert_eq!((status, answer[list].as_array().unwrap().len()), (200, count));
            }
        }
    }
    for (method, path, ..) in rows {
        let (status, _) = door.status_and_json(caller_v2(Some(ANNA), method, &path, &title)).await;
        assert!(matches!(status, 200 | 204), "{method} {path}: {status}");
    }
}
