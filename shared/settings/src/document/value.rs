//! The values of a TOML file as the texts that rows read.

use serde_json::{Number, Value};
use toml::de::{DeInteger, DeValue};

use crate::setting::ValueKind;

/// Returns the text of a value for a row of this kind; `None` for a value of another type.
pub(super) fn to_text(kind: ValueKind, value: &DeValue<'_>) -> Option<String> {
    match (kind, value) {
        (
            ValueKind::Number { .. } | ValueKind::Money | ValueKind::MoneyLimit,
            DeValue::Integer(number),
        ) => Some(to_integer(number)?.to_string()),
        (ValueKind::Money | ValueKind::MoneyLimit, DeValue::Float(amount)) => {
            Some(amount.as_str().to_owned())
        }
        (ValueKind::Switch, DeValue::Boolean(is_on)) => Some(u8::from(*is_on).to_string()),
        (
            ValueKind::MoneyLimit | ValueKind::Choice(_) | ValueKind::Text | ValueKind::Form(_),
            DeValue::String(text),
        ) => Some(text.clone().into_owned()),
        _ => None,
    }
}

/// Returns a value as JSON; `None` for a number that JSON lacks.
#[must_use]
pub fn to_json(value: &DeValue<'_>) -> Option<Value> {
    Some(match value {
        DeValue::String(text) => Value::String(text.clone().into_owned()),
        DeValue::Integer(number) => Value::from(to_integer(number)?),
        DeValue::Float(number) => Value::Number(Number::from_f64(number.as_str().parse().ok()?)?),
        DeValue::Boolean(is_true) => Value::Bool(*is_true),
        DeValue::Datetime(time) => Value::String(time.to_string()),
        DeValue::Array(items) => {
            Value::Array(items.iter().map(|item| to_json(item.get_ref())).collect::<Option<_>>()?)
        }
        DeValue::Table(table) => {
            let members = table.iter().map(|(key, value)| {
                Some((key.get_ref().clone().into_owned(), to_json(value.get_ref())?))
            });
            Value::Object(members.collect::<Option<_>>()?)
        }
    })
}

fn to_integer(number: &DeInteger<'_>) -> Option<i64> {
    i64::from_str_radix(number.as_str(), number.radix()).ok()
}
