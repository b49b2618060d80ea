//! Files of workflows: what is read from a good one, and what is said of others.

use djinn_agents::{
    AgentFile, FileProblem, ReadWorkflow, check_workflows, read_agent, read_workflow,
};
use djinn_core::language::Language;
use djinn_core::workflow::{OnError, Workflow};

const GOOD: &str = r#"title: Weekly report
description: Reports on a week.
parameters:
  type: object
  properties:
    file: {type: string, description: The table.}
    regions: {type: array, items: {type: string}}
    form: {type: string, enum: [markdown, html], default: markdown}
  required: [file]
steps:
  - id: read
    task: Read {{ file }}.
  - id: region
    for_each: regions
    when: form == html
    task: |
      Sum up {{ item }}
      with {{ steps.read }}.
    on_error: skip
    retry: 3
  - id: chart
    depends_on: [read]
    agent: pricing
    arguments:
      data: "{{ steps.read }}"
      size: {width: 3, names: ["{{ file }}", x]}
    task: Draw it.
    confirm: true
  - id: report
    depends_on: [region, chart]
    task: Write about {{ steps.region }} and {{ steps.chart.title }}.
answer: "Done: {{ steps.report }}"
"#;

fn read(text: &str) -> Result<ReadWorkflow, FileProblem> {
    read_workflow("workflows/weekly.yaml", text)
}

fn problem(text: &str) -> String {
    read(text).unwrap_err().to_string()
}

#[test]
fn a_workflow_is_read() {
    let spec = read(GOOD).unwrap().spec;
    assert_eq!((spec.name.as_str(), spec.title.as_deref()), ("weekly", Some("Weekly report")));
    assert!(spec.entry && spec.machine.has_workflow());
    assert_eq!(spec.parameters["additionalProperties"], false);
    let workflow = spec.workflow.unwrap();
    let on: Vec<_> = workflow.steps.iter().map(|step| step.depends_on.clone()).collect();
    assert_eq!(on, [vec![], vec![0], vec![0], vec![1, 2]]);
    let [read, region, chart, report] = workflow.steps.as_slice() else { panic!() };
    assert_eq!((read.retry, region.retry, region.on_error), (1, 3, OnError::Skip));
    assert_eq!(region.for_each.as_ref().unwrap().to_string(), "regions");
    assert_eq!(region.when.as_ref().unwrap().to_string(), "form == \"html\"");
    assert_eq!(chart.arguments["size"]["width"], 3);
    assert!(chart.confirm && report.arguments.is_empty());
    let stored = serde_json::to_string(&workflow).unwrap();
    assert_eq!(serde_json::from_str::<Workflow>(&stored).unwrap(), *workflow);
}

/// A file with these steps, whose first line is line 6.
fn with_steps(steps: &str) -> String {
    format!(
        "description: Does a thing.\nparameters:\n  type: object\n  properties: {{file: {{type: string}}, form: \
         {{enum: [html, markdown]}}}}\nsteps:\n{steps}"
    )
}

#[test]
fn what_is_wrong_with_a_file_is_said_with_its_line() {
    let many = "  - {id: a, task: Do it.}\n".repeat(10_000);
    let some: String = (0..201).map(|n| format!("  - {{id: s{n}, task: Do it.}}\n")).collect();
    for (text, line, rule) in [
        (String::new(), 1, "`description` is missing"),
        ("- a\n".to_owned(), 1, "the file must be a mapping of keys, not a list"),
        ("a: b: c\n".to_owned(), 1, "the file is not valid YAML"),
        (
            "description: x\nstep: []\n".to_owned(),
            2,
            "`step` is not a key of a workflow: did you mean `steps`?",
        ),
        ("description: x\n".to_owned(), 1, "`steps` is missing: a list of steps"),
        (
            "description: x\nsteps: []\n".to_owned(),
            2,
            "`steps` is a list: a list of at least one step is expected",
        ),
        ("description: x\nsteps: &a\n  - *a\n".to_owned(), 2, "anchors (`&name`) are not allowed"),
        (with_steps(&many), 1, "the file has 260"),
        (
            with_steps(&some),
            5,
            "`steps` has 201 steps: the limit is 200; repeat a step with `for_each`",
        ),
        (
            with_steps("  - Do it.\n"),
            6,
            "a step is the text `Do it.`: a mapping of keys is expected",
        ),
        (with_steps("  - task: Do it.\n"), 6, "`id` is missing: 1 to 64 of a-z 0-9 _ -"),
        (with_steps("  - id: A b\n    task: x\n"), 6, "`id` is the text `A b`: 1 to 64 of a-z"),
        (
            with_steps("  - {id: a, task: x}\n  - {id: a, task: x}\n"),
            7,
            "the step `a` stands in line 6 already",
        ),
        (with_steps("  - id: a\n"), 6, "`task` is missing: the work of the step, as a text"),
        (with_steps("  - id: a\n    task: [x]\n"), 7, "`task` is a list: a text is expected"),
        (
            with_steps("  - id: a\n    task: x\n    dependson: b\n"),
            8,
            "`dependson` is not a key of a step: did you mean `depends_on`?",
        ),
        (
            with_steps("  - id: a\n    task: x\n    sleep: b\n"),
            8,
            "`sleep` is not a key of a step: there are `id`, `agent`, ",
        ),
        (
            with_steps("  - {id: read, task: x}\n  - id: b\n    task: x\n    depends_on: [raed]\n"),
            9,
            "`depends_on` names `raed`, which is not a step: did you mean `read`?",
        ),
        (
            with_steps("  - id: a\n    task: x\n    depends_on: [a]\n"),
            8,
            "the step `a` depends on itself",
        ),
        (
            with_steps(
                "  - {id: a, task: x, depends_on: [c]}\n  - {id: b, task: x, depends_on: [a]}\n  - {id: c, task: x, depends_on: [b]}\n  - {id: d, task: x}\n",
            ),
            6,
            "steps wait for each other in a cycle: a -> c -> b -> a; the step `d` can therefore never begin",
        ),
        (
            with_steps("  - id: a\n    task: Read {{ fiel }}.\n"),
            7,
            "`task` uses `fiel`, which is not a parameter: did you mean `file`?",
        ),
        (
            with_steps("  - id: a\n    task: Read {{ other }}.\n"),
            7,
            "`task` uses `other`, which is not a parameter: declare it in `parameters`",
        ),
        (
            with_steps("  - id: a\n    task: Read {{ file.name }}.\n"),
            7,
            "`task` uses `file.name`, but `file` has no fields",
        ),
        (
            with_steps("  - id: a\n    task: Read {{ secret:KEY }}.\n"),
            7,
            "`task` reads `secret:KEY`: a workflow cannot read secrets or variables",
        ),
        (
            with_steps("  - id: a\n    task: Read {{ env.HOME }}.\n"),
            7,
            "`task` reads `env.HOME`: a workflow cannot read secrets",
        ),
        (
            with_steps("  - id: a\n    task: Read {{ file | upper }}.\n"),
            7,
            "`task` has `file | upper`, which is not a name",
        ),
        (with_steps("  - id: a\n    task: Read {{ file.\n"), 7, "`task` has a `{{` without a `}}`"),
        (
            with_steps("  - id: a\n    task: |\n      Read\n      {{ a b }}.\n"),
            9,
            "`task` has `a b`, which is not a name",
        ),
        (
            with_steps("  - id: a\n    task: Read {{ item }}.\n"),
            7,
            "`task` uses `item`, which only `task` and `arguments` of a step with `for_each` have",
        ),
        (
            with_steps("  - id: a\n    task: x\n    when: item\n    for_each: steps.b\n"),
            8,
            "`when` uses `item`, which only",
        ),
        (
            with_steps("  - {id: a, task: x}\n  - id: b\n    task: Use {{ a }}.\n"),
            8,
            "`task` uses `a`, which is not a parameter: write `steps.a` for the result of that step",
        ),
        (
            with_steps("  - {id: a, task: x}\n  - id: b\n    task: Use {{ steps.aa }}.\n"),
            8,
            "`task` uses `steps.aa`, which is not a step",
        ),
        (
            with_steps(
                "  - {id: a, task: x}\n  - id: b\n    depends_on: []\n    task: Use {{ steps.a }}.\n",
            ),
            9,
            "`task` uses `steps.a`, which does not precede the step: add `a` to its `depends_on`",
        ),
        (
            with_steps("  - id: a\n    task: x\n    when: file ==\n"),
            8,
            "`when` compares with nothing",
        ),
        (
            with_steps("  - id: a\n    task: x\n    when: file > 3\n"),
            8,
            "`when` has `file > 3`, which is not a name",
        ),
        (
            with_steps("  - id: a\n    task: x\n    when: form == htm\n"),
            8,
            "`when` never holds, because `htm` is not a value of `form`: did you mean `html`?",
        ),
        (
            with_steps("  - id: a\n    task: x\n    when: [file]\n"),
            8,
            "`when` is a list: a value, as ",
        ),
        (
            with_steps("  - id: a\n    task: x\n    for_each: file\n"),
            8,
            "`for_each` repeats the step for `file`, which is of `type: string`",
        ),
        (
            with_steps("  - id: a\n    task: x\n    for_each: [a, b]\n"),
            8,
            "`for_each` is a list: a list's name",
        ),
        (
            with_steps("  - id: a\n    task: x\n    retry: 6\n"),
            8,
            "`retry` is the number `6`: a whole number from 0 to 5",
        ),
        (
            with_steps("  - id: a\n    task: x\n    confirm: please\n"),
            8,
            "`confirm` is the text `please`: true or false",
        ),
        (
            with_steps("  - id: a\n    task: x\n    on_error: retry\n"),
            8,
            "`on_error` is the text `retry`: `stop` or `skip`",
        ),
        (
            with_steps("  - id: a\n    task: x\n    arguments: {b: c}\n"),
            8,
            "`arguments` is only allowed with `agent`",
        ),
        (
            with_steps("  - id: a\n    task: x\n    agent: b\n    arguments:\n      task: c\n"),
            10,
            "`task` is no argument",
        ),
        (
            with_steps(
                "  - id: a\n    task: x\n    agent: b\n    arguments:\n      c: {d: ['{{ e }}']}\n",
            ),
            10,
            "`arguments.c` uses `e`, which is not a parameter",
        ),
        (
            with_steps("  - {id: a, task: x}\nanswer: '{{ steps.b }}'\n"),
            7,
            "`answer` uses `steps.b`, which is not a step",
        ),
        (with_steps("  - {id: a, task: x}\nanswer: ''\n"), 7, "`answer` is an empty text"),
        (
            "description: x\nparameters: {type: object, properties: {steps: {}}}\n".to_owned(),
            2,
            "`steps` cannot be a parameter: it is a word of workflows",
        ),
        (
            "description: x\nparameters: {type: object}\n".to_owned(),
            2,
            "`parameters` has no `properties`",
        ),
    ] {
        let found = problem(&text);
        let start = format!("workflows/weekly.yaml:{line}: {rule}");
        assert!(found.starts_with(&start), "{found}\nis not\n{start}");
    }
    assert!(
        read_workflow("workflows/My flow.yaml", GOOD)
            .unwrap_err()
            .rule
            .starts_with("the file is named `My flow`: 1 to 64")
    );
}

#[test]
fn workflows_are_checked_with_the_agents() {
    let agent = |name: &str, keys: &str| {
        let text = format!("---\nname: {name}\ndescription: Does a thing.\n{keys}---\nDo it.\n");
        read_agent(&AgentFile { path: "a.md", text: &text, language: Language::En, entry: false })
            .unwrap()
            .spec
    };
    let parameters = "parameters: {type: object, properties: {task: {type: string}, data: {}, size: {}}, \
                      required: [task, data], additionalProperties: false}\n";
    let problems = |agents: &[djinn_core::agent::AgentSpec], text: &str| {
        let workflow = read(text).unwrap();
        let problems = check_workflows(&[workflow], agents);
        problems.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let agents = [agent("pricing", parameters)];
    assert_eq!(problems(&agents, GOOD), [""; 0]);
    let says = |text: &str, agents: &[_], expected: &str| {
        assert_eq!(problems(agents, text), [format!("workflows/weekly.yaml:{expected}")]);
    };
    says(
        &GOOD.replace("agent: pricing", "agent: pricin"),
        &agents,
        "23: `agent` is `pricin`, which is not an agent: did you mean `pricing`?",
    );
    says(
        &GOOD.replace("      size:", "      sise:"),
        &agents,
        "26: `arguments` has `sise`, which is not a parameter of `pricing`: did you mean `size`?",
    );
    says(
        &GOOD.replace("      data: \"{{ steps.read }}\"\n", ""),
        &agents,
        "24: `arguments` lacks `data`, which the agent `pricing` requires",
    );
    says(
        GOOD,
        &[agent("pricing", parameters), agent("weekly", "")],
        "1: the workflow is named `weekly`, which is the name of an agent",
    );
    let twice = [read(GOOD).unwrap(), read(GOOD).unwrap()];
    let found = check_workflows(&twice, &agents);
    assert!(found[0].rule.ends_with("which is the name of another workflow"), "{found:?}");
}

#[test]
fn a_machine_of_workflows_is_only_for_modes() {
    let text = "---\nname: a\ndescription: x\nmode: workflow\n---\nDo it.\n";
    let file = AgentFile { path: "a.md", text, language: Language::En, entry: false };
    let rule = read_agent(&file).unwrap_err().to_string();
    assert_eq!(rule, "a.md:4: `mode` is the text `workflow`: `react` or `plan_solve` is expected");
}

#[test]
fn workflow_may_have_a_review() {
    let reviewed =
        GOOD.replace("answer: \"Done", "review: {agent: judge, rounds: 2}\nanswer: \"Done");
    let policy = read(&reviewed).unwrap().spec.review.unwrap();
    assert_eq!((policy.agent.as_str(), policy.rounds), ("judge", 2));
    let found = check_workflows(&[read(&reviewed).unwrap()], &[]);
    let found: Vec<_> = found.iter().map(ToString::to_string).collect();
    let says = "workflows/weekly.yaml:32: `review` names `judge`, which is not an agent";
    assert!(found.contains(&says.to_owned()), "{found:?}");
    let beyond = reviewed.replace("rounds: 2", "rounds: 9");
    let says = "workflows/weekly.yaml:32: `rounds` is the number `9`: a whole number from 0 to 3 is expected";
    assert_eq!(problem(&beyond), says);
}
