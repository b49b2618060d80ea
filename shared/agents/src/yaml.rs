//! The part of YAML that front matter needs: mappings, lists and scalars, each with its line. Rejects
//! anchors, aliases and tags, so that the parsed value is never larger than the file.

use saphyr_parser::{Event, Parser, ScalarStyle, Span};
use serde_json::{Map, Number, Value};

use crate::problem::{Fault, quote};

/// Maximum nesting of lists and mappings.
const MAX_NESTING: usize = 32;

/// A value, with its first line.
#[derive(Clone)]
pub(crate) struct Node {
    pub(crate) line: usize,
    pub(crate) content: Content,
}

/// The content of a value.
#[derive(Clone)]
pub(crate) enum Content {
    /// Null, a boolean, a number or a text.
    Scalar(Value),
    List(Vec<Node>),
    Mapping(Vec<KeyEntry>),
}

/// A key of a mapping, with its line and value.
#[derive(Clone)]
pub(crate) struct KeyEntry {
    pub(crate) key: String,
    pub(crate) line: usize,
    pub(crate) node: Node,
}

impl Node {
    /// Returns the value as JSON.
    pub(crate) fn to_json(&self) -> Value {
        match &self.content {
            Content::Scalar(value) => value.clone(),
            Content::List(items) => Value::Array(items.iter().map(Self::to_json).collect()),
            Content::Mapping(entries) => {
                let pairs = entries.iter().map(|entry| (entry.key.clone(), entry.node.to_json()));
                Value::Object(pairs.collect::<Map<_, _>>())
            }
        }
    }

    /// Returns the line of a JSON pointer's target, or of the nearest value above.
    pub(crate) fn find_line(&self, pointer: &str) -> Option<usize> {
        let mut line = None;
        let mut node = self;
        for segment in pointer.split('/').skip(1) {
            let segment = segment.replace("~1", "/").replace("~0", "~");
            let next = match &node.content {
                Content::Scalar(_) => None,
                Content::List(items) => {
                    let item = segment.parse::<usize>().ok().and_then(|nth| items.get(nth));
                    item.map(|item| (item.line, item))
                }
                Content::Mapping(entries) => entries
                    .iter()
                    .find(|entry| entry.key == segment)
                    .map(|entry| (entry.line, &entry.node)),
            };
            let Some((entry_line, below)) = next else { break };
            line = Some(entry_line);
            node = below;
        }
        line
    }

    /// Describes the value for a sentence.
    pub(crate) fn describe(&self) -> String {
        match &self.content {
            Content::Scalar(Value::Null) => "nothing".to_owned(),
            Content::Scalar(Value::Bool(value)) => format!("the boolean `{value}`"),
            Content::Scalar(Value::Number(value)) => format!("the number `{value}`"),
            Content::Scalar(Value::String(text)) if text.trim().is_empty() => {
                "an empty text".to_owned()
            }
            Content::Scalar(Value::String(text)) => format!("the text {}", quote(text)),
            Content::List(_) | Content::Scalar(Value::Array(_)) => "a list".to_owned(),
            Content::Mapping(_) | Content::Scalar(Value::Object(_)) => "a mapping".to_owned(),
        }
    }
}

/// Parses one document, which must be a mapping. The lines are lines of the text. `noun` names the text in problems.
pub(crate) fn read_mapping(text: &str, noun: &str) -> Result<Vec<KeyEntry>, Fault> {
    let mut tree = Tree { open: Vec::new(), root: None };
    let mut documents = 0;
    let mut parser = Parser::new_from_str(text);
    while let Some(event) = parser.next_event() {
        let (event, span) = event.map_err(|error| scan_fault(&error, text, noun))?;
        if matches!(event, Event::DocumentStart(_)) {
            documents += 1;
        }
        if documents > 1 {
            return Err(Fault::new(span.start.line(), format!("{noun} must be one YAML document")));
        }
        tree.add_event(event, span)?;
    }
    match tree.root {
        None => Ok(Vec::new()),
        Some(Node { content: Content::Mapping(entries), .. }) => Ok(entries),
        Some(Node { content: Content::Scalar(Value::Null), .. }) => Ok(Vec::new()),
        Some(node) => {
            let rule = format!("{noun} must be a mapping of keys, not {}", node.describe());
            Err(Fault::new(node.line, rule))
        }
    }
}

fn scan_fault(error: &saphyr_parser::ScanError, text: &str, noun: &str) -> Fault {
    let last = text.lines().count().max(2);
    let hint = match error.info() {
        info if info.contains("mapping values are not allowed") => {
            "; put a text that contains `: ` in quotes"
        }
        _ => "",
    };
    let rule = format!("{noun} is not valid YAML: {}{hint}", error.info());
    // Front matter begins with a line of its own.
    let first = if text.starts_with('\n') { 2 } else { 1 };
    Fault::new(error.marker().line().clamp(first, last), rule)
}

/// A list or mapping that has not ended.
struct OpenNode {
    line: usize,
    content: OpenContent,
}

enum OpenContent {
    List(Vec<Node>),
    /// The entries, and the key of the next value.
    Mapping(Vec<KeyEntry>, Option<(String, usize)>),
}

/// The tree that results from the events so far.
struct Tree {
    open: Vec<OpenNode>,
    root: Option<Node>,
}

impl Tree {
    fn add_event(&mut self, event: Event<'_>, span: Span) -> Result<(), Fault> {
        let line = span.start.line();
        match event {
            Event::Nothing
            | Event::StreamStart
            | Event::StreamEnd
            | Event::DocumentStart(_)
            | Event::DocumentEnd => Ok(()),
            Event::Alias(_) => Err(Fault::new(line, "aliases (`*name`) are not allowed")),
            Event::Scalar(text, style, anchor, tag) => {
                check_plain(line, anchor, tag.is_some())?;
                self.add_scalar(&text, style, line)
            }
            Event::SequenceStart(anchor, tag) => {
                check_plain(line, anchor, tag.is_some())?;
                self.open_node(line, OpenContent::List(Vec::new()))
            }
            Event::MappingStart(anchor, tag) => {
                check_plain(line, anchor, tag.is_some())?;
                self.open_node(line, OpenContent::Mapping(Vec::new(), None))
            }
            Event::SequenceEnd | Event::MappingEnd => {
                if let Some(OpenNode { line, content }) = self.open.pop() {
                    let content = match content {
                        OpenContent::List(items) => Content::List(items),
                        OpenContent::Mapping(entries, _) => Content::Mapping(entries),
                    };
                    self.add_node(Node { line, content });
                }
                Ok(())
            }
        }
    }

    fn add_scalar(&mut self, text: &str, style: ScalarStyle, line: usize) -> Result<(), Fault> {
        if let Some(OpenNode { content: OpenContent::Mapping(entries, key @ None), .. }) =
            self.open.last_mut()
        {
            if text.is_empty() {
                return Err(Fault::new(line, "a key is empty"));
            }
            if let Some(first) = entries.iter().find(|entry| entry.key == text) {
                let rule = format!("{} stands in line {} already", quote(text), first.line);
                return Err(Fault::new(line, rule));
            }
            *key = Some((text.to_owned(), line));
            return Ok(());
        }
        let value = match style {
            ScalarStyle::Plain => resolve_plain(text),
            ScalarStyle::SingleQuoted
            | ScalarStyle::DoubleQuoted
            | ScalarStyle::Literal
            | ScalarStyle::Folded => Value::String(text.to_owned()),
        };
        self.add_node(Node { line, content: Content::Scalar(value) });
        Ok(())
    }

    fn open_node(&mut self, line: usize, content: OpenContent) -> Result<(), Fault> {
        if let Some(OpenNode { content: OpenContent::Mapping(_, None), .. }) = self.open.last() {
            return Err(Fault::new(line, "a key must be a text, not a list or mapping"));
        }
        if self.open.len() >= MAX_NESTING {
            let rule = format!("lists and mappings are nested more than {MAX_NESTING} levels deep");
            return Err(Fault::new(line, rule));
        }
        self.open.push(OpenNode { line, content });
        Ok(())
    }

    fn add_node(&mut self, node: Node) {
        match self.open.last_mut().map(|open| &mut open.content) {
            None => self.root = Some(node),
            Some(OpenContent::List(items)) => items.push(node),
            Some(OpenContent::Mapping(entries, key)) => {
                if let Some((key, line)) = key.take() {
                    entries.push(KeyEntry { key, line, node });
                }
            }
        }
    }
}

fn check_plain(line: usize, anchor: usize, has_tag: bool) -> Result<(), Fault> {
    match (anchor, has_tag) {
        (0, false) => Ok(()),
        (0, true) => Err(Fault::new(line, "tags (`!name`) are not allowed")),
        (_, _) => Err(Fault::new(line, "anchors (`&name`) are not allowed")),
    }
}

/// Returns the value of a plain scalar, by YAML's core schema.
fn resolve_plain(text: &str) -> Value {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "true" | "True" | "TRUE" => Value::Bool(true),
        "false" | "False" | "FALSE" => Value::Bool(false),
        text => read_number(text).map_or_else(|| Value::String(text.to_owned()), Value::Number),
    }
}

/// Parses a number that JSON can represent. Other numbers, such as `.inf`, stay texts.
fn read_number(text: &str) -> Option<Number> {
    for (prefix, radix) in [("0x", 16), ("0o", 8)] {
        if let Some(digits) = text.strip_prefix(prefix) {
            let is_bare = digits.chars().all(|digit| digit.is_digit(radix));
            return u64::from_str_radix(digits, radix).ok().filter(|_| is_bare).map(Number::from);
        }
    }
    if !text.chars().all(|c| c.is_ascii_digit() || "+-.eE".contains(c)) {
        return None;
    }
    let integer = text.parse::<i64>().map(Number::from);
    let integer = integer.or_else(|_| text.parse::<u64>().map(Number::from));
    integer.ok().or_else(|| text.parse().ok().and_then(Number::from_f64))
}
