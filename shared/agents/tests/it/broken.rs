//! Every way to get a file wrong that we know of, with the sentence that is said of it.

use super::{read, with_keys, with_prompt};

#[track_caller]
fn check(cases: &[(String, &str)]) {
    let mut wrong = Vec::new();
    for (text, expected) in cases {
        let found = match read(text) {
            Ok(_) => "it is read".to_owned(),
            Err(problem) => problem.to_string(),
        };
        if found != *expected {
            let shown: String = text.chars().take(400).collect();
            wrong.push(format!("{shown}\n  found    {found}\n  expected {expected}\n"));
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// Lines after `name` and `description`, and what is said of them.
#[track_caller]
fn check_keys(cases: &[(&str, &str)]) {
    let cases: Vec<_> = cases.iter().map(|(keys, rule)| (with_keys(keys), *rule)).collect();
    check(&cases);
}

#[test]
fn files_without_their_two_parts() {
    check(&[
        (String::new(), "a.md:1: the file begins without front matter: line 1 must be `---`"),
        ("Do it.".to_owned(), "a.md:1: the file begins without front matter: line 1 must be `---`"),
        (
            format!("\n{}", with_keys("")),
            "a.md:1: the file begins without front matter: line 1 must be `---`",
        ),
        (
            format!(" {}", with_keys("")),
            "a.md:1: the file begins without front matter: line 1 must be `---`",
        ),
        (
            "---\nname: a\ndescription: b\nDo it.".to_owned(),
            "a.md:1: the front matter has no end: a line `---` must close it",
        ),
        (
            "---\nname: a\ndescription: b\n --- \nDo it.".to_owned(),
            "a.md:1: the front matter has no end: a line `---` must close it",
        ),
        (
            "---\n---\nDo it.".to_owned(),
            "a.md:1: `name` is missing: 1 to 64 of a-z 0-9 _ - with a letter first",
        ),
        (
            "---\nname: a\ndescription: b\n---\n \n\t\n".to_owned(),
            "a.md:4: no prompt follows the front matter",
        ),
        (
            "---\nname: a\ndescription: b\n---".to_owned(),
            "a.md:4: no prompt follows the front matter",
        ),
        (
            with_prompt("", &"x".repeat(65_536)),
            "a.md:1: the file has 65580 bytes: the limit is 65536",
        ),
        (
            with_prompt("", &"x".repeat(16_385)),
            "a.md:5: the prompt has 16385 bytes: the limit is 16384",
        ),
        (
            "---\njust words\n---\nDo it.".to_owned(),
            "a.md:2: the front matter must be a mapping of keys, not the text `just words`",
        ),
        (
            "---\n- name\n---\nDo it.".to_owned(),
            "a.md:2: the front matter must be a mapping of keys, not a list",
        ),
        (
            "---\nname: a\n...\nb: c\n---\nDo it.".to_owned(),
            "a.md:4: the front matter must be one YAML document",
        ),
        (
            "---\nname: a\n--- b\n---\nDo it.".to_owned(),
            "a.md:3: the front matter must be one YAML document",
        ),
    ]);
}

#[test]
fn yaml_that_is_none_or_too_much_of_it() {
    let deep = format!("color: {}1{}", "[".repeat(40), "]".repeat(40));
    check_keys(&[
        (
            "tools: [a",
            "a.md:4: the front matter is not valid YAML: while parsing a flow sequence, \
             expected ',' or ']'",
        ),
        (
            "tools: a\n model: b",
            "a.md:5: the front matter is not valid YAML: mapping values are not allowed in \
             this context; put a text that contains `: ` in quotes",
        ),
        (
            "tools: *",
            "a.md:4: the front matter is not valid YAML: while scanning an anchor or alias, \
             did not find expected alphabetic or numeric character",
        ),
        (
            "tools: *list",
            "a.md:4: the front matter is not valid YAML: while parsing node, found unknown \
             anchor",
        ),
        ("color: &list [a]\ntools: *list", "a.md:4: anchors (`&name`) are not allowed"),
        ("color: !secret x", "a.md:4: tags (`!name`) are not allowed"),
        ("max_steps: !!int 3", "a.md:4: tags (`!name`) are not allowed"),
        ("mode: react\nrisk: low\nmode: react", "a.md:6: `mode` stands in line 4 already"),
        ("parameters:\n  type: object\n  type: object", "a.md:6: `type` stands in line 5 already"),
        ("? [a, b]\n: c", "a.md:4: a key must be a text, not a list or mapping"),
        ("? {a: b}\n: c", "a.md:4: a key must be a text, not a list or mapping"),
        (": c", "a.md:4: a key is empty"),
        (&deep, "a.md:4: lists and mappings are nested more than 32 levels deep"),
        (
            "\"tools: a",
            "a.md:4: the front matter is not valid YAML: while scanning a quoted scalar, \
             found unexpected end of stream",
        ),
        ("color: \u{0}", "a.md:4: the front matter is not valid YAML: found unprintable character"),
        (
            "\tmode: react",
            "a.md:3: the front matter is not valid YAML: while scanning a plain scalar, \
             found a tab",
        ),
    ]);
}

#[test]
fn names_and_descriptions() {
    let text = |keys: &str| format!("---\n{keys}\n---\nDo it.");
    check(&[
        (
            text("description: b"),
            "a.md:1: `name` is missing: 1 to 64 of a-z 0-9 _ - with a letter first",
        ),
        (text("name: a"), "a.md:1: `description` is missing: a text of 1 to 2000 bytes"),
        (
            text("description: b\nname: Data Analyst"),
            "a.md:3: `name` is the text `Data Analyst`: 1 to 64 of a-z 0-9 _ - with a letter \
             first is expected",
        ),
        (
            text("name: 1st\ndescription: b"),
            "a.md:2: `name` is the text `1st`: 1 to 64 of a-z 0-9 _ - with a letter first is \
             expected",
        ),
        (
            text("name: -a\ndescription: b"),
            "a.md:2: `name` is the text `-a`: 1 to 64 of a-z 0-9 _ - with a letter first is \
             expected",
        ),
        (
            text(&format!("name: {}\ndescription: b", "a".repeat(65))),
            "a.md:2: `name` is the text \
             `aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa…`: 1 to 64 of a-z \
             0-9 _ - with a letter first is expected",
        ),
        (
            text("name: 研究\ndescription: b"),
            "a.md:2: `name` is the text `研究`: 1 to 64 of a-z 0-9 _ - with a letter first is \
             expected",
        ),
        (
            text("name: 12\ndescription: b"),
            "a.md:2: `name` is the number `12`: 1 to 64 of a-z 0-9 _ - with a letter first is \
             expected",
        ),
        (
            text("name: true\ndescription: b"),
            "a.md:2: `name` is the boolean `true`: 1 to 64 of a-z 0-9 _ - with a letter first \
             is expected",
        ),
        (
            text("name:\ndescription: b"),
            "a.md:2: `name` is nothing: 1 to 64 of a-z 0-9 _ - with a letter first is \
             expected",
        ),
        (
            text("name: [a]\ndescription: b"),
            "a.md:2: `name` is a list: 1 to 64 of a-z 0-9 _ - with a letter first is \
             expected",
        ),
        (
            text("name: {b: c}\ndescription: b"),
            "a.md:2: `name` is a mapping: 1 to 64 of a-z 0-9 _ - with a letter first is \
             expected",
        ),
        (
            text("name: a\ndescription: '  '"),
            "a.md:3: `description` is an empty text: a text of 1 to 2000 bytes is expected",
        ),
        (
            text("name: a\ndescription: 7.5"),
            "a.md:3: `description` is the number `7.5`: a text of 1 to 2000 bytes is \
             expected",
        ),
        (
            text("name: a\ndescription: Use it when: now"),
            "a.md:3: the front matter is not valid YAML: mapping values are not allowed in \
             this context; put a text that contains `: ` in quotes",
        ),
        (
            text(&format!("name: a\ndescription: {}", "é".repeat(1_001))),
            "a.md:3: `description` has 2002 bytes: the limit is 2000",
        ),
    ]);
}

#[test]
fn keys_that_are_nearly_ours() {
    check_keys(&[
        ("max_step: 3", "a.md:4: `max_step` is not a key of an agent: did you mean `max_steps`?"),
        ("maxSteps: 3", "a.md:4: `maxSteps` is not a key of an agent: did you mean `max_steps`?"),
        ("max-steps: 3", "a.md:4: `max-steps` is not a key of an agent: did you mean `max_steps`?"),
        ("Model: planner", "a.md:4: `Model` is not a key of an agent: did you mean `model`?"),
        ("tool: a", "a.md:4: `tool` is not a key of an agent: did you mean `tools`?"),
        ("toosl: a", "a.md:4: `toosl` is not a key of an agent: did you mean `tools`?"),
        (
            "descripton: b",
            "a.md:4: `descripton` is not a key of an agent: did you mean `description`?",
        ),
        (
            "answer-schema: {}",
            "a.md:4: `answer-schema` is not a key of an agent: did you mean `answer_schema`?",
        ),
        (
            "parameter: {}",
            "a.md:4: `parameter` is not a key of an agent: did you mean `parameters`?",
        ),
    ]);
}

#[test]
fn values_that_may_not_stand_where_they_do() {
    check_keys(&[
        (
            "tools:",
            "a.md:4: `tools` is nothing: a list of names or names with commas between them is \
             expected",
        ),
        (
            "tools: 3",
            "a.md:4: `tools` is the number `3`: a list of names or names with commas between \
             them is expected",
        ),
        (
            "tools: {a: b}",
            "a.md:4: `tools` is a mapping: a list of names or names with commas between them \
             is expected",
        ),
        ("tools:\n  - a\n  - 3", "a.md:6: `tools` holds the number `3`: only names are allowed"),
        ("tools: [a, [b]]", "a.md:4: `tools` holds a list: only names are allowed"),
        ("tools: a,, b", "a.md:4: `tools` holds an empty text: only names are allowed"),
        ("tools: a, b, a", "a.md:4: `tools` holds `a` twice"),
        ("tools:\n  - a\n  - b\n  - a", "a.md:7: `tools` holds `a` twice"),
        (
            "model: sonnet",
            "a.md:4: `model` is the text `sonnet`: `react`, `planner`, `executor`, `code`, `data`, `analysis`, `report`, \
             `search`, `router` or `critic` is expected",
        ),
        (
            "model: summary",
            "a.md:4: `model` is the text `summary`: `react`, `planner`, `executor`, `code`, `data`, `analysis`, `report`, \
             `search`, `router` or `critic` is expected",
        ),
        ("mode: plan", "a.md:4: `mode` is the text `plan`: `react` or `plan_solve` is expected"),
        ("mode: [react]", "a.md:4: `mode` is a list: `react` or `plan_solve` is expected"),
        (
            "max_steps: many",
            "a.md:4: `max_steps` is the text `many`: a whole number from 1 to 1000 is \
             expected",
        ),
        (
            "max_steps: '3'",
            "a.md:4: `max_steps` is the text `3`: a whole number from 1 to 1000 is expected",
        ),
        (
            "max_steps: 0",
            "a.md:4: `max_steps` is the number `0`: a whole number from 1 to 1000 is \
             expected",
        ),
        (
            "max_steps: 1001",
            "a.md:4: `max_steps` is the number `1001`: a whole number from 1 to 1000 is \
             expected",
        ),
        (
            "max_steps: 2.5",
            "a.md:4: `max_steps` is the number `2.5`: a whole number from 1 to 1000 is \
             expected",
        ),
        (
            "max_steps: -1",
            "a.md:4: `max_steps` is the number `-1`: a whole number from 1 to 1000 is \
             expected",
        ),
        (
            "max_steps: 99999999999999999999",
            "a.md:4: `max_steps` is the number `1e+20`: a whole number from 1 to 1000 is \
             expected",
        ),
        ("calls: 0", "a.md:4: `calls` is the number `0`: a whole number from 1 to 100 is expected"),
        (
            "calls: true",
            "a.md:4: `calls` is the boolean `true`: a whole number from 1 to 100 is expected",
        ),
        (
            "first_tool: [a]",
            "a.md:4: `first_tool` is a list: the name of one of `tools` is expected",
        ),
        (
            "mode: plan_solve\nafter: search",
            "a.md:5: `after` is not allowed with `mode: plan_solve`",
        ),
        (
            "mode: plan_solve\ntools: search\nstop_at: search",
            "a.md:6: `stop_at` is not allowed with `mode: plan_solve`",
        ),
        (
            "mode: plan_solve\ntools: search\ntool_choice: smart",
            "a.md:6: `tool_choice` is not allowed with `mode: plan_solve`",
        ),
        (
            "tool_choice: always",
            "a.md:4: `tool_choice` is the text `always`: `auto`, `required`, `none` or `smart` is \
             expected",
        ),
        (
            "tool_choice: required",
            "a.md:4: `tool_choice` is `required`, but the agent has no `tools`",
        ),
        ("tool_choice: smart", "a.md:4: `tool_choice` is `smart`, but the agent has no `tools`"),
        (
            "tools: search\ntool_choice: none\nstop_at: search",
            "a.md:6: `stop_at` is not allowed with `tool_choice: none`",
        ),
        (
            "tools: search\nfirst_tool: search\ntool_choice: none",
            "a.md:5: `first_tool` is not allowed with `tool_choice: none`",
        ),
        (
            "tools: search\nafter: search\nstop_at:\n  - search",
            "a.md:6: `stop_at` is not allowed with `after`",
        ),
        (
            "tools: search\nstop_at: search\nanswer: json\nanswer_schema: {type: object}",
            "a.md:5: `stop_at` is only allowed with `answer: text`",
        ),
        (
            "hands_over: b\ntools: search\nafter: search",
            "a.md:4: `hands_over` is not allowed with `after`",
        ),
        (
            "hands_over: b\nanswer: file",
            "a.md:5: `answer` is `file`: `parameters` must have a required `file_name` of `type: string`",
        ),
        (
            "hands_over: b\nanswer: json\nanswer_schema: {type: object}",
            "a.md:4: `hands_over` is only allowed with `answer: text`",
        ),
        (
            "mode: plan_solve\nhands_over: b",
            "a.md:5: `hands_over` is not allowed with `mode: plan_solve`",
        ),
        (
            "hands_over: b\ntool_choice: none",
            "a.md:4: `hands_over` is not allowed with `tool_choice: none`",
        ),
        ("hands_over: [1]", "a.md:4: `hands_over` holds the number `1`: only names are allowed"),
        ("stop_at: [search, search]", "a.md:4: `stop_at` holds `search` twice"),
        ("before: [a, b, c, d, e, f, g, h, i]", "a.md:4: `before` has 9 calls: the limit is 8"),
        ("before: [a, {agent: a}]", "a.md:4: `before` holds `a` twice"),
        (
            "before:\n  - agent: a\n    model: second\n  - agent: a\n    model: second",
            "a.md:7: `before` holds `a` twice",
        ),
        ("before: [{model: second}]", "a.md:4: `agent` is missing: the name of an agent"),
        (
            "before:\n  - b\n  - agnt: a",
            "a.md:6: `agnt` is not a key of an agent in `before`: did you mean `agent`?",
        ),
        ("before: [{agent: a, task: b}]", "a.md:4: `task` is not a key of an agent in `before`"),
        (
            "before: [{agent: a, model: summary}]",
            "a.md:4: `model` is the text `summary`: `react`, `planner`, `executor`, `code`, `data`, `analysis`, `report`, `search`, `router`, `critic` or `second` is expected",
        ),
        ("before: [{agent: a}, [b]]", "a.md:4: `before` is a list: a name is expected"),
        (
            "tools: give_verdict\nstop_at: give_verdict",
            "a.md:5: `stop_at` is not allowed with the tool `give_verdict`",
        ),
        (
            "tools: give_verdict\nafter: search",
            "a.md:5: `after` is not allowed with the tool `give_verdict`",
        ),
        (
            "tools: give_verdict\nanswer: json\nanswer_schema: {type: object}",
            "a.md:5: `answer` is not allowed with the tool `give_verdict`",
        ),
        (
            "context: null",
            "a.md:4: `context` is nothing: `none`, `files` or `conversation` is expected",
        ),
        (
            "context: all",
            "a.md:4: `context` is the text `all`: `none`, `files` or `conversation` is \
             expected",
        ),
        ("risk: High", "a.md:4: `risk` is the text `High`: `low`, `medium` or `high` is expected"),
        ("answer: yes", "a.md:4: `answer` is the text `yes`: `text`, `file` or `json` is expected"),
        (
            "answer: \"a\\n\\e b\"",
            "a.md:4: `answer` is the text `a\\n\\u{1b} b`: `text`, `file` or `json` is \
             expected",
        ),
    ]);
}

#[test]
fn schemas_that_are_none() {
    check_keys(&[
        (
            "parameters: task",
            "a.md:4: `parameters` is the text `task`: a JSON Schema as a mapping is expected",
        ),
        (
            "parameters: []",
            "a.md:4: `parameters` is a list: a JSON Schema as a mapping is expected",
        ),
        (
            "parameters:\n  type: list",
            "a.md:5: `parameters` is not a JSON Schema: \"list\" is not a type: there are array, \
             boolean, integer, null, number, object and string",
        ),
        ("parameters:\n  type: array", "a.md:5: `parameters` must be of `type: object`"),
        ("parameters:\n  properties: {}", "a.md:4: `parameters` must be of `type: object`"),
        (
            "parameters:\n  type: object",
            "a.md:4: `parameters` has no `properties`: each parameter is one of them",
        ),
        (
            "parameters:\n  type: object\n  properties:\n    task:\n      type: text",
            "a.md:8: `parameters` is not a JSON Schema: \"text\" is not a type: there are array, \
             boolean, integer, null, number, object and string",
        ),
        (
            "parameters:\n  type: object\n  properties:\n    task: text",
            "a.md:7: `parameters` is not a JSON Schema: \"text\" is not of types \"boolean\", \
             \"object\"",
        ),
        (
            "parameters:\n  type: object\n  properties:\n    b: {type: string}\n    Task: {}",
            "a.md:8: `Task` cannot be a parameter: its name is a-z A-Z 0-9 _ with a small letter first",
        ),
        (
            "parameters:\n  type: object\n  properties:\n    a~/b: {}",
            "a.md:7: `a~/b` cannot be a parameter: its name is a-z A-Z 0-9 _ with a small letter first",
        ),
        (
            "parameters:\n  type: object\n  properties:\n    files: {}",
            "a.md:7: `files` cannot be a parameter: prompts have a `files` already",
        ),
        (
            "parameters:\n  type: object\n  properties:\n    bare: {type: boolean}",
            "a.md:7: `bare` cannot be a parameter: it is a word of templates",
        ),
        (
            "parameters:\n  type: object\n  properties:\n    a: {}\n  required:\n    - a\n    - b",
            "a.md:10: `required` names `b`, which is not a parameter",
        ),
        (
            "parameters:\n  type: object\n  properties:\n    a: {pattern: '('}",
            "a.md:7: `parameters` is not a JSON Schema: \"(\" is not a \"regex\"",
        ),
        (
            "parameters:\n  type: object\n  properties:\n    a: {$ref: 'https://example.com/a'}",
            "a.md:4: `parameters` is not a JSON Schema: the target of a `$ref` or `$schema` \
             must be in the schema itself",
        ),
        (
            "parameters:\n  type: object\n  properties:\n    type: text",
            "a.md:7: `parameters` is not a JSON Schema: \"text\" is not of types \"boolean\", \
             \"object\"",
        ),
        (
            "parameters:\n  type: object\n  properties:\n    a: {$ref: '#/$defs/b'}",
            "a.md:4: `parameters` is not a JSON Schema: the target of a `$ref` or `$schema` \
             must be in the schema itself",
        ),
        (
            "parameters:\n  $schema: https://example.com/a\n  type: object\n  properties: {}",
            "a.md:4: `parameters` is not a JSON Schema: the target of a `$ref` or `$schema` \
             must be in the schema itself",
        ),
        (
            "answer: json",
            "a.md:4: `answer` is `json`: `answer_schema` must define it, as a JSON Schema",
        ),
        (
            "answer: json\nanswer_schema: text",
            "a.md:5: `answer_schema` is the text `text`: a JSON Schema as a mapping is \
             expected",
        ),
        (
            "answer: json\nanswer_schema:\n  type: objekt",
            "a.md:6: `answer_schema` is not a JSON Schema: \"objekt\" is not a type: there are array, \
             boolean, integer, null, number, object and string",
        ),
        ("answer_schema: {}", "a.md:4: `answer_schema` is only allowed with `answer: json`"),
        (
            "answer: file\nanswer_schema: {}",
            "a.md:5: `answer_schema` is only allowed with `answer: json`",
        ),
        (
            "answer: file",
            "a.md:4: `answer` is `file`: `parameters` must have a required `file_name` of \
             `type: string`",
        ),
        (
            "answer: file\nparameters:\n  type: object\n  properties:\n    file_name: {type: string}",
            "a.md:4: `answer` is `file`: `parameters` must have a required `file_name` of \
             `type: string`",
        ),
    ]);
}

#[test]
fn prompts_that_could_not_be_rendered() {
    let cases = [
        (
            "a\n{{ b",
            "a.md:6: the prompt is not a valid template: unexpected end of input, \
             expected end of variable block",
        ),
        (
            "a\n\n{% if task %}b",
            "a.md:7: the prompt is not a valid template: unexpected end of input, \
             expected end of block",
        ),
        ("a {% endif %}", "a.md:5: the prompt is not a valid template: unknown statement endif"),
        (
            "{% include 'b' %}",
            "a.md:5: the prompt is not a valid template: unknown statement include",
        ),
        (
            "a\n{{ tsak }}",
            "a.md:6: the prompt uses `tsak`, which is neither a parameter nor one of \
             `base_prompt`, `date`, `files`, `mode_prompt` and `time_zone`",
        ),
        (
            "{{ task }}\n{% for f in flies %}{{ f }}{% endfor %}{{ flies }}",
            "a.md:6: the prompt uses `flies`, which is neither a parameter nor one of \
             `base_prompt`, `date`, `files`, `mode_prompt` and `time_zone`",
        ),
        (
            "{{ task }}\n\n{{ task | fram }}",
            "a.md:7: the prompt uses the filter `fram`, which does not exist",
        ),
        (
            "{% filter frame %}{{ task }}{% endfilter %}",
            "a.md:5: the prompt uses the filter `frame`, which does not exist",
        ),
        (
            "{% if task is not strnig %}{% endif %}",
            "a.md:5: the prompt uses the test `strnig`, which does not exist",
        ),
        ("{{ task.name }}", "a.md:5: the prompt uses `task.name`, but `task` has no fields"),
        ("{{ files.name }}", "a.md:5: the prompt uses `files.name`, but `files` has no fields"),
        (
            "{% for i in range(9) %}{{ i }}{% endfor %}",
            "a.md:5: the prompt uses `range`, which is neither a parameter nor one of \
             `base_prompt`, `date`, `files`, `mode_prompt` and `time_zone`",
        ),
        (
            "{{ loop.index }}",
            "a.md:5: the prompt uses `loop`, which is neither a parameter nor one of \
             `base_prompt`, `date`, `files`, `mode_prompt` and `time_zone`",
        ),
    ];
    let cases = cases.map(|(prompt, rule)| (with_prompt("", prompt), rule));
    let crlf = with_prompt("color: red", "\n\na\n{{ b }}").replace('\n', "\r\n");
    check(
        &[
            &cases[..],
            &[(
                crlf,
                "a.md:9: the prompt uses `b`, which is neither a parameter nor one of \
             `base_prompt`, `date`, `files`, `mode_prompt` and `time_zone`",
            )],
        ]
        .concat(),
    );
}

#[test]
fn keys_of_a_mode() {
    let long = format!("entry: true\ntitle: {}", "x".repeat(101));
    check_keys(&[
        ("entry: yes", "a.md:4: `entry` is the text `yes`: true or false is expected"),
        ("entry: 1", "a.md:4: `entry` is the number `1`: true or false is expected"),
        ("title: A", "a.md:4: `title` is only allowed with `entry: true`"),
        ("review: {agent: b}", "a.md:4: `review` is only allowed with `entry: true`"),
        (
            "entry: true\nreview: b",
            "a.md:5: `review` is the text `b`: a mapping with `agent` and `rounds` is expected",
        ),
        (
            "entry: true\nreview:\n  rounds: 1",
            "a.md:5: `review` has no `agent`: the name of an agent is expected",
        ),
        (
            "entry: true\nreview:\n  agent: [b]",
            "a.md:6: `agent` is a list: the name of an agent is expected",
        ),
        (
            "entry: true\nreview:\n  agent: b\n  rounds: 4",
            "a.md:7: `rounds` is the number `4`: a whole number from 0 to 3 is expected",
        ),
        (
            "entry: true\nreview: {agent: b, rounds: -1}",
            "a.md:5: `rounds` is the number `-1`: a whole number from 0 to 3 is expected",
        ),
        (
            "entry: true\nreview:\n  agent: b\n  round: 1",
            "a.md:7: `round` is not a key of `review`: did you mean `rounds`?",
        ),
        (
            "entry: true\nreview: {agent: b, model: c}",
            "a.md:5: `model` is not a key of `review`: there are `agent` and `rounds`",
        ),
        (
            "entry: true\ntools: search\nafter: search\nreview: {agent: b}",
            "a.md:7: `review` is not allowed with `after`",
        ),
        ("entry: false\nagent_type: 7", "a.md:5: `agent_type` is only allowed with `entry: true`"),
        (&long, "a.md:5: `title` has 101 characters: the limit is 100"),
        (
            "entry: true\nagent_type: 0",
            "a.md:5: `agent_type` is the number `0`: a whole number from 1 to 1000 is expected",
        ),
        ("entyr: true", "a.md:4: `entyr` is not a key of an agent: did you mean `entry`?"),
    ]);
}
