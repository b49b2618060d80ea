//! prompts/README.md, the templates and `prompt.rs` say the same.

use std::collections::{BTreeMap, BTreeSet};

use djinn_core::language::Language;
use djinn_runtime::prompt::{ALL, CUT_MARK, Fragment, Prompts};
use serde_json::{Value, json};

use crate::layout::files_below;

const README: &str = include_str!("../../prompts/README.md");
const LANGUAGES: [Language; 2] = [Language::En, Language::Zh];

/// A line of the README's table.
struct Row {
    name: &'static str,
    fills: &'static str,
    cap: usize,
}

/// What fills a template: its variables, their members, and the words they are compared with.
#[derive(Debug, Default, PartialEq)]
struct Fills {
    variables: BTreeSet<String>,
    members: BTreeSet<String>,
    words: BTreeSet<String>,
}

fn rows() -> Vec<Row> {
    let lines = README.lines().filter(|line| line.starts_with("| `"));
    let cells = lines.map(|line| line.trim_matches('|').split('|').map(str::trim).collect());
    let row = |cells: Vec<&'static str>| Row {
        name: cells[0].trim_matches('`'),
        fills: cells[2],
        cap: cells[3].replace(' ', "").parse().unwrap(),
    };
    cells.map(row).collect()
}

impl Row {
    fn fragment(&self) -> Fragment {
        *ALL.iter().find(|fragment| fragment.name == self.name).unwrap()
    }

    /// `` `a`, `b` in bytes; `c` the files (`name`); `d` one of `x`, `y` ``
    fn says(&self) -> Fills {
        let mut says = Fills::default();
        for clause in self.fills.split(';') {
            let (clause, members) = clause.split_once('(').unwrap_or((clause, ""));
            let (names, words) = clause.split_once("one of").unwrap_or((clause, ""));
            says.variables.extend(quoted(names));
            says.members.extend(quoted(members));
            says.words.extend(quoted(words).filter(|word| !word.contains('*')));
        }
        says
    }
}

fn quoted(text: &str) -> impl Iterator<Item = String> {
    text.split('`').skip(1).step_by(2).map(str::to_owned)
}

/// What a template reads, told from its tags.
fn uses(template: &str) -> Fills {
    let mut uses = Fills::default();
    let mut items = BTreeSet::new();
    for tag in template.split(['{', '}']).filter(|tag| tag.starts_with(['%', ' '])) {
        if !tag.starts_with('%') && !template.contains(&format!("{{{{{tag}}}}}")) {
            continue;
        }
        // What a filter is given is no variable.
        let value = tag.split(" | ").next().unwrap_or(tag);
        let mut code = String::new();
        for (nth, piece) in value.split('"').enumerate() {
            match nth % 2 {
                0 => code.push_str(piece),
                _ => drop(uses.words.insert(piece.to_owned())),
            }
        }
        let names: Vec<_> =
            code.split(|c: char| !c.is_ascii_alphanumeric() && !"_.".contains(c)).collect();
        if let Some(at) = names.iter().position(|name| *name == "for") {
            items.insert(names[at + 1].to_owned());
        }
        for name in names.into_iter().filter(|name| !KEYWORDS.contains(name)) {
            match name.split_once('.') {
                Some((item, member)) if items.contains(item) => {
                    uses.members.insert(member.to_owned());
                }
                _ if items.contains(name) => {}
                _ => drop(uses.variables.insert(name.to_owned())),
            }
        }
    }
    uses
}

const KEYWORDS: [&str; 16] = [
    "",
    "if",
    "elif",
    "else",
    "endif",
    "for",
    "in",
    "endfor",
    "and",
    "or",
    "not",
    "tojson",
    "filter",
    "framed",
    "endfilter",
    "loop.last",
];

#[test]
fn every_fragment_has_a_line_with_its_cap_and_a_file_in_both_languages() {
    let listed: BTreeMap<_, _> = rows().iter().map(|row| (row.name, row.cap)).collect();
    let known: BTreeMap<_, _> = ALL.iter().map(|f| (f.name, f.max_chars)).collect();
    assert_eq!(listed, known, "prompts/README.md and prompt.rs differ");
    assert_eq!(rows().len(), ALL.len());
    for language in LANGUAGES {
        let folder = format!("prompts/{}/", language.as_str());
        let files = files_below(&folder);
        let files: BTreeSet<_> = files
            .iter()
            .map(|path| path.trim_start_matches(&folder).trim_end_matches(".md"))
            // Those of agents have a reader of their own.
            .filter(|name| !name.starts_with("agents/"))
            .collect();
        assert_eq!(files, known.keys().copied().collect(), "{folder}");
    }
}

#[test]
fn the_readme_lists_what_each_template_uses_and_nothing_else() {
    for row in rows() {
        for language in LANGUAGES {
            let (says, uses) = (row.says(), uses(row.fragment().template(language)));
            let place = format!("{}/{}", language.as_str(), row.name);
            assert_eq!(says.variables, uses.variables, "{place}");
            assert_eq!(says.members, uses.members, "{place}");
            // The last of the words may be the template's `else`.
            assert!(uses.words.is_subset(&says.words), "{place}: {:?}", uses.words);
        }
    }
}

/// Values for all that a row lists; texts are `text`.
fn values(row: &Row, text: &str, items: usize) -> Value {
    let says = row.says();
    let lists = [
        "agents",
        "answers",
        "arguments",
        "before",
        "evidence",
        "files",
        "findings",
        "history",
        "links",
        "others",
        "problems",
        "queries",
        "reports",
        "requests",
        "results",
        "sources",
        "tables",
        "tools",
        "unread",
    ];
    let leaf: Value = says.members.iter().map(|member| (member.clone(), json!(text))).collect();
    let has_lists =
        |member: &String| says.variables.contains("answers") && lists.contains(&member.as_str());
    let member = |name: &String| {
        let value = if has_lists(name) { json!([leaf]) } else { json!(text) };
        (name.clone(), value)
    };
    let item: Value = says.members.iter().map(member).collect();
    let value = |name: &String| {
        if lists.contains(&name.as_str()) && !says.members.is_empty() {
            json!(vec![item.clone(); items])
        } else {
            json!(text)
        }
    };
    says.variables.iter().map(|name| (name.clone(), value(name))).collect()
}

#[test]
fn every_template_renders_with_what_is_listed_and_keeps_its_cap() {
    let prompts = Prompts::default();
    for row in rows() {
        let cap = row.cap;
        for language in LANGUAGES {
            let short = prompts.render(language, row.fragment(), values(&row, "value", 2));
            assert!(!short.contains("{{") && !short.contains("{%"), "{}: {short}", row.name);
            assert!(!short.ends_with(CUT_MARK), "{} is cut without need", row.name);
            if row.fills.is_empty() {
                assert_eq!(short, row.fragment().template(language).trim());
                continue;
            }
            let part = cap / row.says().variables.len().max(1) + 1;
            let long = values(&row, &"界".repeat(part), 3);
            let long = prompts.render(language, row.fragment(), long);
            assert!(long.chars().count() <= cap, "{}", row.name);
        }
    }
}

#[test]
fn every_system_prompt_says_when_to_stop_how_to_use_files_and_which_language() {
    let wanted = [
        (
            Language::En,
            [
                "# When to stop",
                "call no tool",
                "`get`",
                "`upload`",
                "language of the user's question",
            ],
        ),
        (Language::Zh, ["# 何时停止", "不再调用工具", "`get`", "`upload`", "用户问题所用的语言"]),
    ];
    // The planner calls no tool but its own, and names files for others.
    let planner = [
        (
            Language::En,
            ["# When to stop", "`finish`", "Name the files", "language of the user's question", ""],
        ),
        (Language::Zh, ["# 何时停止", "`finish`", "写明所需的文件", "用户问题所用的语言", ""]),
    ];
    let systems = ALL.iter().filter(|fragment| fragment.name.ends_with("/system"));
    for system in systems {
        let wanted = if system.name == "plan/system" { planner } else { wanted };
        for (language, wanted) in wanted {
            for words in wanted {
                let template = system.template(language);
                assert!(template.contains(words), "{} lacks {words}", system.name);
            }
        }
    }
}

#[test]
fn what_a_template_uses_is_read_from_its_tags() {
    let template = "{a} {{ one }} {% if two == \"x\" and not three %}{% endif %}{% for f in four \
                    -%}{{ f.five }}{% else %}{% endfor %} { six }";
    let uses = uses(template);
    let set = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    assert_eq!(uses.variables, set(&["one", "two", "three", "four"]));
    assert_eq!((uses.members, uses.words), (set(&["five"]), set(&["x"])));
}
