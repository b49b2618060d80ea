//! The section `[request]`.

use std::collections::BTreeSet;

use djinn_core::tool::EffectClass;
use djinn_text::near_miss::find_near_miss;
use serde_json::Value;

use super::properties_of;
use crate::fields::{FieldReader, Section, list_choices};
use crate::header_fields::read_headers;
use crate::request::{RequestMethod, RequestTemplate, UrlTemplate};
use crate::template::{JsonTemplate, TextTemplate};

const METHODS: [(&str, RequestMethod); 5] = [
    ("GET", RequestMethod::Get),
    ("POST", RequestMethod::Post),
    ("PUT", RequestMethod::Put),
    ("PATCH", RequestMethod::Patch),
    ("DELETE", RequestMethod::Delete),
];

/// The parameters that placeholders may name.
struct Placeholders<'a> {
    /// `None` if the parameters themselves are invalid.
    parameters: Option<&'a Value>,
    /// The names that occur.
    used: BTreeSet<String>,
}

/// The position of a placeholder.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Position {
    Path,
    Query,
    Body,
}

/// Reads the request. Placeholders must name `parameters`, and each parameter must be used.
pub(super) fn read_request<'a>(
    reader: &mut FieldReader<'a>,
    top: &Section<'a>,
    parameters: Option<&Value>,
    effect: EffectClass,
) -> Option<RequestTemplate> {
    if !top.has_field("request") {
        reader.refuse(1, "`request` is missing: a table with `method` and `url`");
    }
    let section = reader.read_section(top, "request")?;
    reader.check_names(&section, &["method", "url", "query", "headers", "body"]);
    let method = read_method(reader, &section, effect);
    let mut placeholders = Placeholders { parameters, used: BTreeSet::new() };
    let url = read_url(reader, &section, &mut placeholders);
    let query = read_query(reader, &section, &mut placeholders);
    let headers = read_headers(reader, &section, |_| false);
    let body = read_body(reader, &section, method, &mut placeholders);
    let is_whole = url.is_some() && reader.problems.is_empty();
    if let Some(name) = placeholders.find_unused().filter(|_| is_whole) {
        let rule =
            format!("the parameter `{name}` is used nowhere: write `{{{name}}}` in `request`");
        reader.refuse(section.line, rule);
    }
    Some(RequestTemplate { method: method?, url: url?, query, headers, body })
}

fn read_method<'a>(
    reader: &mut FieldReader<'a>,
    section: &Section<'a>,
    effect: EffectClass,
) -> Option<RequestMethod> {
    if !section.has_field("method") {
        let choices = list_choices(&METHODS);
        reader.refuse(section.line, format!("`request.method` is missing: {choices}"));
    }
    let method = reader.read_choice(section, "method", &METHODS)?;
    let only_reads = matches!(method, RequestMethod::Get | RequestMethod::Post);
    if effect == EffectClass::Read && !only_reads {
        let name = method.as_str();
        let rule = format!("`effect` is \"read\", but the method is {name}");
        reader.refuse(reader.line_of(section, "method"), rule);
    }
    Some(method)
}

fn read_url<'a>(
    reader: &mut FieldReader<'a>,
    section: &Section<'a>,
    placeholders: &mut Placeholders<'_>,
) -> Option<UrlTemplate> {
    const ACCEPTED: &str = "a URL that begins with https:// or http://";
    if !section.has_field("url") {
        reader.refuse(section.line, format!("`request.url` is missing: {ACCEPTED}"));
    }
    let text = reader.read_text(section, "url", ACCEPTED)?;
    match UrlTemplate::parse(&text.value) {
        Ok(url) => {
            let names: Vec<String> = url.arguments().map(str::to_owned).collect();
            for name in names {
                placeholders.check(reader, &name, Position::Path, "request.url", text.line);
            }
            Some(url)
        }
        Err(problem) => {
            reader.refuse(text.line, format!("`request.url` {problem}"));
            None
        }
    }
}

fn read_query<'a>(
    reader: &mut FieldReader<'a>,
    section: &Section<'a>,
    placeholders: &mut Placeholders<'_>,
) -> Vec<(String, TextTemplate)> {
    let Some(query) = reader.read_section(section, "query") else { return Vec::new() };
    let mut fields = Vec::new();
    for (name, text) in reader.read_texts(&query, "a text, a number or a boolean") {
        let path = query.join_path(&name);
        let template = match TextTemplate::parse(&text.value) {
            Ok(template) => template,
            Err(problem) => {
                reader.refuse(text.line, format!("`{path}`: {problem}"));
                continue;
            }
        };
        if name.contains(['{', '}']) {
            let rule = format!("`{path}` has a placeholder, but is the name of a field");
            reader.refuse(text.line, rule);
        }
        refuse_key(reader, &template, &path, text.line);
        for argument in template.arguments() {
            placeholders.check(reader, argument, Position::Query, &path, text.line);
        }
        fields.push((name, template));
    }
    fields
}

fn read_body<'a>(
    reader: &mut FieldReader<'a>,
    section: &Section<'a>,
    method: Option<RequestMethod>,
    placeholders: &mut Placeholders<'_>,
) -> Option<JsonTemplate> {
    let body = reader.read_json(section, "body")?;
    if method == Some(RequestMethod::Get) {
        reader.refuse(body.line, "`request.body` is set, but the method is GET");
    }
    match JsonTemplate::parse(&body.value) {
        Ok(template) => {
            for text in template.texts() {
                refuse_key(reader, &text, "request.body", body.line);
                for argument in text.arguments() {
                    let position = Position::Body;
                    placeholders.check(reader, argument, position, "request.body", body.line);
                }
            }
            Some(template)
        }
        Err(problem) => {
            reader.refuse(body.line, format!("`request.body`: {problem}"));
            None
        }
    }
}

fn refuse_key(reader: &mut FieldReader<'_>, template: &TextTemplate, path: &str, line: usize) {
    if let Some(key) = template.find_key() {
        let rule = format!("`{path}` has `{key}`: a key may only be in `request.headers`");
        reader.refuse(line, rule);
    }
}

impl Placeholders<'_> {
    /// Checks that an argument exists and fits into its position.
    fn check(
        &mut self,
        reader: &mut FieldReader<'_>,
        name: &str,
        position: Position,
        path: &str,
        line: usize,
    ) {
        self.used.insert(name.to_owned());
        let Some(parameters) = self.parameters else { return };
        let names = || properties_of(parameters).into_iter().flat_map(|it| it.keys());
        let Some(property) = properties_of(parameters).and_then(|it| it.get(name)) else {
            let nearest = find_near_miss(name, names().map(String::as_str));
            let hint = nearest.map(|name| format!(": did you mean `{{{name}}}`?"));
            let hint = hint.unwrap_or_default();
            reader.refuse(line, format!("`{path}` has `{{{name}}}`, which is no parameter{hint}"));
            return;
        };
        let required = parameters.get("required").and_then(Value::as_array);
        let is_required = required.is_some_and(|names| names.iter().any(|own| own == name));
        if position == Position::Path && !is_required {
            let rule = format!("`{path}` needs `{{{name}}}`, which `parameters.required` lacks");
            reader.refuse(line, rule);
        }
        let kind = property.get("type").and_then(Value::as_str).unwrap_or_default();
        let fits = match position {
            Position::Path => !matches!(kind, "object" | "array" | "null"),
            Position::Query => kind != "object",
            Position::Body => true,
        };
        if !fits {
            let rule = format!("`{path}` has `{{{name}}}`, but the parameter is of type {kind}");
            reader.refuse(line, rule);
        }
    }

    /// Returns a parameter that no placeholder names.
    fn find_unused(&self) -> Option<&str> {
        let mut names = properties_of(self.parameters?)?.keys();
        names.find(|name| !self.used.contains(*name)).map(String::as_str)
    }
}
