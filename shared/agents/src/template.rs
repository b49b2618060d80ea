//! The prompt of an agent: a template that must render with any valid arguments.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use minijinja::{Environment, ErrorKind, UndefinedBehavior};
use serde_json::Value;

use crate::parameters::{TEMPLATE_VARIABLES, properties_of};
use crate::problem::{Fault, quote};
use crate::template_words::{TemplateWord, WordKind, find_words};

/// Maximum bytes of a prompt.
pub const MAX_PROMPT: usize = 16 * 1024;

/// The environment that renders prompts, except for the effect of `framed`.
static ENVIRONMENT: LazyLock<Environment<'static>> = LazyLock::new(|| {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.add_filter("framed", |text: &str| text.to_owned());
    environment
});

/// Checks a prompt whose first line has this number in its file.
pub(crate) fn check_prompt(prompt: &str, line: usize, parameters: &Value) -> Result<(), Fault> {
    if prompt.len() > MAX_PROMPT {
        let rule = format!("the prompt has {} bytes: the limit is {MAX_PROMPT}", prompt.len());
        return Err(Fault::new(line, rule));
    }
    check_template(prompt, |path| find_unknown_variable(path, parameters))
        // Lines of the template count from 1.
        .map_err(|fault| Fault { line: line + fault.line.saturating_sub(1), ..fault })
}

/// Checks that a text is a template with known filters, tests and variables. `find_unknown` returns the
/// reason why a variable with its fields, such as `file.name`, cannot be used.
pub(crate) fn check_template(
    text: &str,
    find_unknown: impl Fn(&str) -> Option<String>,
) -> Result<(), Fault> {
    let template = ENVIRONMENT.template_from_str(text).map_err(|error| {
        let detail = error.detail().map_or_else(|| error.kind().to_string(), str::to_owned);
        let rule = format!("the prompt is not a valid template: {detail}");
        Fault::new(error.line().unwrap_or(1), rule)
    })?;
    let words = find_words(text);
    let faults = words.iter().filter_map(find_unknown_word);
    let paths: BTreeSet<_> = template.undeclared_variables(true).into_iter().collect();
    let faults = faults.chain(paths.iter().filter_map(|path| {
        let name = path.split('.').next().unwrap_or_default();
        let is_it = |word: &&TemplateWord<'_>| word.kind == WordKind::Name && word.text == name;
        let nth = words.iter().find(is_it).map_or(1, |word| word.line);
        find_unknown(path).map(|rule| Fault::new(nth, rule))
    }));
    faults.min_by_key(|fault| fault.line).map_or(Ok(()), Err)
}

/// Returns the variables of a built-in template, without their fields.
pub(crate) fn find_variables(text: &str) -> BTreeSet<String> {
    let template = ENVIRONMENT.template_from_str(text);
    let names = template.map(|template| template.undeclared_variables(false));
    names.into_iter().flatten().collect()
}

/// Returns the reason why a filter or test cannot be used.
fn find_unknown_word(word: &TemplateWord<'_>) -> Option<Fault> {
    let TemplateWord { text, line, kind } = *word;
    let (probe, unknown, noun) = match kind {
        WordKind::Filter => (format!("{{{{ ''|{text} }}}}"), ErrorKind::UnknownFilter, "filter"),
        WordKind::Test if text == "not" => return None,
        WordKind::Test => (format!("{{{{ '' is {text} }}}}"), ErrorKind::UnknownTest, "test"),
        WordKind::Name | WordKind::Member => return None,
    };
    let is_unknown = ENVIRONMENT.render_str(&probe, ()).is_err_and(|error| error.kind() == unknown);
    let rule = || format!("the prompt uses the {noun} {}, which does not exist", quote(text));
    is_unknown.then(|| Fault::new(line, rule()))
}

/// Returns the reason why a variable, or a field of a variable, cannot be used.
fn find_unknown_variable(path: &str, parameters: &Value) -> Option<String> {
    let (name, member) = path.split_once('.').unwrap_or((path, ""));
    let schema = properties_of(parameters).and_then(|all| all.get(name));
    let is_ours = TEMPLATE_VARIABLES.contains(&name);
    if schema.is_none() && !is_ours {
        return Some(format!(
            "the prompt uses {}, which is neither a parameter nor one of `base_prompt`, `date`, \
             `files`, `mode_prompt` and `time_zone`",
            quote(name)
        ));
    }
    let kind = schema.and_then(|schema| schema.get("type")).and_then(Value::as_str);
    let is_whole =
        is_ours || matches!(kind, Some("string" | "number" | "integer" | "boolean" | "null"));
    (is_whole && !member.is_empty())
        .then(|| format!("the prompt uses {}, but {} has no fields", quote(path), quote(name)))
}
