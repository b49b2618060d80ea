//! Texts and JSON with placeholders: `{argument}`, `{key:NAME}` and `{user_key:NAME}`; `{{` and `}}` are braces.

use djinn_core::id::KeyName;
use djinn_core::tool::canonical_json;
use serde_json::{Map, Value};

/// A part of a text with placeholders.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Piece {
    /// A text that is the same in every call.
    Text(String),
    /// The value of an argument.
    Argument(String),
    /// A key of the operator, by its name.
    Key(String),
    /// A key of the caller, by its name.
    UserKey(KeyName),
}

/// A text with placeholders.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct TextTemplate(Vec<Piece>);

impl TextTemplate {
    /// Parses a text.
    ///
    /// # Errors
    /// Returns the problem as a sentence without its full stop.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let mut pieces = Vec::new();
        let mut plain = String::new();
        let mut rest = text;
        while let Some(at) = rest.find(['{', '}']) {
            let (before, after) = rest.split_at(at);
            plain.push_str(before);
            if let Some(after) = after.strip_prefix("{{") {
                plain.push('{');
                rest = after;
            } else if let Some(after) = after.strip_prefix("}}") {
                plain.push('}');
                rest = after;
            } else if let Some(after) = after.strip_prefix('{') {
                let Some((name, after)) = after.split_once('}') else {
                    return Err("a `{` has no `}`: a brace itself is written `{{`".to_owned());
                };
                if !plain.is_empty() {
                    pieces.push(Piece::Text(std::mem::take(&mut plain)));
                }
                pieces.push(parse_placeholder(name)?);
                rest = after;
            } else {
                return Err("a `}` has no `{`: a brace itself is written `}}`".to_owned());
            }
        }
        plain.push_str(rest);
        if !plain.is_empty() {
            pieces.push(Piece::Text(plain));
        }
        Ok(Self(pieces))
    }

    /// Returns the parts, in order.
    pub(crate) fn pieces(&self) -> &[Piece] {
        &self.0
    }

    /// Returns the argument of a text that is a single placeholder.
    pub(crate) fn whole_argument(&self) -> Option<&str> {
        match self.0.as_slice() {
            [Piece::Argument(name)] => Some(name),
            _ => None,
        }
    }

    /// Returns the names of the arguments, in order.
    pub(crate) fn arguments(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|piece| match piece {
            Piece::Argument(name) => Some(name.as_str()),
            Piece::Text(_) | Piece::Key(_) | Piece::UserKey(_) => None,
        })
    }

    /// Returns the names of the operator's keys, in order.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|piece| match piece {
            Piece::Key(name) => Some(name.as_str()),
            Piece::Text(_) | Piece::Argument(_) | Piece::UserKey(_) => None,
        })
    }

    /// Returns the names of the caller's keys, in order.
    pub(crate) fn user_keys(&self) -> impl Iterator<Item = &KeyName> {
        self.0.iter().filter_map(|piece| match piece {
            Piece::UserKey(name) => Some(name),
            Piece::Text(_) | Piece::Argument(_) | Piece::Key(_) => None,
        })
    }

    /// Returns the first placeholder of a key, as the file has it.
    pub(crate) fn find_key(&self) -> Option<String> {
        self.0.iter().find_map(|piece| match piece {
            Piece::Key(name) => Some(format!("{{key:{name}}}")),
            Piece::UserKey(name) => Some(format!("{{user_key:{name}}}")),
            Piece::Text(_) | Piece::Argument(_) => None,
        })
    }

    /// Returns the text of a call; `None` if an argument has no value. Keys are left out.
    pub(crate) fn fill(&self, arguments: &Map<String, Value>) -> Option<String> {
        let texts = self.0.iter().map(|piece| match piece {
            Piece::Text(text) => Some(text.clone()),
            Piece::Argument(name) => to_text(arguments.get(name)?),
            Piece::Key(_) | Piece::UserKey(_) => Some(String::new()),
        });
        texts.collect()
    }
}

fn parse_placeholder(name: &str) -> Result<Piece, String> {
    let parse_key = |key: &str| {
        let rule = "use 1 to 64 letters, digits, _ and -";
        KeyName::new(key).map_err(|_| format!("`{{{name}}}` names no key: {rule}"))
    };
    if let Some(key) = name.strip_prefix("key:") {
        return parse_key(key).map(|key| Piece::Key(key.into()));
    }
    if let Some(key) = name.strip_prefix("user_key:") {
        return parse_key(key).map(Piece::UserKey);
    }
    if name.is_empty() || name.contains(['{', '\n']) {
        return Err(format!("`{{{name}}}` names no parameter: a brace itself is written `{{{{`"));
    }
    Ok(Piece::Argument(name.to_owned()))
}

/// Returns a value within a text; `None` for null.
pub(crate) fn to_text(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        value => Some(canonical_json(value)),
    }
}

/// JSON with placeholders in its texts.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum JsonTemplate {
    /// A value that is the same in every call.
    Literal(Value),
    /// The value of an argument, with its type.
    Argument(String),
    /// A text with placeholders.
    Text(TextTemplate),
    Array(Vec<Self>),
    Object(Vec<(String, Self)>),
}

impl JsonTemplate {
    /// Parses every text in a value.
    ///
    /// # Errors
    /// Returns the first problem as a sentence without its full stop.
    pub(crate) fn parse(value: &Value) -> Result<Self, String> {
        Ok(match value {
            Value::String(text) => {
                let template = TextTemplate::parse(text)?;
                match template.whole_argument() {
                    Some(name) => Self::Argument(name.to_owned()),
                    None => Self::Text(template),
                }
            }
            Value::Array(items) => {
                Self::Array(items.iter().map(Self::parse).collect::<Result<_, _>>()?)
            }
            Value::Object(members) => {
                let members = members.iter().map(|(name, value)| {
                    let has_placeholder = TextTemplate::parse(name).map_or(true, |name| {
                        name.find_key().is_some() || name.arguments().next().is_some()
                    });
                    if has_placeholder {
                        return Err(format!(
                            "`{name}` has a placeholder, but is the name of a field"
                        ));
                    }
                    Ok((name.clone(), Self::parse(value)?))
                });
                Self::Object(members.collect::<Result<_, _>>()?)
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => Self::Literal(value.clone()),
        })
    }

    /// Returns the value of a call. A value whose argument is missing is left out of its array or object.
    pub(crate) fn fill(&self, arguments: &Map<String, Value>) -> Option<Value> {
        Some(match self {
            Self::Literal(value) => value.clone(),
            Self::Argument(name) => arguments.get(name)?.clone(),
            Self::Text(template) => Value::String(template.fill(arguments)?),
            Self::Array(items) => items.iter().filter_map(|item| item.fill(arguments)).collect(),
            Self::Object(members) => {
                let members = members.iter();
                let values = members
                    .filter_map(|(name, value)| Some((name.clone(), value.fill(arguments)?)));
                Value::Object(values.collect())
            }
        })
    }

    /// Returns all texts with placeholders.
    pub(crate) fn texts(&self) -> Vec<TextTemplate> {
        match self {
            Self::Literal(_) => Vec::new(),
            Self::Argument(name) => vec![TextTemplate(vec![Piece::Argument(name.clone())])],
            Self::Text(template) => vec![template.clone()],
            Self::Array(items) => items.iter().flat_map(Self::texts).collect(),
            Self::Object(members) => members.iter().flat_map(|(_, value)| value.texts()).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_text_has_arguments_keys_and_braces() {
        let template = TextTemplate::parse("a{{b}}{c}d {key:K-1}{城市}{user_key:U}").unwrap();
        let expected = [
            Piece::Text("a{b}".to_owned()),
            Piece::Argument("c".to_owned()),
            Piece::Text("d ".to_owned()),
            Piece::Key("K-1".to_owned()),
            Piece::Argument("城市".to_owned()),
            Piece::UserKey(KeyName::new("U").unwrap()),
        ];
        assert_eq!(template.pieces(), expected);
        for (text, says) in [
            ("{a", "a `{` has no `}`"),
            ("a}", "a `}` has no `{`"),
            ("{}", "`{}` names no parameter"),
            ("{key:}", "`{key:}` names no key"),
            ("{key:a b}", "names no key"),
            ("{user_key:a.b}", "`{user_key:a.b}` names no key"),
        ] {
            let problem = TextTemplate::parse(text).unwrap_err();
            assert!(problem.starts_with(says) || problem.contains(says), "{problem}");
        }
    }

    #[test]
    fn an_argument_keeps_its_type_and_a_missing_one_takes_its_field_along() {
        let template = json!({"a": "{x}", "b": ["{x}", "{y}", 1], "c": "is {y}", "d": "is {x}"});
        let template = JsonTemplate::parse(&template).unwrap();
        let fill = |arguments: Value| template.fill(arguments.as_object().unwrap()).unwrap();
        assert_eq!(fill(json!({"x": 1})), json!({"a": 1, "b": [1, 1], "d": "is 1"}));
        assert_eq!(
            fill(json!({"x": null, "y": "\"}"})),
            json!({"a": null, "b": [null, "\"}", 1], "c": "is \"}"})
        );
        let problem = JsonTemplate::parse(&json!({"{x}": 1})).unwrap_err();
        assert_eq!(problem, "`{x}` has a placeholder, but is the name of a field");
    }
}
