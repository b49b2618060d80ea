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
            "a.md:1: the file has 65580 bytes: 65536 are the most",
        ),
        (
            with_prompt("", &"x".repeat(16_385)),
            "a.md:5: the prompt has 16385 bytes: 16384 are the most",
        ),
        (
            "---\njust words\n---\nDo it.".to_owned(),
            "a.md:2: front matter is a mapping of keys, and not the text `just words`",
        ),
        (
            "---\n- name\n---\nDo it.".to_owned(),
            "a.md:2: front matter is a mapping of keys, and not a list",
        ),
        (
            "---\nname: a\n...\nb: c\n---\nDo it.".to_owned(),
            "a.md:4: front matter is one YAML document",
        ),
        (
            "---\nname: a\n--- b\n---\nDo it.".to_owned(),
            "a.md:3: front matter is one YAML document",
        ),
    ]);
}

#[test]
fn yaml_that_is_none_or_too_much_of_it() {
    let deep = format!("color: {}1{}", "[".repeat(40), "]".repeat(40));
    check_keys(&[
        (
            "tools: [a",
            "a.md:4: front matter is YAML, and this is none: while parsing a flow sequence, \
             expected ',' or ']'",
        ),
        (
            "tools: a\n model: b",
            "a.md:5: front matter is YAML, and this is none: mapping values are not allowed in \
             this context; a text with `: ` in it stands in quotes",
        ),
        (
            "tools: *",
            "a.md:4: front matter is YAML, and this is none: while scanning an anchor or alias, \
             did not find expected alphabetic or numeric character",
        ),
        (
            "tools: *list",
            "a.md:4: front matter is YAML, and this is none: while parsing node, found unknown \
             anchor",
        ),
        ("color: &list [a]\ntools: *list", "a.md:4: anchors (`&name`) may not stand here"),
        ("color: !secret x", "a.md:4: tags (`!name`) may not stand here"),
        ("max_steps: !!int 3", "a.md:4: tags (`!name`) may not stand here"),
        ("mode: react\nrisk: low\nmode: react", "a.md:6: `mode` stands in line 4 already"),
        ("parameters:\n  type: object\n  type: object", "a.md:6: `type` stands in line 5 already"),
        ("? [a, b]\n: c", "a.md:4: a key is a text, and no list or mapping"),
        ("? {a: b}\n: c", "a.md:4: a key is a text, and no list or mapping"),
        (": c", "a.md:4: a key is empty"),
        (&deep, "a.md:4: more than 32 lists and mappings stand within each other"),
        (
            "\"tools: a",
            "a.md:4: front matter is YAML, and this is none: while scanning a quoted scalar, \
             found unexpected end of stream",
        ),
        (
            "color: \u{0}",
            "a.md:4: front matter is YAML, and this is none: found unprintable character",
        ),
        (
            "\tmode: react",
            "a.md:3: front matter is YAML, and this is none: while scanning a plain scalar, \
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
             first may stand here",
        ),
        (
            text("name: 1st\ndescription: b"),
            "a.md:2: `name` is the text `1st`: 1 to 64 of a-z 0-9 _ - with a letter first may \
             stand here",
        ),
        (
            text("name: -a\ndescription: b"),
            "a.md:2: `name` is the text `-a`: 1 to 64 of a-z 0-9 _ - with a letter first may \
             stand here",
        ),
        (
            text(&format!("name: {}\ndescription: b", "a".repeat(65))),
            "a.md:2: `name` is the text \
             `aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa…`: 1 to 64 of a-z \
             0-9 _ - with a letter first may stand here",
        ),
        (
            text("name: 研究\ndescription: b"),
            "a.md:2: `name` is the text `研究`: 1 to 64 of a-z 0-9 _ - with a letter first may \
             stand here",
        ),
        (
            text("name: 12\ndescription: b"),
            "a.md:2: `name` is the number `12`: 1 to 64 of a-z 0-9 _ - with a letter first may \
             stand here",
        ),
        (
            text("name: true\ndescription: b"),
            "a.md:2: `name` is the boolean `true`: 1 to 64 of a-z 0-9 _ - with a letter first \
             may stand here",
        ),
        (
            text("name:\ndescription: b"),
            "a.md:2: `name` is nothing: 1 to 64 of a-z 0-9 _ - with a letter first may stand \
             here",
        ),
        (
            text("name: [a]\ndescription: b"),
            "a.md:2: `name` is a list: 1 to 64 of a-z 0-9 _ - with a letter first may stand \
             here",
        ),
        (
            text("name: {b: c}\ndescription: b"),
            "a.md:2: `name` is a mapping: 1 to 64 of a-z 0-9 _ - with a letter first may stand \
             here",
        ),
        (
            text("name: a\ndescription: '  '"),
            "a.md:3: `description` is an empty text: a text of 1 to 2000 bytes may stand here",
        ),
        (
            text("name: a\ndescription: 7.5"),
            "a.md:3: `description` is the number `7.5`: a text of 1 to 2000 bytes may stand \
             here",
        ),
        (
            text("name: a\ndescription: Use it when: now"),
            "a.md:3: front matter is YAML, and this is none: mapping values are not allowed in \
             this context; a text with `: ` in it stands in quotes",
        ),
        (
            text(&format!("name: a\ndescription: {}", "é".repeat(1_001))),
            "a.md:3: `description` has 2002 bytes: 2000 are the most",
        ),
    ]);
}

#[test]
fn keys_that_are_nearly_ours() {
    check_keys(&[
        ("max_step: 3", "a.md:4: `max_step` is no key of an agent: did you mean `max_steps`?"),
        ("maxSteps: 3", "a.md:4: `maxSteps` is no key of an agent: did you mean `max_steps`?"),
        ("max-steps: 3", "a.md:4: `max-steps` is no key of an agent: did you mean `max_steps`?"),
        ("Model: planner", "a.md:4: `Model` is no key of an agent: did you mean `model`?"),
        ("tool: a", "a.md:4: `tool` is no key of an agent: did you mean `tools`?"),
        ("toosl: a", "a.md:4: `toosl` is no key of an agent: did you mean `tools`?"),
        (
            "descripton: b",
            "a.md:4: `descripton` is no key of an agent: did you mean `description`?",
        ),
        (
            "answer-schema: {}",
            "a.md:4: `answer-schema` is no key of an agent: did you mean `answer_schema`?",
        ),
        ("parameter: {}", "a.md:4: `parameter` is no key of an agent: did you mean `parameters`?"),
    ]);
}

#[test]
fn values_that_may_not_stand_where_they_do() {
    check_keys(&[
        (
            "tools:",
            "a.md:4: `tools` is nothing: a list of names or names with commas between them may \
             stand here",
        ),
        (
            "tools: 3",
            "a.md:4: `tools` is the number `3`: a list of names or names with commas between \
             them may stand here",
        ),
        (
            "tools: {a: b}",
            "a.md:4: `tools` is a mapping: a list of names or names with commas between them \
             may stand here",
        ),
        ("tools:\n  - a\n  - 3", "a.md:6: `tools` holds the number `3`: only names may stand here"),
        ("tools: [a, [b]]", "a.md:4: `tools` holds a list: only names may stand here"),
        ("tools: a,, b", "a.md:4: `tools` holds an empty text: only names may stand here"),
        ("tools: a, b, a", "a.md:4: `tools` holds `a` twice"),
        ("tools:\n  - a\n  - b\n  - a", "a.md:7: `tools` holds `a` twice"),
        (
            "model: sonnet",
            "a.md:4: `model` is the text `sonnet`: `react`, `planner`, `executor`, `code`, `report` or \
             `search` may stand here",
        ),
        (
            "model: summary",
            "a.md:4: `model` is the text `summary`: `react`, `planner`, `executor`, `code`, `report` or \
             `search` may stand here",
        ),
        ("mode: plan", "a.md:4: `mode` is the text `plan`: `react` or `plan_solve` may stand here"),
        ("mode: [react]", "a.md:4: `mode` is a list: `react` or `plan_solve` may stand here"),
        (
            "max_steps: many",
            "a.md:4: `max_steps` is the text `many`: a whole number from 1 to 1000 may stand \
             here",
        ),
        (
            "max_steps: '3'",
            "a.md:4: `max_steps` is the text `3`: a whole number from 1 to 1000 may stand here",
        ),
        (
            "max_steps: 0",
            "a.md:4: `max_steps` is the number `0`: a whole number from 1 to 1000 may stand \
             here",
        ),
        (
            "max_steps: 1001",
            "a.md:4: `max_steps` is the number `1001`: a whole number from 1 to 1000 may stand \
             here",
        ),
        (
            "max_steps: 2.5",
            "a.md:4: `max_steps` is the number `2.5`: a whole number from 1 to 1000 may stand \
             here",
        ),
        (
            "max_steps: -1",
            "a.md:4: `max_steps` is the number `-1`: a whole number from 1 to 1000 may stand \
             here",
        ),
        (
            "max_steps: 99999999999999999999",
            "a.md:4: `max_steps` is the number `1e+20`: a whole number from 1 to 1000 may stand \
             here",
        ),
        (
            "calls: 0",
            "a.md:4: `calls` is the number `0`: a whole number from 1 to 100 may stand here",
        ),
        (
            "calls: true",
            "a.md:4: `calls` is the boolean `true`: a whole number from 1 to 100 may stand here",
        ),
        (
            "first_tool: [a]",
            "a.md:4: `first_tool` is a list: the name of one of `tools` may stand here",
        ),
        (
            "mode: plan_solve\nafter: search",
            "a.md:5: `after` may not stand beside `mode: plan_solve`",
        ),
        ("before: [a, b, c, d, e, f, g, h, i]", "a.md:4: `before` names 9 tools: 8 are the most"),
        (
            "context: null",
            "a.md:4: `context` is nothing: `none`, `files` or `conversation` may stand here",
        ),
        (
            "context: all",
            "a.md:4: `context` is the text `all`: `none`, `files` or `conversation` may stand \
             here",
        ),
        (
            "risk: High",
            "a.md:4: `risk` is the text `High`: `low`, `medium` or `high` may stand here",
        ),
        (
            "answer: yes",
            "a.md:4: `answer` is the text `yes`: `text`, `file` or `json` may stand here",
        ),
        (
            "answer: \"a\\n\\e b\"",
            "a.md:4: `answer` is the text `a\\n\\u{1b} b`: `text`, `file` or `json` may stand \
             here",
        ),
    ]);
}

#[test]
fn schemas_that_are_none() {
    check_keys(&[
        (
            "parameters: task",
            "a.md:4: `parameters` is the text `task`: a JSON Schema as a mapping may stand here",
        ),
        (
            "parameters: []",
            "a.md:4: `parameters` is a list: a JSON Schema as a mapping may stand here",
        ),
        (
            "parameters:\n  type: list",
            "a.md:5: `parameters` is no JSON Schema: \"list\" is no type: there are array, \
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
            "a.md:8: `parameters` is no JSON Schema: \"text\" is no type: there are array, \
             boolean, integer, null, number, object and string",
        ),
        (
            "parameters:\n  type: object\n  properties:\n    task: text",
            "a.md:7: `parameters` is no JSON Schema: \"text\" is not of types \"boolean\", \
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
            "a.md:10: `required` names `b`, which is no parameter",
        ),
        (
            "parameters:\n  type: object\n  properties:\n    a: {pattern: '('}",
            "a.md:7: `parameters` is no JSON Schema: \"(\" is not a \"regex\"",
        ),
        (
            "parameters:\n  type: object\n  properties:\n    a: {$ref: 'https://example.com/a'}",
            "a.md:4: `parameters` is no JSON Schema: what a `$ref` or `$schema` names must \
             stand in the schema itself",
        ),
        (
            "parameters:\n  type: object\n  properties:\n    type: text",
            "a.md:7: `parameters` is no JSON Schema: \"text\" is not of types \"boolean\", \
             \"object\"",
        ),
        (
            "parameters:\n  type: object\n  properties:\n    a: {$ref: '#/$defs/b'}",
            "a.md:4: `parameters` is no JSON Schema: what a `$ref` or `$schema` names must \
             stand in the schema itself",
        ),
        (
            "parameters:\n  $schema: https://example.com/a\n  type: object\n  properties: {}",
            "a.md:4: `parameters` is no JSON Schema: what a `$ref` or `$schema` names must \
             stand in the schema itself",
        ),
        (
            "answer: json",
            "a.md:4: `answer` is `json`: `answer_schema` must say which, as a JSON Schema",
        ),
        (
            "answer: json\nanswer_schema: text",
            "a.md:5: `answer_schema` is the text `text`: a JSON Schema as a mapping may stand \
             here",
        ),
        (
            "answer: json\nanswer_schema:\n  type: objekt",
            "a.md:6: `answer_schema` is no JSON Schema: \"objekt\" is no type: there are array, \
             boolean, integer, null, number, object and string",
        ),
        ("answer_schema: {}", "a.md:4: `answer_schema` may stand only beside `answer: json`"),
        (
            "answer: file\nanswer_schema: {}",
            "a.md:5: `answer_schema` may stand only beside `answer: json`",
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
            "a.md:6: the prompt is a template, and this is none: unexpected end of input, \
             expected end of variable block",
        ),
        (
            "a\n\n{% if task %}b",
            "a.md:7: the prompt is a template, and this is none: unexpected end of input, \
             expected end of block",
        ),
        (
            "a {% endif %}",
            "a.md:5: the prompt is a template, and this is none: unknown statement endif",
        ),
        (
            "{% include 'b' %}",
            "a.md:5: the prompt is a template, and this is none: unknown statement include",
        ),
        (
            "a\n{{ tsak }}",
            "a.md:6: the prompt uses `tsak`, which is neither a parameter nor one of \
             `base_prompt`, `date` and `files`",
        ),
        (
            "{{ task }}\n{% for f in flies %}{{ f }}{% endfor %}{{ flies }}",
            "a.md:6: the prompt uses `flies`, which is neither a parameter nor one of \
             `base_prompt`, `date` and `files`",
        ),
        (
            "{{ task }}\n\n{{ task | fram }}",
            "a.md:7: the prompt uses the filter `fram`, which there is not",
        ),
        (
            "{% filter frame %}{{ task }}{% endfilter %}",
            "a.md:5: the prompt uses the filter `frame`, which there is not",
        ),
        (
            "{% if task is not strnig %}{% endif %}",
            "a.md:5: the prompt uses the test `strnig`, which there is not",
        ),
        ("{{ task.name }}", "a.md:5: the prompt uses `task.name`, but `task` has no members"),
        ("{{ files.name }}", "a.md:5: the prompt uses `files.name`, but `files` has no members"),
        (
            "{% for i in range(9) %}{{ i }}{% endfor %}",
            "a.md:5: the prompt uses `range`, which is neither a parameter nor one of \
             `base_prompt`, `date` and `files`",
        ),
        (
            "{{ loop.index }}",
            "a.md:5: the prompt uses `loop`, which is neither a parameter nor one of \
             `base_prompt`, `date` and `files`",
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
             `base_prompt`, `date` and `files`",
            )],
        ]
        .concat(),
    );
}
