//! Digital employees over HTTP: the events of a task's tools carry the roles that a model gave them.

use djinn_core::entry::Event;
use djinn_core::id::{ChildId, RunId, TenantId};
use djinn_core::journal::Record;
use djinn_runtime::port::RunKey;
use djinn_runtime::port::journal::Journals as _;
use djinn_scripted::{ChunkGate, RecordedRequest, Rule, ScriptedResponse};
use serde_json::{Value, json};

use crate::world::{
    Frame, Options, Protocol, Question, World, employees, model_sees, planner, shown, summary, task,
};

const STEPS: [&str; 2] = ["Gold: look it up", "Silver: look it up"];

/// Whose tasks have employees.
async fn world(setting: &'static str) -> World {
    let set = move |options: &mut Options| {
        options.vars.push(("DJINN_MODES__DIGITAL_EMPLOYEES", setting.to_owned()));
    };
    World::start_with(|options, _| set(options)).await
}

fn question() -> Question {
    Question::of("Gold or silver?", "s1").deep()
}

/// Two tasks at once, each of which writes a file, and reads it again; before each word of them there
/// is a gate.
fn script(world: &World) -> Vec<ChunkGate> {
    let plan = json!({"command": "create", "title": "Prices", "steps": STEPS,
        "depends_on": [[], []]});
    let rule = planner(&world.model).say("Both at once.").call("planning", plan);
    rule.then().say("That is all.").call("planning", json!({"command": "finish"}));
    summary(&world.model).reply("Gold.$$$Gold.md");
    STEPS.iter().flat_map(|step| of_task(world, step)).collect()
}

fn of_task(world: &World, step: &str) -> [ChunkGate; 2] {
    let name = format!("{}.md", &step[..4]);
    let writes = json!({"command": "upload", "filename": name, "description": "", "content": "9"});
    let reads = json!({"command": "get", "filename": name});
    let first = task(&world.model, step).say("I write.").call("file_tool", writes);
    let first_gate = first.gate(1);
    let second = first.then().say("I read.").call("file_tool", reads);
    let second_gate = second.gate(1);
    second.then().reply("It is 9.");
    [first_gate, second_gate]
}

/// The roles are those of the task that is asked about, and are told when the gate is open.
fn roles(rule: Rule, gate: ChunkGate) -> Rule {
    let of =
        |request: &RecordedRequest| STEPS.into_iter().find(|step| request.text().contains(step));
    rule.respond_with(move |request| {
        let role = of(request).map(|step| format!("{} analyst", &step[..4]));
        let roles = json!({"file_tool": role, "dance_tool": "Dancer"});
        ScriptedResponse::default()
            .reply(format!("```json\n{roles}\n```"))
            .with_gate(1, gate.clone())
    })
}

/// Waits until the tools of both tasks have roles.
async fn named(world: &World, run: &str) {
    let key = RunKey::new(TenantId::new("local").unwrap(), RunId::new(run).unwrap());
    for step in [1, 2] {
        let task = key.with_child(ChildId::for_step(step, 1));
        while !has_employees(&world.system.ports().store.read_from(&task, 0).await.unwrap()) {
            tokio::task::yield_now().await;
        }
    }
}

fn has_employees(journal: &[Record]) -> bool {
    let mut entries = journal.iter().flat_map(|record| &record.entries);
    entries.any(|entry| matches!(entry.event, Event::EmployeesNamed { .. }))
}

/// What JoyAgent's events say of files, in their order: the file's name, and the employee's.
fn of_files(frames: &[Frame]) -> Vec<(String, Value)> {
    let events = frames.iter().filter(|frame| frame.received().is_some()).map(Frame::raw);
    let files = events.filter(|event| event["messageType"] == "file");
    let file = |event: Value| {
        let name = event["resultMap"]["fileInfo"][0]["fileName"].as_str().unwrap().to_owned();
        (name, event["digitalEmployee"].clone())
    };
    files.map(file).collect()
}

#[tokio::test]
async fn the_events_of_a_tool_carry_its_role_from_the_moment_it_is_known() {
    for protocol in [Protocol::Raw, Protocol::Ui] {
        let world = world("joyagent").await;
        let gates = script(&world);
        let late = ChunkGate::default();
        roles(employees(&world.model), late.clone()).always();
        let stream = world.ask(protocol, &question()).await;
        let run = stream.run();
        // The first calls are answered before anybody knows a role, and the others after that.
        for first in gates.iter().step_by(2) {
            first.open();
        }
        for second in gates.iter().skip(1).step_by(2) {
            second.wait_until_reached().await;
        }
        late.open();
        named(&world, &run).await;
        for second in gates.iter().skip(1).step_by(2) {
            second.open();
        }
        let frames = stream.rest().await;
        world.model.assert_done();
        for name in ["Gold", "Silv"] {
            let file = format!("{name}.md");
            let mut said = of_files(&frames);
            said.retain(|(of, _)| *of == file);
            let role = Value::from(format!("{name} analyst"));
            assert_eq!(said, [(file.clone(), Value::Null), (file, role)], "{protocol:?}");
        }
        // Nothing else has one.
        let others = frames.iter().filter(|frame| frame.received().is_some()).map(Frame::raw);
        let mut others = others.filter(|event| event["messageType"] != "file");
        assert!(others.all(|event| event["digitalEmployee"].is_null()), "{frames:#?}");
    }
}

/// The whole events of a run but those of its plan, sorted: which of two tasks is first is chance.
async fn whole_events(world: &World) -> Vec<String> {
    let gates = script(world);
    gates.iter().for_each(ChunkGate::open);
    let frames = world.ask(Protocol::Raw, &question()).await.rest().await;
    let whole: Vec<Frame> = frames.into_iter().filter(|frame| is_whole(&frame.raw())).collect();
    let mut lines: Vec<String> = shown(&whole, &world.url)
        .lines()
        .map(|line| line.split_once(' ').unwrap().1.to_owned())
        .collect();
    lines.sort();
    lines.dedup();
    lines
}

fn is_whole(event: &Value) -> bool {
    event["isFinal"] == true && event["messageType"] != "plan"
}

#[tokio::test]
async fn whatever_is_wrong_with_the_reply_all_else_is_the_same() {
    let without = world("0").await;
    let expected = whole_events(&without).await;
    assert!(expected.iter().any(|line| line.contains("\"messageType\":\"result\"")));
    without.model.assert_done();
    type Answers = fn(Rule) -> Rule;
    let answers: [Answers; 4] = [
        |rule| rule.reply("I would rather not."),
        |rule| rule.reply(r#"{"dance_tool": "Dancer", "file_tool": 7}"#),
        |rule| rule.error(500, "server_error", None, "down"),
        |rule| rule.reply("{").no_done(),
    ];
    for (nth, answer) in answers.into_iter().enumerate() {
        let world = world("joyagent").await;
        answer(employees(&world.model)).always();
        assert_eq!(whole_events(&world).await, expected, "answer {nth}");
        world.model.assert_done();
    }
}

#[tokio::test]
async fn a_task_that_has_ended_waits_for_nobody() {
    let world = world("1").await;
    let gates = script(&world);
    employees(&world.model).hang().always();
    let stream = world.ask(Protocol::Native, &question()).await;
    // The planner's, and two for each task.
    world.model.wait_for_request(5).await;
    gates.iter().for_each(ChunkGate::open);
    let ending = stream.rest().await.pop().unwrap().json();
    assert_eq!(ending["status"], "finished", "{ending}");
    // Its connection is closed; nobody reads on.
    for request in asks_for_roles(&world) {
        request.wait_until_ended().await;
        assert!(request.is_closed_early());
    }
    assert_eq!(asks_for_roles(&world).len(), 2);
}

fn asks_for_roles(world: &World) -> Vec<RecordedRequest> {
    let is_it = |request: &RecordedRequest| {
        request.header("djinn-call").unwrap_or_default().contains(".employees/")
    };
    world.model.requests().into_iter().filter(is_it).collect()
}

#[tokio::test]
async fn a_deployment_says_whose_tasks_have_employees() {
    for (setting, native, joyagent) in
        [("", false, false), ("joyagent", false, true), ("1", true, true), ("0", false, false)]
    {
        for (protocol, wanted) in
            [(Protocol::Native, native), (Protocol::Raw, joyagent), (Protocol::Ui, joyagent)]
        {
            let world = world(setting).await;
            let gates = script(&world);
            let at_once = ChunkGate::default();
            at_once.open();
            roles(employees(&world.model), at_once).always();
            let stream = world.ask(protocol, &question()).await;
            let run = stream.run();
            if wanted {
                named(&world, &run).await;
            }
            gates.iter().for_each(ChunkGate::open);
            stream.rest().await;
            let asked = asks_for_roles(&world).len();
            assert_eq!(asked > 0, wanted, "`{setting}` {protocol:?}: {asked} asked");
            world.model.assert_done();
        }
    }
}

/// What the model sees when a task begins: the task itself, and who its employees might be.
async fn what_the_model_sees(language: &'static str, question: &str, step: &str) -> String {
    let set = move |options: &mut Options| {
        options.vars.push(("DJINN_MODES__DIGITAL_EMPLOYEES", "1".to_owned()));
        options.vars.push(("DJINN_LANGUAGE", language.to_owned()));
    };
    let world = World::start_with(|options, _| set(options)).await;
    let plan = json!({"command": "create", "title": "T", "steps": [step]});
    let rule = planner(&world.model).say("One step.").call("planning", plan);
    rule.then().say("That is all.").call("planning", json!({"command": "finish"}));
    employees(&world.model).reply(r#"{"file_tool": "X"}"#).always();
    let gate = task(&world.model, step).reply("9").gate(1);
    summary(&world.model).reply("9");
    let stream = world.ask(Protocol::Native, &Question::of(question, "s1").deep()).await;
    // The planner's, the task's and this one.
    world.model.wait_for_request(3).await;
    gate.open();
    stream.rest().await;
    world.model.assert_done();
    model_sees(&asks_for_roles(&world))
}

#[tokio::test]
async fn what_the_model_sees_of_a_tasks_tools() {
    let seen = what_the_model_sees("en", "Gold or silver?", "Gold: look it up").await;
    insta::assert_snapshot!("model_sees_a_tasks_tools", seen);
    let seen = what_the_model_sees("zh", "黄金还是白银？", "黄金: 查询价格").await;
    insta::assert_snapshot!("model_sees_a_tasks_tools_in_chinese", seen);
}
