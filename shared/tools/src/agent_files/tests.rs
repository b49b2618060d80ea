use super::*;

fn texts(files: &[(&str, String)]) -> Vec<FolderText> {
    let text = |(name, text): &(&str, String)| FolderText {
        name: (*name).to_owned(),
        text: Ok(text.as_str().into()),
    };
    files.iter().map(text).collect()
}

/// A file of an agent with further keys.
fn agent(name: &str, keys: &str, prompt: &str) -> String {
    format!("---\nname: {name}\ndescription: Knows.\n{keys}---\n{prompt}\n")
}

fn files() -> AgentFiles {
    let tools = [
        "cite",
        "collect",
        "cite_queries",
        "file_tool",
        "find_insights",
        "find_tables",
        "look",
        "python",
        "render",
        "run_sql",
        "search_round",
    ];
    AgentFiles::new(tools.map(str::to_owned).into())
}

/// The names of the agents that are not ours, and the prompts in English and Chinese.
fn own(reading: &AgentReading) -> Vec<(String, String, String)> {
    let ours = files().read("", &[]).agents;
    let is_ours = |tool: &Arc<dyn Tool>| {
        ours.iter().any(|known| known.agent(Language::En) == tool.agent(Language::En))
    };
    let prompt = |tool: &Arc<dyn Tool>, language| tool.agent(language).unwrap().prompt;
    let own = reading.agents.iter().filter(|tool| !is_ours(tool));
    own.map(|tool| {
        (tool.spec(Language::En).name, prompt(tool, Language::En), prompt(tool, Language::Zh))
    })
    .collect()
}

fn problems(reading: &AgentReading) -> Vec<String> {
    reading.problems.iter().map(ToString::to_string).collect()
}

fn names(list: &[(&str, &str, &str)]) -> Vec<(String, String, String)> {
    list.iter().map(|(name, en, zh)| ((*name).into(), (*en).into(), (*zh).into())).collect()
}

#[test]
fn our_agents_are_there_without_files() {
    let reading = files().read("own", &[]);
    let names: Vec<String> =
        reading.agents.iter().map(|tool| tool.spec(Language::En).name).collect();
    assert_eq!(reading.problems, []);
    assert_eq!(names.len(), shipped_agents(Language::En).len());
    let lacking = AgentFiles::new(BTreeSet::new()).read("own", &[]);
    assert!(lacking.agents.len() < names.len() && !lacking.problems.is_empty());
}

#[test]
fn a_file_counts_for_its_language_and_keeps_its_last_valid_state() {
    let mut files = files();
    let both = ("agents/sage.md", agent("sage", "", "All."));
    let en = ("agents/en/oracle.md", agent("oracle", "", "English."));
    let zh = ("agents/zh/oracle.md", agent("oracle", "", "中文。"));
    let reading = files.read("own", &texts(&[both.clone(), en.clone(), zh.clone()]));
    let whole = names(&[("oracle", "English.", "中文。"), ("sage", "All.", "All.")]);
    assert_eq!((own(&reading), problems(&reading)), (whole.clone(), Vec::new()));

    let broken = ("agents/sage.md", agent("sage", "max_steps: many\n", "All."));
    let mut now = texts(&[broken, en.clone(), zh]);
    now[2].text = Err("is not UTF-8".to_owned());
    let reading = files.read("own", &now);
    assert_eq!(own(&reading), whole);
    let [first, second] = &problems(&reading)[..] else { panic!("{:?}", reading.problems) };
    assert!(first.starts_with("own/agents/sage.md:4: `max_steps` "), "{first}");
    assert_eq!(second, "own/agents/zh/oracle.md:1: it is not UTF-8");

    let reading = files.read("own", &texts(&[en]));
    assert_eq!(own(&reading), names(&[("oracle", "English.", "English.")]));
}

#[test]
fn a_file_in_modes_is_a_mode_unless_it_says_otherwise() {
    let reading = files().read(
        "own",
        &texts(&[
            ("agents/helper.md", agent("helper", "", "Help.")),
            ("agents/host.md", agent("host", "entry: true\n", "Host.")),
            ("modes/guide.md", agent("guide", "title: Guide\n", "Guide.")),
            ("modes/aide.md", agent("aide", "entry: false\n", "Aid.")),
        ]),
    );
    assert_eq!(problems(&reading), [""; 0]);
    let is_mode = |name: &str| {
        let found = reading.agents.iter().find(|tool| tool.spec(Language::En).name == name);
        found.unwrap().is_mode()
    };
    assert_eq!(["helper", "host", "guide", "aide"].map(is_mode), [false, true, true, false]);
}

#[test]
fn agents_that_do_not_fit_together_are_left_out_and_ours_take_their_place() {
    for (file, keys, says) in [
        ("agents/react.md", "", "own/agents/react.md:2: `name` is `react`, a mode of Djinn: add"),
        ("modes/react.md", "entry: false\n", "own/modes/react.md:2: `name` is `react`, a mode of"),
        ("modes/react.md", "tools: [pyton]\n", "own/modes/react.md:4: `tools` names `pyton`, "),
    ] {
        let reading = files().read("own", &texts(&[(file, agent("react", keys, "Mine."))]));
        let [problem] = &problems(&reading)[..] else { panic!("{:?}", reading.problems) };
        assert!(problem.starts_with(says), "{problem}");
        let ours = |tool: &&Arc<dyn Tool>| tool.spec(Language::En).name == "react";
        let react = reading.agents.iter().find(ours).unwrap();
        assert!(react.is_mode() && own(&reading).is_empty());
    }
    let mine = [("modes/react.md", agent("react", "", "Mine."))];
    let reading = files().read("own", &texts(&mine));
    assert_eq!(own(&reading), names(&[("react", "Mine.", "Mine.")]));
    let twins = [("agents/a.md", agent("a", "", "A.")), ("agents/b.md", agent("a", "", "B."))];
    let reading = files().read("own", &texts(&twins));
    assert_eq!(own(&reading), names(&[("a", "A.", "A.")]));
    assert!(problems(&reading)[0].starts_with("own/agents/b.md:2: `name` is `a`, which is the "));
}

#[test]
fn an_offered_name_without_an_agent_is_named() {
    let agents = files().read("own", &[]).agents;
    assert_eq!(find_unknown_agent(&OfferedAgents::All, &agents), None);
    let named = |name: &str| OfferedAgents::Named(BTreeSet::from([name.to_owned()]));
    assert_eq!(find_unknown_agent(&named("writer"), &agents), None);
    let problem = find_unknown_agent(&named("resercher"), &agents).unwrap();
    let says = "names `resercher`, which is no agent: did you mean `researcher`? there are ";
    assert!(problem.starts_with(says), "{problem}");
}
