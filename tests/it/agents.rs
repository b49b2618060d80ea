//! Agents that agents call, over HTTP: one tree of runs, watched, stopped, asked and resumed like one.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use djinn_core::id::{Path, RunId, TenantId};
use djinn_core::language::Language;
use djinn_core::status::RunStatus;
use djinn_core::tool::{EffectClass, ToolOutput, ToolPolicy, ToolSpec};
use djinn_local::{System, SystemOptions};
use djinn_runtime::port::RunKey;
use djinn_runtime::port::journal::Journals as _;
use djinn_runtime::port::tool::{BoxFuture, Tool, ToolContext, ToolError};
use djinn_scripted::{RecordedRequest, Rule, ScriptedModel};
use djinn_wiring::Djinn;
use serde_json::{Map, Value, json};
use tempfile::TempDir;

use crate::world::{
    Client, Frame, Protocol, Question, World, planner, quick, settled_paused, summary,
};

const QUESTION: &str = "Which region grew?";

/// A system that offers every agent, ours and those of a configuration folder.
pub(crate) async fn start(folder: &TempDir) -> World {
    start_asking(folder, "{}").await
}

/// The same, which asks people as these settings say.
async fn start_asking(folder: &TempDir, human_requests: &str) -> World {
    let path = folder.path().to_str().unwrap().to_owned();
    World::start_with(|options, _| {
        options.vars.push(("DJINN_AGENTS__OFFERED", "all".to_owned()));
        options.vars.push(("DJINN_CONFIG", path));
        options.vars.push(("DJINN_PEOPLE__REQUESTS", human_requests.to_owned()));
        // What a folder has counts at once.
        options.settings.tool_sources_fresh = Duration::ZERO;
    })
    .await
}

/// The requests of the run that this path leads to; empty for the root.
#[track_caller]
pub(crate) fn at(model: &ScriptedModel, path: &'static str) -> Rule {
    model.on_request(move |request| path_of(request).as_deref() == Some(path))
}

/// A request is named `<run>/<path>.<message>/<attempt>`.
pub(crate) fn path_of(request: &RecordedRequest) -> Option<String> {
    let message = request.header("djinn-call")?.split('/').nth(1)?;
    Some(message.rsplit_once('.').map_or(String::new(), |(path, _)| path.to_owned()))
}

/// Writes a file of a configuration folder's agents.
pub(crate) fn write_agent(folder: &TempDir, name: &str, text: &str) {
    let agents = folder.path().join("agents");
    std::fs::create_dir_all(&agents).unwrap();
    std::fs::write(agents.join(format!("{name}.md")), text).unwrap();
}

/// An agent's file: its front matter besides its name and description, and its instructions.
pub(crate) fn add_agent(folder: &TempDir, name: &str, keys: &str, prompt: &str) {
    let text =
        format!("---\nname: {name}\ndescription: Knows about {name}.\n{keys}---\n{prompt}\n");
    write_agent(folder, name, &text);
}

fn key(run: &str, path: &str) -> RunKey {
    let root = RunKey::new(TenantId::new("local").unwrap(), RunId::new(run).unwrap());
    RunKey { path: path.parse::<Path>().unwrap(), ..root }
}

/// Type, path and what it is about, of the frames that tell of runs and calls.
fn outline(frames: &[Frame]) -> Vec<String> {
    let told = ["child.started", "child.ended", "call.requested", "call.completed", "run.ended"];
    let frames = frames.iter().filter(|frame| told.contains(&frame.event()));
    let line = |frame: &Frame| {
        let json = frame.json();
        let text = |member: &str| json[member].as_str().unwrap_or_default().to_owned();
        let about = [text("child"), text("call"), text("status"), text("agent")].concat();
        format!("{} {} {about}", text("type"), text("path")).replace("  ", " ").trim().to_owned()
    };
    frames.map(line).collect()
}

#[tokio::test]
async fn an_agent_calls_an_agent_that_calls_another_and_all_is_seen_in_one_stream() {
    let folder = TempDir::new().unwrap();
    add_agent(&folder, "analyst", "tools: [researcher]\n", "You analyse.");
    let world = start(&folder).await;
    at(&world.model, "")
        .say("I ask the analyst.")
        .call("analyst", json!({"task": "Find out which region grew."}))
        .then()
        .reply("East grew.");
    at(&world.model, "t1.c1")
        .say("I look it up.")
        .call("researcher", json!({"task": "Which region grew?"}))
        .then()
        .reply("It is East.");
    at(&world.model, "t1.c1.t1.c1").reply("`sales.csv` says East.");

    let question = Question::of(QUESTION, "s1");
    let stream = world.ask(Protocol::Native, &question).await;
    let run = stream.run();
    let frames = stream.rest().await;
    assert_eq!(frames.last().unwrap().json()["answer"], "East grew.");
    assert_eq!(
        outline(&frames),
        [
            "call.requested t1.c1",
            "child.started t1.c1analyst",
            "call.requested t1.c1 t1.c1",
            "child.started t1.c1 t1.c1.t1.c1researcher",
            "child.ended t1.c1 t1.c1.t1.c1finished",
            "call.completed t1.c1 t1.c1",
            "child.ended t1.c1finished",
            "call.completed t1.c1",
            "run.ended finished",
        ]
    );
    // Each said what it said in a lane of its own, as it was written.
    let previews: Vec<Value> =
        frames.iter().filter(|f| f.event() == "preview").map(Frame::json).collect();
    let heard = |path: Value| previews.iter().any(|preview| preview["path"] == path);
    assert!(heard(json!("t1.c1")) && heard(json!("t1.c1.t1.c1")) && heard(Value::Null));
    // The caller was told what the agent came to, and only that.
    world.settled(&run).await;
    let requests = world.model.requests();
    let last = requests.iter().rfind(|request| path_of(request).as_deref() == Some("")).unwrap();
    assert!(last.text().contains("It is East.") && !last.text().contains("says East"));
    let analyst = requests.iter().find(|r| path_of(r).as_deref() == Some("t1.c1")).unwrap();
    assert!(analyst.system().contains("You analyse."), "{}", analyst.system());
    let tools: Vec<&str> = analyst.tools().iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(tools, ["researcher"]);
    // What was spent below is the run's.
    let ended = frames.last().unwrap().json();
    assert_eq!(ended["spent"]["steps"], 5);

    // Whoever comes later sees the same.
    let again = world.ask(Protocol::Native, &question).await.rest().await;
    assert_eq!(outline(&again), outline(&frames));
    let viewer = world.come_back(&run, None).await.rest().await;
    assert_eq!(outline(&viewer), outline(&frames));
}

#[tokio::test]
async fn agents_of_one_turn_work_side_by_side_and_a_failed_one_is_a_result() {
    let folder = TempDir::new().unwrap();
    let world = start(&folder).await;
    let ask = |question: &str| ("researcher", json!({"task": question}));
    at(&world.model, "").calls([ask("North?"), ask("South?")]).then().reply("One is known.");
    let north = at(&world.model, "t1.c1").reply("North grew.");
    let gate = north.gate(0);
    at(&world.model, "t1.c2").status(400);
    let mut stream = world.ask(Protocol::Native, &Question::of(QUESTION, "s1")).await;
    // The second fails while the first is at work.
    let failed = stream.until(|frame| frame.event() == "child.ended").await;
    assert_eq!(failed.last().unwrap().json()["child"], "t1.c2");
    gate.open();
    let rest = stream.rest().await;
    assert_eq!(rest.last().unwrap().json()["answer"], "One is known.");
    let requests = world.model.requests();
    let last = requests.iter().rfind(|request| path_of(request).as_deref() == Some("")).unwrap();
    assert!(last.text().contains("North grew."), "{}", last.text());
}

#[tokio::test]
async fn wrong_arguments_are_the_result_of_the_call_and_no_run_begins() {
    let folder = TempDir::new().unwrap();
    let world = start(&folder).await;
    at(&world.model, "")
        .call("researcher", json!({"questions": 3}))
        .then()
        .reply("I cannot ask it.");
    let stream = world.ask(Protocol::Native, &Question::of(QUESTION, "s1")).await;
    let run = stream.run();
    let frames = stream.rest().await;
    let result = frames.iter().find(|frame| frame.event() == "call.completed").unwrap().json();
    assert_eq!(result["result"]["reason"], "bad_arguments");
    assert!(result["result"]["detail"].as_str().unwrap().contains("task"), "{result}");
    // Viewers have seen the agent's run begin, so they see how it ends.
    let of_child = frames.iter().filter(|frame| frame.event().starts_with("child."));
    let of_child: Vec<_> =
        of_child.map(|frame| (frame.event(), frame.json()["status"].clone())).collect();
    assert_eq!(of_child, [("child.started", json!(null)), ("child.ended", json!("failed"))]);
    assert!(world.system.ports().store.find_meta(&key(&run, "t1.c1")).await.unwrap().is_none());
}

#[tokio::test]
async fn a_stop_reaches_the_deepest_run() {
    let folder = TempDir::new().unwrap();
    add_agent(&folder, "analyst", "tools: [researcher]\n", "You analyse.");
    let world = start(&folder).await;
    at(&world.model, "").call("analyst", json!({"task": "Look."}));
    at(&world.model, "t1.c1").call("researcher", json!({"task": "Which?"}));
    let deepest = at(&world.model, "t1.c1.t1.c1").say("I am at it").delta_chars(2).hang_after(4);
    let mut stream = world.ask(Protocol::Native, &Question::of(QUESTION, "s1")).await;
    let run = stream.run();
    stream.until(|frame| frame.event() == "preview" && frame.json()["path"] == "t1.c1.t1.c1").await;
    world.stop(&run).await;
    let frames = stream.rest().await;
    assert_eq!(frames.last().unwrap().json()["status"], "stopped");
    drop(deepest);
    world.settled(&run).await;
    for path in ["t1.c1", "t1.c1.t1.c1"] {
        let meta = world.system.ports().store.find_meta(&key(&run, path)).await.unwrap().unwrap();
        assert_eq!(meta.status, RunStatus::Stopped, "{path}");
    }
}

#[tokio::test]
async fn a_person_is_asked_from_depth_three_and_answers_over_http() {
    let folder = TempDir::new().unwrap();
    add_agent(&folder, "top", "tools: [middle]\n", "You are on top.");
    add_agent(&folder, "middle", "tools: [bottom]\n", "You are in the middle.");
    add_agent(&folder, "bottom", "tools: [file_tool]\n", "You write.");
    let world = start_asking(
        &folder,
        r#"{"enabled": true, "require_confirmation_tools": ["file_tool"], "timeout": 0}"#,
    )
    .await;
    at(&world.model, "").call("top", json!({"task": "Write."})).then().reply("It is written.");
    at(&world.model, "t1.c1").call("middle", json!({"task": "Write."})).then().reply("Done.");
    at(&world.model, "t1.c1.t1.c1").call("bottom", json!({"task": "Write."})).then().reply("Done.");
    let upload = json!({"command": "upload", "filename": "a.md", "content": "# A"});
    at(&world.model, "t1.c1.t1.c1.t1.c1")
        .say("I write it down.")
        .call("file_tool", upload)
        .then()
        .reply("I wrote a.md.");
    let mut stream = world.ask(Protocol::Native, &Question::of(QUESTION, "s1")).await;
    let run = stream.run();
    let asked = stream.until(|frame| frame.event() == "human.requested").await;
    let request = asked.last().unwrap().json()["requests"][0].clone();
    assert_eq!(request["id"], "t1.c1.t1.c1.t1.c1.t1.c1");
    assert_eq!(request["path"], "t1.c1.t1.c1.t1.c1");
    drop(stream);
    world.settled_paused(&run).await;
    let id = request["id"].as_str().unwrap();
    let answer = world.respond(&run, id, &json!({"response": "confirm"})).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    let frames = world.come_back(&run, None).await.rest().await;
    let ended = frames.last().unwrap().json();
    assert_eq!(
        (&ended["answer"], &ended["files"][0]["name"]),
        (&json!("It is written."), &json!("a.md"))
    );
}

#[tokio::test]
async fn steps_name_their_agents_and_a_writer_leaves_its_document() {
    let folder = TempDir::new().unwrap();
    let world = start(&folder).await;
    let steps = ["Look: read sales.csv", "Write: a report for the board"];
    let plan = json!({
        "command": "create", "title": "Growth", "steps": steps, "depends_on": [[], [1]],
        "agents": ["researcher", "writer"],
    });
    let rule = planner(&world.model).say("I plan.").call("planning", plan);
    rule.then().say("That is all.").call("planning", json!({"command": "finish"}));
    at(&world.model, "s1.1").reply("East grew by a third.");
    at(&world.model, "s2.1").reply("# Growth\n\nEast grew by a third.\n");
    summary(&world.model).reply("See the report.");
    let question = Question::of(QUESTION, "s1").deep();
    let frames = world.ask(Protocol::Native, &question).await.rest().await;
    let started: Vec<Value> =
        frames.iter().filter(|f| f.event() == "child.started").map(Frame::json).collect();
    let agents: Vec<&Value> = started.iter().map(|frame| &frame["agent"]).collect();
    assert_eq!(agents, [&json!("researcher"), &json!("writer")]);
    let ended = frames.last().unwrap().json();
    assert_eq!(ended["files"][0]["name"], "writer-s2.1.md", "{ended}");
    let requests = world.model.requests();
    let writer = requests.iter().find(|r| path_of(r).as_deref() == Some("s2.1")).unwrap();
    assert!(writer.system().contains("You are a writer of Djinn"), "{}", writer.system());
    assert!(writer.text().contains("East grew by a third."), "it is told what came before");
    let plans = requests.iter().find(|r| r.offers_tool("planning")).unwrap();
    assert!(plans.system().contains("- writer: "), "{}", plans.system());
}

#[tokio::test]
async fn an_answer_in_the_wrong_form_is_asked_for_again() {
    let folder = TempDir::new().unwrap();
    let world = start(&folder).await;
    let asked = json!({"question": QUESTION, "answer": "East."});
    at(&world.model, "").call("reviewer", asked).then().reply("It is fine.");
    let verdict = r#"{"verdict": "accept", "problems": [], "missing": []}"#;
    at(&world.model, "t1.c1").reply("Looks good to me.").then().reply(verdict);
    let frames = world.ask(Protocol::Native, &Question::of(QUESTION, "s1")).await.rest().await;
    let ended = frames.iter().find(|frame| frame.event() == "child.ended").unwrap().json();
    assert_eq!((&ended["status"], &ended["text"]), (&json!("finished"), &json!(verdict)));
}

#[tokio::test]
async fn an_agent_that_is_added_while_the_system_runs_is_called_by_the_next_question() {
    let folder = TempDir::new().unwrap();
    let world = start(&folder).await;
    at(&world.model, "").reply("Nobody knows.");
    let first = world.ask(Protocol::Native, &Question::of(QUESTION, "s1")).await;
    let first = first.rest().await;
    assert_eq!(first.last().unwrap().json()["answer"], "Nobody knows.");
    assert!(!world.model.requests()[0].offers_tool("oracle"));
    add_agent(&folder, "oracle", "", "You know.");
    // A broken file is left out, and the others stay.
    write_agent(&folder, "broken", "no front matter");
    at(&world.model, "").call("oracle", json!({"task": "Which?"})).then().reply("East.");
    at(&world.model, "t1.c1").reply("East.");
    let second = world.ask(Protocol::Native, &Question::of("And now?", "s1").request("r2")).await;
    let second = second.rest().await;
    assert_eq!(second.last().unwrap().json()["answer"], "East.");
}

/// A process over what an earlier one left, which asks before it calls the oracle.
async fn start_over(dir: &TempDir, folder: &TempDir, model: &ScriptedModel) -> (System, Client) {
    let vars = [
        ("OPENAI_API_KEY", "key".to_owned()),
        ("OPENAI_BASE_URL", model.base_url()),
        ("DJINN_AGENTS__OFFERED", "oracle".to_owned()),
        ("DJINN_CONFIG", folder.path().to_str().unwrap().to_owned()),
        (
            "DJINN_PEOPLE__REQUESTS",
            r#"{"enabled": true, "require_confirmation_tools": ["oracle"], "timeout": 0}"#
                .to_owned(),
        ),
    ];
    let vars: BTreeMap<_, _> = vars.into_iter().collect();
    let options = SystemOptions {
        dir: Some(dir.path().to_owned()),
        var: Box::new(move |name| vars.get(name).cloned()),
        settings: Some(quick()),
        ..SystemOptions::default()
    };
    let system = System::start(options).await.unwrap();
    let client = Client::new(format!("http://{}", system.address()));
    (system, client)
}

/// What comes of a call that a person is asked about while its agent's file changes from one to the other.
async fn check_changed_agent(before: &str, after: &str) {
    let (dir, folder) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let model = ScriptedModel::start().await.unwrap();
    add_agent(&folder, "oracle", before, "You know.");
    at(&model, "").call("oracle", json!({"task": "Which?"})).then().reply("Nobody knows.");
    let (system, client) = start_over(&dir, &folder, &model).await;
    let mut stream = client.ask(Protocol::Native, &Question::of(QUESTION, "s1")).await;
    let asked = stream.until(|frame| frame.event() == "human.requested").await;
    let request = asked.last().unwrap().json()["requests"][0]["id"].as_str().unwrap().to_owned();
    let run = stream.run();
    drop(stream);
    settled_paused(system.ports(), &run).await;
    drop(system);
    add_agent(&folder, "oracle", after, "You know.");
    let (_system, client) = start_over(&dir, &folder, &model).await;
    let answer = client.respond(&run, &request, &json!({"response": "confirm"})).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    let frames = client.come_back(&run, None).await.rest().await;
    let result = frames.iter().find(|frame| frame.event() == "call.completed").unwrap().json();
    assert_eq!(result["result"]["reason"], "changed", "{result}");
    assert_eq!(frames.last().unwrap().json()["answer"], "Nobody knows.");
    assert!(model.requests().iter().all(|request| path_of(request).as_deref() == Some("")));
}

#[tokio::test]
async fn a_call_is_not_made_if_its_agent_takes_other_arguments_by_then() {
    let takes = |name: &str| {
        format!("parameters:\n  type: object\n  properties:\n    {name}: {{type: string}}\n")
    };
    check_changed_agent(&takes("task"), &takes("riddle")).await;
}

#[tokio::test]
async fn a_call_is_not_made_if_its_agent_has_another_risk_by_then() {
    check_changed_agent("risk: low\n", "risk: high\n").await;
}

/// A tool of an agent's own, which says what it was called with.
struct Own(&'static str, Value);

impl Tool for Own {
    fn spec(&self, _: Language) -> ToolSpec {
        ToolSpec {
            name: self.0.to_owned(),
            description: format!("does {}", self.0),
            schema: self.1.clone(),
            effect: EffectClass::Idempotent,
            policy: ToolPolicy::default(),
            timeout_ms: 5_000,
            visible: false,
        }
    }

    fn run<'a>(
        &'a self,
        _: &'a ToolContext,
        arguments: &'a Map<String, Value>,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        let said = format!("{} of {}", self.0, Value::Object(arguments.clone()));
        Box::pin(async move { Ok(ToolOutput::from_text(said)) })
    }

    fn check_arguments(&self, _: &Map<String, Value>) -> Result<(), String> {
        Ok(())
    }

    fn is_for_agents_only(&self) -> bool {
        true
    }
}

#[tokio::test]
async fn an_agents_file_has_its_own_tools_called_before_it_and_with_its_answer() {
    let folder = TempDir::new().unwrap();
    add_agent(&folder, "clerk", "before: [stage]\nafter: publish\n", "You write.");
    let path = folder.path().to_str().unwrap().to_owned();
    let world = World::start_with(|options, _| {
        options.vars.push(("DJINN_AGENTS__OFFERED", "all".to_owned()));
        options.vars.push(("DJINN_CONFIG", path));
        let task = json!({"type": "object", "properties": {"task": {"type": "string"}}});
        let answer = json!({"type": "object", "properties": {"answer": {"type": "string"}}});
        options.djinn = Djinn::new()
            .with_dyn_tool(Arc::new(Own("stage", task)))
            .with_dyn_tool(Arc::new(Own("publish", answer)));
    })
    .await;
    at(&world.model, "").call("clerk", json!({"task": "Write it down."})).then().reply("Done.");
    at(&world.model, "t1.c1").reply("It is written.");
    let frames = world.ask(Protocol::Native, &Question::of(QUESTION, "s1")).await.rest().await;
    assert_eq!(
        outline(&frames),
        [
            "call.requested t1.c1",
            "child.started t1.c1clerk",
            "call.requested t1.c1 before.c1",
            "call.completed t1.c1 before.c1",
            "call.requested t1.c1 after.c1",
            "call.completed t1.c1 after.c1",
            "child.ended t1.c1finished",
            "call.completed t1.c1",
            "run.ended finished",
        ]
    );
    let ended = frames.iter().find(|frame| frame.event() == "child.ended").unwrap().json();
    assert_eq!(ended["text"], r#"publish of {"answer":"It is written."}"#);
    let requests = world.model.requests();
    let clerk = requests.iter().find(|r| path_of(r).as_deref() == Some("t1.c1")).unwrap();
    assert!(clerk.text().contains(r#"stage of {"task":"Write it down."}"#), "{}", clerk.text());
    assert!(clerk.tools().is_empty(), "its file names no tool that its model may call");
    let root = requests.iter().find(|r| path_of(r).as_deref() == Some("")).unwrap();
    assert!(root.offers_tool("clerk") && !root.offers_tool("stage"));
    assert_eq!(frames.last().unwrap().json()["spent"]["model_calls"], 3);
}
