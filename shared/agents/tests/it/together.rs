//! Agents that do not go together.

use std::collections::BTreeSet;

use djinn_agents::{AgentFile, ReadAgent, check_agents, read_agent};
use djinn_core::language::Language;

/// An agent in a file of its name, with these lines of front matter after its description.
fn agent(name: &str, keys: &str) -> ReadAgent {
    let (path, keys) = (format!("{name}.md"), keys.trim_end());
    let text = format!("---\nname: {name}\ndescription: b\n{keys}\n---\nDo it.");
    read_agent(&AgentFile { path: &path, text: &text, language: Language::En, entry: false })
        .unwrap()
}

/// What is said of these agents beside the tools `file_tool` and `search`.
fn problems(agents: &[(&str, &str)]) -> Vec<String> {
    let agents: Vec<_> = agents.iter().map(|(name, keys)| agent(name, keys)).collect();
    let tools = BTreeSet::from(["file_tool".to_owned(), "search".to_owned()]);
    check_agents(&agents, &tools).iter().map(ToString::to_string).collect()
}

#[test]
fn agents_that_go_together() {
    let none: [String; 0] = [];
    assert_eq!(problems(&[]), none);
    assert_eq!(
        problems(&[
            ("a", "tools: file_tool, b, c"),
            ("b", "tools: [c]\nfirst_tool: c"),
            ("c", "tools: [search, d]"),
            ("d", ""),
        ]),
        none
    );
    let chain = [("a", "mode: plan_solve\ntools: b"), ("b", "tools: c"), ("c", "")];
    assert_eq!(problems(&chain), none);
}

#[test]
fn names_that_are_taken() {
    let found =
        problems(&[("a", ""), ("search", ""), ("planning", ""), ("ask_user", ""), ("a", "")]);
    assert_eq!(
        found,
        [
            "search.md:2: `name` is `search`, which is a tool's; choose another name",
            "planning.md:2: `name` is `planning`, which is reserved; choose another name",
            "ask_user.md:2: `name` is `ask_user`, which is reserved; choose another name",
            "a.md:2: `name` is `a`, which is the agent's in a.md:2; choose another name",
        ]
    );
}

#[test]
fn tools_that_are_not_there() {
    let found = problems(&[
        ("a", "tools:\n  - file_tool\n  - serch\n  - nothing"),
        ("b", "tools: search\nfirst_tool: file_tool"),
        ("c", "first_tool: a"),
        ("long-name", "tools: lon-name, Read"),
    ]);
    assert_eq!(
        found,
        [
            "a.md:6: `tools` names `serch`, which is neither a tool nor an agent: did you mean \
             `search`?",
            "a.md:7: `tools` names `nothing`, which is neither a tool nor an agent",
            "b.md:5: `first_tool` names `file_tool`, which is not among `tools`",
            "c.md:4: `first_tool` names `a`, which is not among `tools`",
            "long-name.md:4: `tools` names `lon-name`, which is neither a tool nor an agent: did you \
             mean `long-name`?",
            "long-name.md:4: `tools` names `Read`, which is neither a tool nor an agent",
        ]
    );
}

#[test]
fn results_of_a_tool_that_the_agent_is_not_offered_cannot_end_it() {
    let none: [String; 0] = [];
    let offered = [("a", "tools: [search, b]\nstop_at: [b]"), ("b", "tools: all\nstop_at: search")];
    assert_eq!(problems(&offered), none);
    let found = problems(&[
        ("a", "tools: search\nstop_at:\n  - search\n  - file_tool"),
        ("b", "tools: all\nstop_at: nothing"),
        ("c", "stop_at: search"),
    ]);
    assert_eq!(
        found,
        [
            "a.md:7: `stop_at` names `file_tool`, which is not among `tools`",
            "b.md:5: `stop_at` names `nothing`, which is not among `tools`",
            "c.md:4: `stop_at` names `search`, which is not among `tools`",
        ]
    );
}

#[test]
fn agents_that_hand_over_to_what_is_no_agent_or_in_a_circle() {
    let none: [String; 0] = [];
    let together = [
        ("router", "entry: true\nhands_over: all"),
        ("a", "entry: true\ntools: c"),
        ("b", "entry: true\nhands_over: [a, c]"),
        ("c", ""),
    ];
    assert_eq!(problems(&together), none);
    let found = problems(&[
        ("a", "hands_over:\n  - search\n  - bb\n  - long-name"),
        ("long-name", "tools: c\nhands_over: c"),
        ("c", "hands_over: lon-name"),
    ]);
    assert_eq!(
        found,
        [
            "a.md:5: `hands_over` names `search`, which is not an agent",
            "a.md:6: `hands_over` names `bb`, which is not an agent",
            "long-name.md:5: `hands_over` names `c`, which is also among `tools`",
            "c.md:4: `hands_over` names `lon-name`, which is not an agent: did you mean `long-name`?",
        ]
    );
    assert_eq!(
        problems(&[("a", "hands_over: [a]")]),
        ["a.md:4: agents hand over to each other in a cycle: a -> a"]
    );
    assert_eq!(
        problems(&[("a", "color: red\nhands_over: [b]"), ("b", "tools: [search, a]")]),
        ["a.md:5: agents hand over to each other in a cycle: a -> b -> a"]
    );
    let desk = ("desk", "entry: true\nagent_type: 9\ntools: [file_tool]\nhands_over: [analyst]");
    assert_eq!(
        problems(&[desk, ("analyst", "entry: true\nhands_over:\n  - desk")]),
        ["analyst.md:6: agents hand over to each other in a cycle: analyst -> desk -> analyst"]
    );
    // `all` includes every mode that does not hand over itself.
    assert_eq!(
        problems(&[
            ("router", "entry: true\nhands_over: all"),
            ("x", "entry: true\ntools: router")
        ]),
        ["router.md:5: agents hand over to each other in a cycle: router -> x -> router"]
    );
}

#[test]
fn hand_over_takes_no_level() {
    let none: [String; 0] = [];
    let chain = [
        ("a", "hands_over: b"),
        ("b", "tools: c"),
        ("c", "tools: d"),
        ("d", "tools: e"),
        ("e", ""),
    ];
    assert_eq!(problems(&chain), none);
    let deeper = [&chain[..4], &[("e", "tools: f"), ("f", "")]].concat();
    assert_eq!(problems(&deeper).len(), 1, "a chain of five");
}

#[test]
fn a_file_calls_tools_and_agents_before_the_first_turn_and_a_tool_after_the_last() {
    let found = problems(&[
        ("a", "before: [file_tool, serch]\nafter: search"),
        ("b", "before: a\nafter: nothing"),
    ]);
    assert_eq!(
        found,
        [
            "a.md:4: `before` names `serch`, which is neither a tool nor an agent: did you mean `search`?",
            "b.md:5: `after` names `nothing`, which is not a tool",
        ]
    );
}

#[test]
fn ensembles_are_checked_together() {
    let none: [String; 0] = [];
    let solvers = [("a", ""), ("planner", "entry: true\nmode: plan_solve")];
    let with = |keys: &'static str| {
        let found = problems(&[&solvers[..], &[("e", keys)]].concat());
        found.into_iter().next()
    };
    let good = "tools: give_verdict\nbefore: [planner, a, {agent: a, model: second}, file_tool]";
    assert_eq!(problems(&[&solvers[..], &[("e", good)]].concat()), none);
    for (keys, expected) in [
        (
            "tools: give_verdict",
            "e.md:4: `tools` names `give_verdict`, but `before` names no agent",
        ),
        (
            "tools:\n  - give_verdict\nbefore: file_tool",
            "e.md:5: `tools` names `give_verdict`, but `before` names no agent",
        ),
        ("before:\n  - a\n  - e", "e.md:6: agents call each other in a cycle: e -> e"),
        (
            "before:\n  - agent: e\n    model: second",
            "e.md:5: agents call each other in a cycle: e -> e",
        ),
        (
            "before:\n  - agent: planner\n    model: second",
            "e.md:5: `before` gives `planner` a `model`, but its file has `mode: plan_solve`",
        ),
        (
            "before: [{agent: file_tool, model: second}]",
            "e.md:4: `before` gives the tool `file_tool` a `model`: only agents have a model",
        ),
        (
            "before: [a, {agent: plannr, model: second}]",
            "e.md:4: `before` names `plannr`, which is neither a tool nor an agent: did you mean `planner`?",
        ),
        ("before: [all]", "e.md:4: `before` names `all`, which is neither a tool nor an agent"),
    ] {
        assert_eq!(with(keys).as_deref(), Some(expected));
    }
    assert_eq!(
        problems(&[("a", "before: b"), ("b", "color: red\ntools: [search, a]")]),
        ["a.md:4: agents call each other in a cycle: a -> b -> a"]
    );
    let chain =
        [("a", "before: b"), ("b", "before: c"), ("c", "tools: d"), ("d", "mode: plan_solve")];
    assert_eq!(problems(&chain).len(), 1, "a chain of five levels");
    assert_eq!(problems(&[("give_verdict", "")]).len(), 1, "the name is reserved");
}

#[test]
fn circles() {
    assert_eq!(
        problems(&[("a", "tools: search, a")]),
        ["a.md:4: agents call each other in a cycle: a -> a"]
    );
    assert_eq!(
        problems(&[("a", "tools: b"), ("b", "color: red\ntools: [search, a]")]),
        ["a.md:4: agents call each other in a cycle: a -> b -> a"]
    );
    let found = problems(&[
        ("d", "tools: a"),
        ("a", "tools:\n  - leaf\n  - b"),
        ("b", "tools: c"),
        ("c", "tools: a, x"),
        ("x", "tools: y"),
        ("y", "tools: x, leaf"),
        ("leaf", ""),
    ]);
    assert_eq!(
        found,
        [
            "a.md:6: agents call each other in a cycle: a -> b -> c -> a",
            "x.md:4: agents call each other in a cycle: x -> y -> x",
        ]
    );
}

#[test]
fn chains_that_are_too_long() {
    let chain = [
        ("a", "tools:\n  - e\n  - b"),
        ("b", "tools: c"),
        ("c", "tools: d, e"),
        ("d", "tools: e"),
        ("e", ""),
    ];
    assert_eq!(problems(&chain[1..]), [""; 0]);
    assert_eq!(
        problems(&chain),
        ["a.md:6: the chain a -> b -> c -> d -> e is 5 levels deep: the limit below a run is 4"]
    );
    let longer: Vec<_> = [("z", "tools: a")].into_iter().chain(chain).collect();
    assert_eq!(
        problems(&longer),
        [
            "z.md:4: the chain z -> a -> b -> c -> d -> e is 6 levels deep: the limit below a run is 4"
        ]
    );
    let plans = [("a", "tools: b"), ("b", "tools: c\nmode: plan_solve"), ("c", "mode: plan_solve")];
    assert_eq!(problems(&plans[1..]), [""; 0]);
    assert_eq!(
        problems(&plans),
        [
            "a.md:4: the chain a -> b -> steps of b -> c -> steps of c is 5 levels deep: the limit below a run is 4"
        ]
    );
}

#[test]
fn many_agents_are_checked_in_a_row() {
    let name = |nth: usize| format!("a{nth:05}");
    let keys = |nth: usize| format!("tools: {}", name(nth + 1));
    let mut agents: Vec<_> = (0..3_000).map(|nth| agent(&name(nth), &keys(nth))).collect();
    agents.push(agent(&name(3_000), ""));
    let problems = check_agents(&agents, &BTreeSet::new());
    assert_eq!(problems.len(), 1);
    assert!(problems[0].rule.ends_with("3001 levels deep: the limit below a run is 4"));
}

#[test]
fn modes_that_go_together() {
    let none: [String; 0] = [];
    let modes = [
        ("a", "entry: true\nagent_type: 7\ntools: [all, b]\nfirst_tool: search"),
        ("b", "entry: true\nagent_type: 8\ntools: all"),
    ];
    assert_eq!(problems(&modes), none);
    let found = problems(&[
        ("a", "entry: true\nagent_type: 7"),
        ("b", "entry: true\nagent_type: 7"),
        ("all", ""),
        ("c", "tools: all\nfirst_tool: serch"),
    ]);
    assert_eq!(
        found,
        [
            "all.md:2: `name` is `all`, which is reserved; choose another name",
            "c.md:5: `first_tool` names `serch`, which is not among `tools`",
            "b.md:5: `agent_type` is 7, the number of the agent `a`",
        ]
    );
}

/// The keys of an agent that can judge answers, besides its answer.
const REVIEWS: &str =
    "parameters:\n  type: object\n  properties: {question: {}, answer: {}}\nanswer: json\n";

#[test]
fn reviewer_judges_a_question_and_an_answer() {
    let none: [String; 0] = [];
    let schema = |verdict: &str, problems: &str| {
        format!("{REVIEWS}answer_schema: {{type: object, properties: {{{verdict}{problems}}}}}")
    };
    let lists = "problems: {type: array, items: {type: string}}";
    let with = |keys: &str| problems(&[("a", "entry: true\nreview: {agent: b}"), ("b", keys)]);
    for verdict in ["verdict: {type: boolean}, ", "verdict: {enum: [accept, revise]}, "] {
        assert_eq!(with(&schema(verdict, lists)), none);
    }
    let says = |found: Vec<String>, reason: &str| {
        assert_eq!(found, [format!("a.md:5: `review` names {reason}")]);
    };
    says(
        with(""),
        "`b`, which cannot judge answers: its `parameters` must be `question` and `answer`",
    );
    let text = REVIEWS.replace("answer: json\n", "");
    says(with(&text), "`b`, which cannot judge answers: it has no `answer_schema`");
    let third = schema("verdict: {type: boolean}, ", lists)
        .replace("answer: {}}", "answer: {}, more: {}}\n  required: [more]");
    says(
        with(&third),
        "`b`, which cannot judge answers: its `parameters` must be `question` and `answer`",
    );
    for verdict in [
        "",
        "verdict: {type: string}, ",
        "verdict: {enum: [accept]}, ",
        "verdict: {enum: [yes, no]}, ",
    ] {
        says(
            with(&schema(verdict, lists)),
            "`b`, which cannot judge answers: its `answer_schema` must have a `verdict`: a boolean, or several \
             words with `accept`",
        );
    }
    for other in ["", "problems: {type: string}"] {
        says(
            with(&schema("verdict: {type: boolean}, ", other)),
            "`b`, which cannot judge answers: its `answer_schema` must have `problems`: a list of texts",
        );
    }
    says(
        problems(&[("a", "entry: true\nreview: {agent: reviwer}"), ("reviewer", "")]),
        "`reviwer`, which is not an agent: did you mean `reviewer`?",
    );
}
