//! The fields of a TOML file, each with its line. A rejected field is a problem with the accepted values.

use djinn_settings::{line_at, to_json};
use djinn_text::near_miss::find_near_miss;
use serde_json::Value;
use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue};

use crate::problem::ToolFileProblem;

/// Maximum characters of a quoted value.
const MAX_QUOTED: usize = 60;

/// A table of a file.
#[derive(Clone)]
pub(crate) struct Section<'a> {
    /// The dotted path from the file's top; empty for the top itself.
    path: String,
    /// The line of the table's key, from 1.
    pub(crate) line: usize,
    table: &'a DeTable<'a>,
}

/// A value with its line, from 1.
pub(crate) struct Located<T> {
    pub(crate) value: T,
    pub(crate) line: usize,
}

/// The reader of one file, with the problems found so far.
pub(crate) struct FieldReader<'a> {
    path: &'a str,
    text: &'a str,
    pub(crate) problems: Vec<ToolFileProblem>,
}

impl<'a> FieldReader<'a> {
    pub(crate) fn new(path: &'a str, text: &'a str) -> Self {
        Self { path, text, problems: Vec::new() }
    }

    /// Parses the text, and rejects what is no TOML.
    pub(crate) fn parse_table(&mut self) -> Spanned<DeTable<'a>> {
        let (table, syntax_errors) = DeTable::parse_recoverable(self.text);
        for error in syntax_errors {
            let at = error.span().map_or(0, |span| span.start);
            self.refuse_at(at, error.message());
        }
        table
    }

    /// Returns all problems, each once, in the order of the file.
    pub(crate) fn into_problems(self) -> Vec<ToolFileProblem> {
        let mut problems = self.problems;
        problems.sort();
        problems.dedup();
        problems
    }

    /// Returns the top of the file's table.
    pub(crate) fn open_top(table: &'a DeTable<'a>) -> Section<'a> {
        Section { path: String::new(), line: 1, table }
    }

    pub(crate) fn refuse(&mut self, line: usize, rule: impl Into<String>) {
        let path = self.path.to_owned();
        self.problems.push(ToolFileProblem { path, line, rule: rule.into() });
    }

    /// Rejects a byte of the text.
    pub(crate) fn refuse_at(&mut self, byte: usize, rule: impl Into<String>) {
        self.refuse(line_at(self.text, byte), rule);
    }

    /// Returns the line of a field, or of the section without the field.
    pub(crate) fn line_of(&self, section: &Section<'a>, name: &str) -> usize {
        self.find_field(section, name).map_or(section.line, |(_, line)| line)
    }

    /// Rejects all fields of a section besides these.
    pub(crate) fn check_names(&mut self, section: &Section<'a>, names: &[&str]) {
        for (key, _) in section.table {
            let name = key.get_ref();
            if names.contains(&&**name) {
                continue;
            }
            let rule = match find_near_miss(name, names.iter().copied()) {
                Some(nearest) => format!(
                    "`{}` is not a field: did you mean `{}`?",
                    section.join_path(name),
                    section.join_path(nearest)
                ),
                None => format!(
                    "`{}` is not a field: there are {}",
                    section.join_path(name),
                    names.join(", ")
                ),
            };
            self.refuse_at(key.span().start, rule);
        }
    }

    /// Returns a text that is not blank.
    pub(crate) fn read_text(
        &mut self,
        section: &Section<'a>,
        name: &str,
        accepted: &str,
    ) -> Option<Located<String>> {
        let (value, line) = self.find_field(section, name)?;
        match value.get_ref() {
            DeValue::String(text) if !text.trim().is_empty() => {
                Some(Located { value: text.clone().into_owned(), line })
            }
            _ => self.refuse_value(section, name, value, accepted),
        }
    }

    /// Returns the value of one of these words.
    pub(crate) fn read_choice<T: Copy>(
        &mut self,
        section: &Section<'a>,
        name: &str,
        choices: &[(&str, T)],
    ) -> Option<T> {
        let (value, _) = self.find_field(section, name)?;
        let word = value.get_ref().as_str();
        let choice = choices.iter().find(|(choice, _)| Some(*choice) == word);
        match choice {
            Some((_, value)) => Some(*value),
            None => self.refuse_value(section, name, value, &list_choices(choices)),
        }
    }

    /// Returns a whole number from 1 to `most`.
    pub(crate) fn read_number(
        &mut self,
        section: &Section<'a>,
        name: &str,
        most: u32,
    ) -> Option<u32> {
        let (value, _) = self.find_field(section, name)?;
        let number = match to_json(value.get_ref()) {
            Some(Value::Number(number)) => number.as_u64(),
            _ => None,
        };
        let number = number.and_then(|number| u32::try_from(number).ok());
        match number.filter(|number| (1..=most).contains(number)) {
            Some(number) => Some(number),
            None => {
                self.refuse_value(section, name, value, &format!("a whole number from 1 to {most}"))
            }
        }
    }

    /// Returns a switch.
    pub(crate) fn read_switch(&mut self, section: &Section<'a>, name: &str) -> Option<bool> {
        let (value, _) = self.find_field(section, name)?;
        match value.get_ref() {
            DeValue::Boolean(is_on) => Some(*is_on),
            _ => self.refuse_value(section, name, value, "true or false"),
        }
    }

    /// Returns a list of texts.
    pub(crate) fn read_names(&mut self, section: &Section<'a>, name: &str) -> Option<Vec<String>> {
        const ACCEPTED: &str = "a list of names";
        let (value, _) = self.find_field(section, name)?;
        let DeValue::Array(items) = value.get_ref() else {
            return self.refuse_value(section, name, value, ACCEPTED);
        };
        let names = items.iter().map(|item| item.get_ref().as_str().map(str::to_owned));
        match names.collect::<Option<Vec<_>>>() {
            Some(names) if !names.is_empty() => Some(names),
            _ => self.refuse_value(section, name, value, ACCEPTED),
        }
    }

    /// Returns a value as JSON.
    pub(crate) fn read_json(
        &mut self,
        section: &Section<'a>,
        name: &str,
    ) -> Option<Located<Value>> {
        let (value, line) = self.find_field(section, name)?;
        match to_json(value.get_ref()) {
            Some(value) => Some(Located { value, line }),
            None => self.refuse_value(section, name, value, "a value that JSON has"),
        }
    }

    /// Returns the table of a field.
    pub(crate) fn read_section(
        &mut self,
        section: &Section<'a>,
        name: &str,
    ) -> Option<Section<'a>> {
        let (value, line) = self.find_field(section, name)?;
        match value.get_ref() {
            DeValue::Table(table) => Some(Section { path: section.join_path(name), line, table }),
            _ => self.refuse_value(section, name, value, "a table"),
        }
    }

    /// Returns the tables of a list.
    pub(crate) fn read_sections(&mut self, section: &Section<'a>, name: &str) -> Vec<Section<'a>> {
        let Some((value, _)) = self.find_field(section, name) else { return Vec::new() };
        let DeValue::Array(items) = value.get_ref() else {
            return self.refuse_value(section, name, value, "a list of tables").unwrap_or_default();
        };
        self.read_items(section, name, items)
    }

    fn read_items(
        &mut self,
        section: &Section<'a>,
        name: &str,
        items: &'a DeArray<'a>,
    ) -> Vec<Section<'a>> {
        let mut sections = Vec::new();
        for item in items.iter() {
            let line = line_at(self.text, item.span().start);
            match item.get_ref() {
                DeValue::Table(table) => {
                    sections.push(Section { path: section.join_path(name), line, table });
                }
                _ => drop(self.refuse_value::<()>(section, name, item, "a list of tables")),
            }
        }
        sections
    }

    /// Returns every field of a section whose values are texts, such as headers.
    pub(crate) fn read_texts(
        &mut self,
        section: &Section<'a>,
        accepted: &str,
    ) -> Vec<(String, Located<String>)> {
        let mut texts = Vec::new();
        for (key, value) in section.table {
            let name = key.get_ref().clone().into_owned();
            let line = line_at(self.text, key.span().start);
            let text = match value.get_ref() {
                DeValue::String(text) => Some(text.clone().into_owned()),
                DeValue::Integer(_) | DeValue::Float(_) | DeValue::Boolean(_) => {
                    to_json(value.get_ref()).map(|value| value.to_string())
                }
                _ => None,
            };
            match text {
                Some(value) => texts.push((name, Located { value, line })),
                None => drop(self.refuse_value::<()>(section, &name, value, accepted)),
            }
        }
        texts
    }

    /// Rejects a value, and returns `None`.
    fn refuse_value<T>(
        &mut self,
        section: &Section<'a>,
        name: &str,
        value: &Spanned<DeValue<'_>>,
        accepted: &str,
    ) -> Option<T> {
        let source = self.text.get(value.span()).unwrap_or_default();
        let quoted = quote(source);
        let rule = format!("`{}` must be {accepted}, got {quoted}", section.join_path(name));
        self.refuse_at(value.span().start, rule);
        None
    }

    fn find_field(
        &self,
        section: &Section<'a>,
        name: &str,
    ) -> Option<(&'a Spanned<DeValue<'a>>, usize)> {
        let mut fields = section.table.iter();
        let (key, value) = fields.find(|(key, _)| &**key.get_ref() == name)?;
        Some((value, line_at(self.text, key.span().start)))
    }
}

impl Section<'_> {
    /// Returns true if the section has this field.
    pub(crate) fn has_field(&self, name: &str) -> bool {
        self.table.iter().any(|(key, _)| &**key.get_ref() == name)
    }

    /// Returns the names of the fields.
    pub(crate) fn names(&self) -> Vec<String> {
        self.table.iter().map(|(key, _)| key.get_ref().clone().into_owned()).collect()
    }

    /// Returns the dotted path of a field.
    pub(crate) fn join_path(&self, name: &str) -> String {
        if self.path.is_empty() { name.to_owned() } else { format!("{}.{name}", self.path) }
    }
}

/// Returns the words of choices as a part of a sentence.
pub(crate) fn list_choices<T>(choices: &[(&str, T)]) -> String {
    let words: Vec<String> = choices.iter().map(|(word, _)| format!("\"{word}\"")).collect();
    match words.split_last() {
        Some((last, others)) if !others.is_empty() => format!("{} or {last}", others.join(", ")),
        _ => words.concat(),
    }
}

/// Quotes a part of the file: in one line, cut to the maximum length.
pub(crate) fn quote(text: &str) -> String {
    let line: String = text.chars().take(MAX_QUOTED).flat_map(char::escape_debug).collect();
    let plain = line.replace("\\\"", "\"").replace("\\'", "'");
    let mark = if text.chars().nth(MAX_QUOTED).is_some() { "…" } else { "" };
    format!("`{plain}{mark}`")
}
