//! Rows as they are written.
//!
//! A `[[group]]` says what its `cases` have in common; each case has a `name`, and may say otherwise.

use std::collections::BTreeMap;
use std::fs;

use serde::Deserialize;

use crate::layout::root;
use crate::world::Protocol;

/// A request, and how it is refused.
pub(super) struct Case {
    pub(super) name: String,
    pub(super) door: DoorKind,
    pub(super) status: u16,
    pub(super) code: Option<String>,
    pub(super) field: Option<String>,
    method: String,
    path: Text,
    headers: BTreeMap<String, Vec<Text>>,
    body: Option<Text>,
    raw: Option<Text>,
}

/// Who callers are: everybody the same, holders of a key, holders of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum DoorKind {
    #[default]
    Open,
    Key,
    Jwt,
}

impl DoorKind {
    pub(super) const ALL: [Self; 3] = [Self::Open, Self::Key, Self::Jwt];
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    group: Vec<Row>,
}

/// A group or a case of it. `code = ""` is an answer without one, from the HTTP server itself.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    name: String,
    door: Option<DoorKind>,
    method: Option<String>,
    path: Option<Text>,
    headers: Option<BTreeMap<String, Texts>>,
    body: Option<Text>,
    /// All of the request's bytes, in the place of the above.
    raw: Option<Text>,
    status: Option<u16>,
    code: Option<String>,
    field: Option<String>,
    #[serde(default)]
    cases: Vec<Row>,
}

/// Bytes: as they stand there, repeated, or in hexadecimal digits. `{run}` and `{credential}` in a
/// text stand for what the place has.
#[derive(Clone, Deserialize)]
#[serde(untagged)]
enum Text {
    Plain(String),
    Repeated(Repeated),
    Hex(Hex),
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Repeated {
    repeat: String,
    times: usize,
    #[serde(default)]
    before: String,
    #[serde(default)]
    after: String,
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Hex {
    hex: String,
    #[serde(default)]
    before: String,
    #[serde(default)]
    after: String,
}

/// A header's values; none takes away what would be sent.
#[derive(Clone, Deserialize)]
#[serde(untagged)]
enum Texts {
    // First: a list could be read as the members of a `Text`, too.
    Some(Vec<Text>),
    One(Text),
}

impl Text {
    fn bytes(&self, known: &BTreeMap<&'static str, String>) -> Vec<u8> {
        let filled = |text: &str| {
            known.iter().fold(text.to_owned(), |text, (name, value)| {
                text.replace(&format!("{{{name}}}"), value)
            })
        };
        match self {
            Self::Plain(text) => filled(text).into_bytes(),
            Self::Repeated(Repeated { repeat, times, before, after }) => {
                [filled(before), repeat.repeat(*times), filled(after)].concat().into_bytes()
            }
            Self::Hex(Hex { hex, before, after }) => {
                let digits: Vec<_> = hex.split_whitespace().collect();
                let bytes = digits.iter().map(|pair| u8::from_str_radix(pair, 16).unwrap());
                let (before, after) = (filled(before), filled(after));
                before.bytes().chain(bytes).chain(after.bytes()).collect()
            }
        }
    }
}

impl Case {
    /// A case, and what its group says where it says nothing.
    fn of(row: &Row, group: &Row) -> Self {
        let name = format!("{}: {}", group.name, row.name);
        assert!(row.cases.is_empty(), "{name} is no group");
        let mut headers = BTreeMap::new();
        for (header, values) in [&group.headers, &row.headers].into_iter().flatten().flatten() {
            let values = match values {
                Texts::One(value) => vec![value.clone()],
                Texts::Some(values) => values.clone(),
            };
            headers.insert(header.clone(), values);
        }
        let raw = row.raw.clone().or(group.raw.clone());
        let needed = |value: Option<&String>, what: &str| match value {
            Some(value) => value.clone(),
            None if raw.is_some() => String::new(),
            None => panic!("{name} has no {what}"),
        };
        let path = row.path.clone().or(group.path.clone());
        Self {
            door: row.door.or(group.door).unwrap_or_default(),
            status: row.status.or(group.status).unwrap(),
            code: row.code.clone().or(group.code.clone()).filter(|code| !code.is_empty()),
            field: row.field.clone().or(group.field.clone()).filter(|field| !field.is_empty()),
            method: needed(row.method.as_ref().or(group.method.as_ref()), "method"),
            path: path.unwrap_or(Text::Plain(String::new())),
            body: row.body.clone().or(group.body.clone()),
            headers,
            raw,
            name,
        }
    }

    /// All of its bytes.
    pub(super) fn request(&self, known: &BTreeMap<&'static str, String>) -> Vec<u8> {
        if let Some(raw) = &self.raw {
            return raw.bytes(known);
        }
        let body = self.body.as_ref().map(|body| body.bytes(known));
        let mut head = format!("{} ", self.method).into_bytes();
        head.extend(self.path.bytes(known));
        head.extend(b" HTTP/1.1\r\n");
        let mut header = |name: &str, value: &[u8]| {
            head.extend([name.as_bytes(), b": ", value, b"\r\n"].concat());
        };
        let own = |name: &str| self.headers.contains_key(name);
        if !own("host") {
            header("host", b"127.0.0.1");
        }
        header("connection", b"close");
        if let Some(body) = &body {
            header("content-length", body.len().to_string().as_bytes());
            if !own("content-type") {
                header("content-type", b"application/json");
            }
        }
        for (name, values) in &self.headers {
            for value in values {
                header(name, &value.bytes(known));
            }
        }
        [head, b"\r\n".to_vec(), body.unwrap_or_default()].concat()
    }

    /// Whether who asks there reads nothing but events.
    pub(super) fn is_for_the_ui(&self) -> bool {
        let paths = [Protocol::Ui.path(), "/data/chatQuery"];
        matches!(&self.path, Text::Plain(path) if paths.contains(&path.as_str()))
    }

    /// Whether it is about this route, which has `{…}` where anything may stand.
    pub(super) fn is_of(&self, method: &str, route: &str) -> bool {
        let Text::Plain(path) = &self.path else { return false };
        let path = path.split('?').next().unwrap_or_default();
        let (parts, wanted): (Vec<_>, Vec<_>) =
            (path.split('/').collect(), route.split('/').collect());
        let fits = |(part, wanted): (&&str, &&str)| part == wanted || wanted.starts_with('{');
        self.method == method && parts.len() == wanted.len() && parts.iter().zip(&wanted).all(fits)
    }
}

/// The cases of all groups, in the order of the table.
pub(super) fn cases() -> Vec<Case> {
    let text = fs::read_to_string(root().join("tests/bad_inputs.toml")).unwrap();
    let file: File = toml::from_str(&text).unwrap();
    let groups = file.group.iter();
    groups.flat_map(|group| group.cases.iter().map(|row| Case::of(row, group))).collect()
}
