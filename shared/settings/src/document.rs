//! `djinn.toml`: the settings that are fields of a file, and the variables that override single fields.

mod problem;
mod value;

use std::collections::BTreeMap;

use djinn_text::near_miss::find_near_miss;
use serde_json::Value;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::VarLookup;
use crate::setting::{Setting, ValueKind};
use crate::table::model::{MODELS, file};
pub use problem::FieldProblem;
pub use problem::line_at;
pub use value::to_json;
use value::to_text;

/// The name of the file, in the configuration folder.
pub const FILE_NAME: &str = "djinn.toml";

/// The fields of a `djinn.toml`, with overrides by variables. Every value satisfies the rule of its row.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SettingsDocument {
    /// The path of the file, for sentences.
    file: String,
    /// The value of each set field, as the text that the field's row reads, by the row's name.
    texts: BTreeMap<&'static str, String>,
    /// The line of each key in the file, from 1, by dotted path: `models.main.key` too.
    lines: BTreeMap<String, usize>,
    /// The variable of each overridden field.
    variables: BTreeMap<&'static str, String>,
}

impl SettingsDocument {
    /// Reads the fields of `rows` from the text of the file at the path `file`. The variable of a field,
    /// [`Setting::override_name`], wins over the file.
    ///
    /// # Errors
    /// Returns all problems, in the order of the file.
    pub fn read(
        rows: &[&'static Setting],
        file: &str,
        text: &str,
        var: VarLookup<'_>,
    ) -> Result<Self, Vec<FieldProblem>> {
        let (table, syntax_errors) = DeTable::parse_recoverable(text);
        let mut reader = Reader { rows, file, text, ..Reader::default() };
        for error in syntax_errors {
            let line = line_at(text, error.span().map_or(0, |span| span.start));
            reader.problems.push(FieldProblem::in_file(file, line, error.message()));
        }
        if reader.problems.is_empty() {
            reader.read_table("", table.get_ref());
            rows.iter().for_each(|row| reader.read_override(row, var));
        }
        reader.finish()
    }

    /// Returns the text of a setting by the name of its row; `None` if its field is not set.
    #[must_use]
    pub fn find_text(&self, name: &str) -> Option<&str> {
        self.texts.get(name).map(String::as_str)
    }

    /// Returns the place of a field, or of the nearest part of its path that is set: `djinn.toml:12`, or the
    /// name of the variable that overrides it.
    #[must_use]
    pub fn place(&self, path: &str) -> String {
        let prefixes = std::iter::successors(Some(path), |path| Some(path.rsplit_once('.')?.0));
        for prefix in prefixes {
            if let Some(name) = self.variables.get(prefix) {
                return name.clone();
            }
            if let Some(line) = self.lines.get(prefix) {
                return format!("{}:{line}", self.file);
            }
        }
        self.file.clone()
    }
}

/// The state of reading a document.
#[derive(Default)]
struct Reader<'a> {
    rows: &'a [&'static Setting],
    file: &'a str,
    text: &'a str,
    texts: BTreeMap<&'static str, String>,
    /// The values of rows with tables or lists.
    json: BTreeMap<&'static str, Value>,
    lines: BTreeMap<String, usize>,
    variables: BTreeMap<&'static str, String>,
    problems: Vec<FieldProblem>,
}

impl Reader<'_> {
    fn read_table(&mut self, section: &str, table: &DeTable<'_>) {
        for (key, value) in table {
            let path = join_path(section, key.get_ref());
            let line = line_at(self.text, key.span().start);
            self.lines.insert(path.clone(), line);
            if let Some(row) = self.find_row(&path) {
                self.read_field(row, &path, value, line);
            } else if !self.has_section(&path) {
                let problem = self.describe_unknown(section, key.get_ref());
                self.problems.push(FieldProblem::in_file(self.file, line, problem));
            } else if let DeValue::Table(table) = value.get_ref() {
                self.read_table(&path, table);
            } else {
                let problem = format!("`{path}` must be a table, such as `[{path}]`");
                self.problems.push(FieldProblem::in_file(self.file, line, problem));
            }
        }
    }

    fn read_field(
        &mut self,
        row: &'static Setting,
        path: &str,
        value: &Spanned<DeValue<'_>>,
        line: usize,
    ) {
        if let ValueKind::Json(_) = row.kind {
            self.add_lines(path, value);
            match to_json(value.get_ref()) {
                Some(json) => drop(self.json.insert(row.name, json)),
                None => self.refuse(row, path, value, line),
            }
            return;
        }
        let text = match value.get_ref() {
            DeValue::String(text) if row.is_unlimited(text) => Some(text.clone().into_owned()),
            value => to_text(row.kind, value),
        };
        match text.filter(|text| row.check_text(text).is_ok()) {
            Some(text) => drop(self.texts.insert(row.name, text)),
            None => self.refuse(row, path, value, line),
        }
    }

    /// Records the lines of the keys within a field's value.
    fn add_lines(&mut self, path: &str, value: &Spanned<DeValue<'_>>) {
        match value.get_ref() {
            DeValue::Table(table) => {
                for (key, value) in table {
                    let path = join_path(path, key.get_ref());
                    self.lines.insert(path.clone(), line_at(self.text, key.span().start));
                    self.add_lines(&path, value);
                }
            }
            DeValue::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    let path = join_path(path, &index.to_string());
                    self.lines.insert(path.clone(), line_at(self.text, item.span().start));
                    self.add_lines(&path, item);
                }
            }
            DeValue::String(_)
            | DeValue::Integer(_)
            | DeValue::Float(_)
            | DeValue::Boolean(_)
            | DeValue::Datetime(_) => {}
        }
    }

    fn refuse(&mut self, row: &Setting, path: &str, value: &Spanned<DeValue<'_>>, line: usize) {
        let source = self.text.get(value.span()).unwrap_or_default();
        let refusal = match row.kind {
            ValueKind::Switch => row.refuse_for("true or false", source),
            // A table may hold the key of a model by mistake.
            ValueKind::Json(_) => row.refuse_described("a number that JSON lacks"),
            _ => row.refuse(source),
        };
        let problem = format!("{path} {}", refusal.problem);
        self.problems.push(FieldProblem::in_file(self.file, line, problem));
    }

    fn read_override(&mut self, row: &'static Setting, var: VarLookup<'_>) {
        let Some((field, name)) = row.field.zip(row.override_name()) else { return };
        // The variable of all models together is no override of a single field.
        if name == MODELS.name {
            return;
        }
        let Some(text) = var(&name).filter(|text| !text.trim().is_empty()) else { return };
        let result = if let ValueKind::Json(_) = row.kind {
            match serde_json::from_str(&text) {
                Ok(json) => {
                    self.json.insert(row.name, json);
                    Ok(())
                }
                Err(error) => {
                    Err(format!("is not JSON: line {}, column {}", error.line(), error.column()))
                }
            }
        } else {
            let result = row.check_text(&text).map_err(|error| error.problem);
            self.texts.insert(row.name, text);
            result
        };
        if let Err(problem) = result {
            self.problems.push(FieldProblem::in_variable(format!("{name} {problem}")));
        }
        self.variables.insert(field, name);
    }

    fn finish(mut self) -> Result<SettingsDocument, Vec<FieldProblem>> {
        if let Some(models) = take_models(&mut self.json) {
            self.texts.insert(MODELS.name, models.to_string());
        }
        self.texts.extend(self.json.into_iter().map(|(name, json)| (name, json.to_string())));
        self.problems.sort_by_key(|problem| problem.line.unwrap_or(usize::MAX));
        if !self.problems.is_empty() {
            return Err(self.problems);
        }
        let Self { texts, lines, variables, .. } = self;
        Ok(SettingsDocument { file: self.file.to_owned(), texts, lines, variables })
    }

    fn find_row(&self, path: &str) -> Option<&'static Setting> {
        self.rows.iter().copied().find(|row| row.field == Some(path))
    }

    /// Returns true if fields lie below a path.
    fn has_section(&self, path: &str) -> bool {
        let mut fields = self.rows.iter().filter_map(|row| row.field);
        fields.any(|field| field.strip_prefix(path).is_some_and(|rest| rest.starts_with('.')))
    }

    /// Describes a key without a row, with the field of this name elsewhere, or the nearest name here.
    fn describe_unknown(&self, section: &str, key: &str) -> String {
        let path = join_path(section, key);
        let fields = self.rows.iter().filter_map(|row| row.field);
        let elsewhere = fields.clone().find(|field| field.rsplit('.').next() == Some(key));
        let prefix = join_path(section, "");
        let here = fields.filter_map(|field| field.strip_prefix(&prefix)?.split('.').next());
        let nearest = find_near_miss(key, here).map(|name| join_path(section, name));
        match elsewhere.map(str::to_owned).or(nearest) {
            Some(name) => format!("`{path}` is not a setting: did you mean `{name}`?"),
            None => format!("`{path}` is not a setting; docs/settings.md lists all"),
        }
    }
}

/// Joins a section and a key with a dot; the top of the file is the section without a name.
fn join_path(section: &str, key: &str) -> String {
    if section.is_empty() { key.to_owned() } else { format!("{section}.{key}") }
}

/// Joins the tables of models, roles and fallbacks to one value; `None` without any of them.
fn take_models(json: &mut BTreeMap<&'static str, Value>) -> Option<Value> {
    let models = json.remove(file::MODELS.name);
    let mut roles = json.remove(file::ROLES.name);
    let fallback = json.remove(file::FALLBACK.name);
    let default = roles.as_mut().and_then(|roles| roles.as_object_mut()?.remove("default"));
    let members =
        [("models", models), ("default", default), ("roles", roles), ("fallback", fallback)];
    let members = members.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
    Some(members.collect::<serde_json::Map<_, _>>())
        .filter(|members| !members.is_empty())
        .map(Value::Object)
}

#[cfg(test)]
mod tests;
