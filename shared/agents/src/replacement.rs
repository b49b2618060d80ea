//! A template that replaces a built-in template and has the same variables.

use std::collections::BTreeSet;

use djinn_text::near_miss::find_near_miss;

use crate::problem::{Fault, FileProblem, quote};
use crate::template::{check_template, find_variables};
use crate::template_words::{TemplateWord, WordKind, find_words};

/// The fields of `loop` in a template.
const LOOP_MEMBERS: [&str; 8] =
    ["index", "index0", "revindex", "revindex0", "first", "last", "length", "cycle"];

/// The prefix of a section in a tool's description; the name of a parameter follows.
const SECTION: &str = "## ";

/// The requirements for a template that replaces another.
#[derive(Debug, Clone, Copy)]
pub struct ReplacedTemplate<'a> {
    /// The built-in template in the language of the replacement.
    pub text: &'a str,
    /// The built-in template in the other language, which may use other variables.
    pub other: &'a str,
    /// Maximum characters of the replacement.
    pub max_chars: usize,
    /// True if the sections describe the parameters of a tool.
    pub describes_tool: bool,
}

/// Checks a text that replaces a built-in template.
///
/// # Errors
/// Returns [`FileProblem`] with the first line that cannot be used.
pub fn check_replacement(
    path: &str,
    text: &str,
    ours: ReplacedTemplate<'_>,
) -> Result<(), FileProblem> {
    let characters = text.trim().chars().count();
    let limit = ours.max_chars;
    if characters > limit {
        let rule = format!("the prompt has {characters} characters: the limit is {limit}");
        return Err(Fault::new(1, rule).into_problem(path));
    }
    let result = check_template(text, |path| find_unknown_variable(path, ours))
        .and_then(|()| check_members(text, ours))
        .and_then(|()| if ours.describes_tool { check_sections(text, ours) } else { Ok(()) });
    result.map_err(|fault| fault.into_problem(path))
}

/// Returns the reason why a variable cannot be used.
fn find_unknown_variable(path: &str, ours: ReplacedTemplate<'_>) -> Option<String> {
    let name = path.split('.').next().unwrap_or_default();
    let variables: BTreeSet<String> =
        [ours.text, ours.other].into_iter().flat_map(find_variables).collect();
    if variables.contains(name) {
        return None;
    }
    let names: Vec<&str> = variables.iter().map(String::as_str).collect();
    let rest = match find_near_miss(name, names.iter().copied()) {
        Some(near_miss) => format!("did you mean `{near_miss}`?"),
        None if names.is_empty() => "ours has none".to_owned(),
        None => format!("ours has {}", names.join(", ")),
    };
    Some(format!("the prompt uses {}, which it is not given: {rest}", quote(name)))
}

/// Checks fields separately, because a template's variables do not include the fields of list items.
fn check_members(text: &str, ours: ReplacedTemplate<'_>) -> Result<(), Fault> {
    let fields = [ours.text, ours.other].into_iter().flat_map(find_members);
    let fields: BTreeSet<&str> = fields.map(|word| word.text).chain(LOOP_MEMBERS).collect();
    match find_members(text).find(|word| !fields.contains(word.text)) {
        None => Ok(()),
        Some(word) => {
            let near_miss = find_near_miss(word.text, fields.iter().copied());
            let hint =
                near_miss.map_or_else(String::new, |field| format!(": did you mean `{field}`?"));
            let rule = format!(
                "the prompt uses the field {}, which the built-in prompt does not have{hint}",
                quote(word.text)
            );
            Err(Fault::new(word.line, rule))
        }
    }
}

fn find_members(text: &str) -> impl Iterator<Item = TemplateWord<'_>> {
    find_words(text).into_iter().filter(|word| word.kind == WordKind::Member)
}

/// Checks that each parameter has its section, which is the parameter's description for the model.
fn check_sections(text: &str, ours: ReplacedTemplate<'_>) -> Result<(), Fault> {
    let sections = |text| -> Vec<(usize, &str)> {
        let lines = (1..).zip(str::lines(text));
        let section_lines =
            lines.filter_map(|(line, text)| Some((line, text.strip_prefix(SECTION)?.trim())));
        section_lines.collect()
    };
    let built_in: BTreeSet<&str> = sections(ours.text).into_iter().map(|(_, name)| name).collect();
    let own = sections(text);
    if let Some((line, name)) = own.iter().find(|(_, name)| !built_in.contains(name)) {
        let names: Vec<&str> = built_in.into_iter().collect();
        let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        let rule = format!("the section {} is of no parameter; there are {names}", quote(name));
        return Err(Fault::new(*line, rule));
    }
    match built_in.iter().find(|section| !own.iter().any(|(_, name)| name == *section)) {
        Some(missing) => {
            Err(Fault::new(1, format!("the prompt lacks the section `{SECTION}{missing}`")))
        }
        None => Ok(()),
    }
}
