//! The agents that Djinn brings along.

use std::collections::BTreeSet;

use djinn_agents::{
    ReadAgent, check_agents, check_answer, check_arguments, read_agent, shipped_agents,
};
use djinn_core::agent::{AgentContext, AnswerFormat};
use djinn_core::language::Language;
use djinn_core::settings::Role;
use minijinja::{Environment, UndefinedBehavior};
use serde_json::{Value, json};

fn agents(language: Language) -> Vec<ReadAgent> {
    shipped_agents(language).iter().map(|file| read_agent(file).unwrap()).collect()
}

fn agent(language: Language, name: &str) -> ReadAgent {
    agents(language).into_iter().find(|agent| agent.spec.name == name).unwrap()
}

/// A schema without what it says to models.
fn without_words(mut schema: Value) -> Value {
    for property in schema["properties"].as_object_mut().unwrap().values_mut() {
        property.as_object_mut().unwrap().remove("description").expect("a description");
    }
    schema
}

#[test]
fn every_shipped_agent_is_in_order() {
    let tools = [
        "cite",
        "cite_queries",
        "collect",
        "file_tool",
        "find_insights",
        "find_tables",
        "look",
        "python",
        "render",
        "run_sql",
        "search_round",
    ];
    let tools = BTreeSet::from(tools.map(str::to_owned));
    for language in [Language::En, Language::Zh] {
        let agents = agents(language);
        assert_eq!(check_agents(&agents, &tools), []);
        for agent in agents {
            assert_eq!(agent.warnings, [""; 0]);
            let folder = format!("prompts/{}/agents", language.as_str());
            assert_eq!(agent.path(), format!("{folder}/{}.md", agent.spec.name));
        }
    }
}

#[test]
fn both_languages_have_the_same_agents() {
    let (en, zh) = (agents(Language::En), agents(Language::Zh));
    assert_eq!(en.len(), 13);
    assert_eq!(en.len(), zh.len());
    for (en, zh) in en.into_iter().zip(zh) {
        let (mut en, mut zh) = (en.spec, zh.spec);
        for spec in [&mut en, &mut zh] {
            spec.parameters = without_words(spec.parameters.clone());
            spec.description.clear();
            spec.title = None;
            spec.prompt.clear();
        }
        assert_eq!(en, zh);
    }
}

#[test]
fn shipped_agents_get_what_they_work_with() {
    for language in [Language::En, Language::Zh] {
        for name in ["researcher", "writer"] {
            let spec = agent(language, name).spec;
            assert_eq!(
                (spec.tools, spec.context),
                (vec!["file_tool".to_owned()], AgentContext::Files)
            );
        }
        assert_eq!(agent(language, "writer").spec.answer, AnswerFormat::File);
        let reviewer = agent(language, "reviewer").spec;
        assert!(reviewer.tools.is_empty() && reviewer.context == AgentContext::None);
        let AnswerFormat::Json(schema) = reviewer.answer else { panic!("{:?}", reviewer.answer) };
        let answer = json!({"verdict": "revise", "problems": ["a"], "missing": []});
        assert_eq!(check_answer(&schema, &answer), Ok(()));
        assert!(check_answer(&schema, &json!({"verdict": "fine"})).is_err());
    }
}

#[test]
fn names_of_files_to_write_have_no_path() {
    for language in [Language::En, Language::Zh] {
        let parameters = agent(language, "writer").spec.parameters;
        let check = |name: &str| {
            let arguments = json!({"task": "x", "file_name": name});
            check_arguments(&parameters, arguments.as_object().unwrap()).is_ok()
        };
        for name in ["report.md", "增长 报告.csv", "a.b.html"] {
            assert!(check(name), "{name}");
        }
        for name in ["report", "a/b.md", "..\\b.md", ".md", "a.md\n", ""] {
            assert!(!check(name), "{name}");
        }
    }
}

#[test]
fn shipped_modes_have_the_prompts_of_their_machines_and_the_deployments_tools() {
    for language in [Language::En, Language::Zh] {
        let modes: Vec<_> = agents(language).into_iter().filter(|agent| agent.spec.entry).collect();
        let about = |agent: &ReadAgent| {
            let spec = &agent.spec;
            (spec.name.clone(), spec.machine.as_str(), spec.agent_type, spec.prompt.clone())
        };
        let about: Vec<_> = modes.iter().map(about).collect();
        let planner =
            ("plan_solve".to_owned(), "plan_solve", Some(3), "{{ base_prompt }}".to_owned());
        let react = ("react".to_owned(), "react", Some(5), "{{ mode_prompt }}".to_owned());
        let ensemble = &modes[0].spec;
        assert_eq!((ensemble.name.as_str(), ensemble.agent_type), ("comprehensive", Some(1)));
        let solvers: Vec<_> =
            ensemble.before.iter().map(|call| (call.name(), call.model())).collect();
        let second = ("react", Some(Role::Second));
        assert_eq!(solvers, [("plan_solve", None), ("react", None), second]);
        assert_eq!((ensemble.model, ensemble.gives_verdict()), (Role::Critic, true));
        let query = &modes[1].spec;
        let limits = (query.model, query.max_steps, &query.stop_at);
        assert_eq!(limits, (Role::Data, 4, &vec!["run_sql".to_owned()]));
        assert_eq!(about[2..4], [planner, react]);
        let router = &modes[4].spec;
        assert_eq!((router.name.as_str(), router.agent_type, about.len()), ("router", Some(4), 6));
        assert_eq!((&router.hands_over, &router.tools), (&vec!["all".to_owned()], &Vec::new()));
        assert!(modes[2..4].iter().all(|agent| agent.spec.tools == ["all"]));
        let others = modes.iter().filter(|agent| agent.spec.name != "data_query");
        assert!(others.into_iter().all(|agent| agent.spec.max_steps == 1_000));
    }
}

/// What an agent was called with is said in its first message, and not in its prompt.
#[test]
fn every_shipped_prompt_renders_with_and_without_files() {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.add_filter("framed", |text: &str| format!("<untrusted>\n{text}\n</untrusted>"));
    let file = json!({"name": "f.md", "size": 3, "description": "about f", "internal": true});
    let all = [Language::En, Language::Zh].into_iter().flat_map(agents);
    for agent in all.filter(|agent| !agent.spec.entry) {
        let render = |files: Value, of: &Value| {
            let mut values = json!({"files": files, "date": "2026-01-02", "time_zone": "UTC"});
            let arguments = of.as_object().cloned().unwrap_or_default();
            values.as_object_mut().unwrap().extend(arguments);
            let values = minijinja::Value::from(minijinja::value::Serde(values));
            environment.render_str(&agent.spec.prompt, values).unwrap()
        };
        for of in forms_of(&agent) {
            let (bare, full) = (render(json!([]), &of), render(json!([file, file]), &of));
            assert!(bare.contains("2026-01-02") && !bare.contains("\n\n\n"), "{bare}");
            let is_filled = !full.contains("{{") && !full.contains("{%");
            assert!(is_filled && !full.contains("\n\n\n"), "{full}");
            let is_listed = full.contains("<untrusted>\n- f.md") && !bare.contains("<untrusted>");
            assert_eq!(is_listed, agent.spec.context == AgentContext::Files, "{full}");
        }
    }
}

/// The arguments by which an agent's instructions differ.
fn forms_of(agent: &ReadAgent) -> Vec<Value> {
    let words = |name: &str| agent.spec.parameters["properties"][name]["enum"].as_array().cloned();
    let (types, templates) = (words("fileType"), words("templateType").unwrap_or_default());
    let forms = types.into_iter().flatten().flat_map(|of| {
        let with = |template: &Value| json!({"fileType": of, "templateType": template});
        templates.iter().map(with).collect::<Vec<_>>()
    });
    let forms: Vec<Value> = forms.collect();
    if forms.is_empty() { vec![json!({})] } else { forms }
}
