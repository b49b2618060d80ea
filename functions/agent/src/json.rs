//! JSON without duplicate keys. Two parsers may take different values of a duplicate key, so the checked
//! value might not be the used value.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

/// Parses a text with at most 128 levels, the limit of `serde_json`.
pub(crate) fn parse_strict(text: &[u8]) -> Result<Value, serde_json::Error> {
    serde_json::from_slice(text).map(|Strict(value)| value)
}

struct Strict(Value);

impl<'de> Deserialize<'de> for Strict {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reader).map(Self)
    }
}

struct Reader;

macro_rules! visit_scalars {
    ($($visit:ident: $scalar:ty,)*) => {$(
        fn $visit<E>(self, value: $scalar) -> Result<Value, E> {
            Ok(value.into())
        }
    )*};
}

impl<'de> Visitor<'de> for Reader {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    visit_scalars! {
        visit_bool: bool, visit_i64: i64, visit_u64: u64, visit_f64: f64, visit_str: &str,
        visit_string: String,
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut values = Vec::new();
        while let Some(Strict(item)) = items.next_element()? {
            values.push(item);
        }
        Ok(values.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some((key, Strict(value))) = members.next_entry()? {
            if object.insert(key, value).is_some() {
                return Err(A::Error::custom("an object has the same key twice"));
            }
        }
        Ok(object.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_reads_as_usual_and_a_second_value_for_a_key_is_an_error() {
        let text = r#"{"a": [1, -1, 1.5, "x\u00e4", true, null, {"a": {}}], "b": 1e3}"#;
        let usual: Value = serde_json::from_str(text).unwrap();
        assert_eq!(parse_strict(text.as_bytes()).unwrap(), usual);
        for twice in
            [r#"{"a": 1, "a": 1}"#, r#"{"a": 1, "\u0061": 2}"#, r#"[{"b": {"a": 1, "a": 2}}]"#]
        {
            let error = parse_strict(twice.as_bytes()).unwrap_err().to_string();
            assert!(error.starts_with("an object has the same key twice at line 1"), "{error}");
        }
        for wrong in ["", "{", "[1,]", "NaN", "1e400", "{}{}", r#""\ud800""#, "{\"a\": 1,}"] {
            assert!(parse_strict(wrong.as_bytes()).is_err(), "{wrong}");
        }
        assert!(parse_strict("[".repeat(10_000).as_bytes()).is_err());
    }
}
