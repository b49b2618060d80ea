//! Files that are read, and what is read from them.

use djinn_agents::{AgentFile, read_agent};
use djinn_core::agent::{AgentContext, AgentSpec, AnswerFormat, CallBefore, ToolChoiceRule};
use djinn_core::language::Language;
use djinn_core::review::ReviewPolicy;
use djinn_core::settings::{Machine, Role};
use djinn_core::tool::Risk;
use serde_json::json;

use super::{read, with_keys, with_prompt};

fn default_spec() -> AgentSpec {
    let words = "What is to be done, with all that is needed to do it.";
    AgentSpec {
        name: "a".to_owned(),
        description: "Does a thing.".to_owned(),
        prompt: "Do it.".to_owned(),
        parameters: json!({
            "type": "object",
            "properties": {"task": {"type": "string", "description": words}},
            "required": ["task"],
            "additionalProperties": false,
        }),
        tools: Vec::new(),
        model: Role::Executor,
        machine: Machine::React,
        max_steps: 20,
        max_calls: None,
        before: Vec::new(),
        after: None,
        max_result_chars: None,
        first_tool: None,
        answer: AnswerFormat::Text,
        context: AgentContext::None,
        risk: Risk::Low,
        entry: false,
        title: None,
        agent_type: None,
        tool_choice: ToolChoiceRule::Auto,
        stop_at: Vec::new(),
        hands_over: Vec::new(),
        review: None,
        workflow: None,
    }
}

#[test]
fn what_is_left_out_has_its_default() {
    let agent = read(&with_keys("")).unwrap();
    assert_eq!(agent.spec, default_spec());
    assert!(agent.warnings.is_empty());
    assert_eq!(
        (agent.path(), agent.line_of("description"), agent.line_of("tools")),
        ("a.md", 3, 1)
    );
}

#[test]
fn the_default_parameter_is_described_in_the_language_of_the_file() {
    let file =
        AgentFile { path: "a.md", text: &with_keys(""), language: Language::Zh, entry: false };
    let task = read_agent(&file).unwrap().spec.parameters["properties"]["task"].clone();
    assert_eq!(task["description"], "要做的事，以及完成它所需的全部信息。");
}

#[test]
fn every_key_is_read() {
    let keys = "\
tools:
  - file_tool   # reads
  - \"search\"
model: planner
parameters:
  type: object
  properties:
    task: { type: string, maxLength: 0x10 }
    deep: { type: boolean, default: true }
    share: { type: number, minimum: -1.5e0, maximum: +7 }
    list: { type: array, items: { type: object } }
    yes: { enum: [yes, ~, .5, 1.2.3, .inf] }
  required: [task]
mode: react
max_steps: 7
calls: 1
first_tool: search
answer: json
answer_schema:
  type: array
  items: {type: integer}
context: conversation
risk: high";
    let prompt = "{{ task }} {{ yes }} {% for one in list if deep %}{{ one.name }}{{ loop.index }}{% \
                  endfor %}\n{{ date }} {{ base_prompt|framed }}{% for file in files %}{{ file.size \
                  }}{% endfor %}{% set x = share is defined and share > 1 %}{{ x }}{# {{ y }} #}";
    let agent = read(&with_prompt(keys, prompt)).unwrap();
    let expected = AgentSpec {
        prompt: prompt.to_owned(),
        tools: vec!["file_tool".to_owned(), "search".to_owned()],
        model: Role::Planner,
        parameters: json!({
            "type": "object",
            "properties": {
                "task": {"type": "string", "maxLength": 16},
                "deep": {"type": "boolean", "default": true},
                "share": {"type": "number", "minimum": -1.5, "maximum": 7},
                "list": {"type": "array", "items": {"type": "object"}},
                "yes": {"enum": ["yes", null, 0.5, "1.2.3", ".inf"]},
            },
            "required": ["task"],
        }),
        machine: Machine::React,
        max_steps: 7,
        max_calls: Some(1),
        before: Vec::new(),
        after: None,
        first_tool: Some("search".to_owned()),
        answer: AnswerFormat::Json(json!({"type": "array", "items": {"type": "integer"}})),
        context: AgentContext::Conversation,
        risk: Risk::High,
        ..default_spec()
    };
    assert_eq!(agent.spec, expected);
    assert!(agent.warnings.is_empty());
    assert_eq!((agent.line_of("tools"), agent.line_of("risk")), (4, 26));
}

#[test]
fn a_file_decides_when_its_agent_calls_tools_and_ends() {
    let keys = "tools: [search, file_tool]\ntool_choice: smart\nstop_at: [file_tool]";
    let spec = read(&with_keys(keys)).unwrap().spec;
    assert_eq!(
        (spec.tool_choice, spec.stop_at),
        (ToolChoiceRule::Smart, vec!["file_tool".to_owned()])
    );
    let before = read(&with_keys("before: search\ntool_choice: none")).unwrap().spec;
    assert_eq!(before.tool_choice, ToolChoiceRule::None);
}

#[test]
fn a_file_names_what_is_called_around_its_agent() {
    let keys = "before: [search, file_tool]\nafter: search";
    let agent = read(&with_prompt(keys, "Do it: {{ task }}")).unwrap();
    let names: Vec<&str> = agent.spec.before.iter().map(CallBefore::name).collect();
    assert_eq!(names, ["search", "file_tool"]);
    assert_eq!(agent.spec.after.as_deref(), Some("search"));
}

#[test]
fn a_file_names_agents_with_the_models_of_roles() {
    let calls = |before: &str| read(&with_keys(before)).unwrap().spec.before;
    let name = |name: &str| CallBefore::Name(name.to_owned());
    let second = CallBefore::WithModel { agent: "a".to_owned(), model: Role::Second };
    assert_eq!(calls("before: a, b"), [name("a"), name("b")]);
    assert_eq!(calls("before: [a, {agent: a, model: second}]"), [name("a"), second.clone()]);
    assert_eq!(calls("before:\n  - model: second\n    agent: a\n  - b"), [second, name("b")]);
    assert_eq!(calls("before: [{agent: a}]"), [name("a")]);
    let stored = serde_json::to_value(calls("before: [a, {agent: a, model: second}]")).unwrap();
    assert_eq!(stored, json!(["a", {"agent": "a", "model": "second"}]));
    assert_eq!(read(&with_keys("model: critic")).unwrap().spec.model, Role::Critic);
}

#[test]
fn a_file_of_another_product_is_read_and_its_keys_are_named() {
    let text = "---\nname: code-reviewer\ndescription: \"Use it: after each change.\"\ntools: search, \
                file_tool\ncolor: blue\npermissionMode: plan\nhooks:\n  Stop:\n    - matcher: x\n\
                license: MIT\nversion: 1.0\n---\n\nYou are a reviewer: `{a: 1}`, 100 %, {# no #}.\n\n---\n\nEnd.\n";
    let agent = read(text).unwrap();
    assert_eq!(agent.spec.name, "code-reviewer");
    assert_eq!(agent.spec.tools, ["search", "file_tool"]);
    assert!(
        agent.spec.prompt.starts_with("You are a") && agent.spec.prompt.ends_with("---\n\nEnd.")
    );
    let expected = [
        "a.md:5: `color` is not a key of an agent and is ignored",
        "a.md:6: `permissionMode` is not a key of an agent and is ignored",
        "a.md:7: `hooks` is not a key of an agent and is ignored",
        "a.md:10: `license` is not a key of an agent and is ignored",
        "a.md:11: `version` is not a key of an agent and is ignored",
    ];
    assert_eq!(agent.warnings, expected);
}

#[test]
fn marks_and_line_ends_of_other_systems_make_no_difference() {
    let text = with_prompt("max_steps: 3", "One.\n\nTwo.");
    let plain = read(&text).unwrap();
    for other in [
        format!("\u{feff}{text}"),
        text.replace('\n', "\r\n"),
        text.replace('\n', "\r"),
        text.replace("---\n", "--- \t\n"),
        format!("\u{feff}{}", text.replace('\n', "\r\n")),
    ] {
        assert_eq!(read(&other).unwrap(), plain, "{other:?}");
    }
}

#[test]
fn what_is_just_allowed_is_allowed() {
    let name = format!("a{}", "-_9".repeat(21));
    let description = "é".repeat(1_000);
    let prompt = "x".repeat(16_384);
    let text = format!("---\nname: {name}\ndescription: {description}\n---\n{prompt}\n");
    let agent = read(&text).unwrap();
    assert_eq!(agent.spec.name.len(), 64);
    for keys in [
        "max_steps: 1",
        "max_steps: 1000",
        "calls: 100",
        "tools: []",
        "parameters: {type: object, properties: {}}",
        "answer: file\nparameters: {type: object, properties: {file_name: {type: string}}, required: \
         [file_name]}",
        "answer: json\nanswer_schema: {}",
        "description_of_the_tools_that_it_has: no near miss",
    ] {
        read(&with_keys(keys)).unwrap();
    }
}

#[test]
fn a_long_description_may_stand_in_a_block() {
    let text =
        "---\nname: a\ndescription: |\n  One: two.\n\n  Three.\ntools: >-\n  b,\n  c\n---\nDo it.";
    let agent = read(text).unwrap();
    assert_eq!(agent.spec.description, "One: two.\n\nThree.");
    assert_eq!(agent.spec.tools, ["b", "c"]);
    assert_eq!(agent.line_of("tools"), 7);
}

#[test]
fn mode_may_have_a_review() {
    let review = |keys: &str| read(&with_keys(keys)).unwrap().spec.review;
    let policy = |rounds| Some(ReviewPolicy { agent: "b".to_owned(), rounds });
    assert_eq!(review("entry: true\nreview: {agent: b, rounds: 3}"), policy(3));
    assert_eq!(review("entry: true\nreview:\n  agent: b"), policy(1));
    assert_eq!(review("entry: true\nreview: {agent: b, rounds: 0}"), policy(0));
    assert_eq!(review("entry: true"), None);
}

#[test]
fn mode_has_the_defaults_of_a_users_run() {
    let keys = "entry: true\ntitle: Analyst\nagent_type: 7\ntools: [all, search]";
    let agent = read(&with_prompt(keys, "{{ mode_prompt }} {{ task }}")).unwrap();
    let expected = AgentSpec {
        prompt: "{{ mode_prompt }} {{ task }}".to_owned(),
        tools: vec!["all".to_owned(), "search".to_owned()],
        model: Role::React,
        max_steps: 1_000,
        context: AgentContext::Conversation,
        entry: true,
        title: Some("Analyst".to_owned()),
        agent_type: Some(7),
        workflow: None,
        ..default_spec()
    };
    assert_eq!(agent.spec, expected);
}
