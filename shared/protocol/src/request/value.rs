//! Deserialization of fields with rules beyond their types.

use serde::de::{Deserialize, Deserializer, Error, Unexpected};

/// A whole number, as a JSON number or a string.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(try_from = "WrittenNumber")]
pub struct WholeNumber(pub i64);

/// The JSON form of a whole number.
#[derive(serde::Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged, expecting = "must be a whole number")]
enum WrittenNumber {
    /// A JSON number.
    Number(i64),
    /// A string with a number.
    Text(String),
}

impl TryFrom<WrittenNumber> for WholeNumber {
    type Error = &'static str;

    fn try_from(value: WrittenNumber) -> Result<Self, Self::Error> {
        match value {
            WrittenNumber::Number(number) => Ok(Self(number)),
            WrittenNumber::Text(text) => {
                text.trim().parse().map(Self).map_err(|_| "must be a whole number")
            }
        }
    }
}

/// Reads an optional text; an empty text counts as absent.
pub(super) fn optional_text<'de, D>(deserializer: D) -> Result<Option<String>, D::Error>
where
    D: Deserializer<'de>,
{
    let text = Option::<String>::deserialize(deserializer)?;
    Ok(text.filter(|text| !text.is_empty()))
}

/// Reads a required text, which must not be empty.
pub(super) fn required_text<'de, D>(deserializer: D) -> Result<String, D::Error>
where
    D: Deserializer<'de>,
{
    let text = String::deserialize(deserializer)?;
    if text.is_empty() {
        Err(D::Error::invalid_value(Unexpected::Str(""), &"a non-empty string"))
    } else {
        Ok(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{from_value, json};

    #[test]
    fn a_whole_number_may_be_written_as_a_text() {
        for (written, number) in [(json!(7), 7), (json!("7"), 7), (json!(" -7 "), -7)] {
            assert_eq!(from_value::<WholeNumber>(written).unwrap(), WholeNumber(number));
        }
        for wrong in [json!(1.5), json!(5.0), json!("x"), json!(""), json!(true), json!([1])] {
            let error = from_value::<WholeNumber>(wrong.clone()).unwrap_err().to_string();
            assert_eq!(error, "must be a whole number", "{wrong}");
        }
        assert!(from_value::<WholeNumber>(json!(u64::MAX)).is_err());
    }
}
