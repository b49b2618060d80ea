//! The sampling and thinking options of a model in `DJINN_MODELS`.

use djinn_settings::table::model::member::{TEMPERATURE, THINKING};
use serde_json::Value;

use crate::settings::object_reader::ObjectReader;
use crate::settings::{SettingsError, Temperature, Thinking, ThinkingStyle};

pub(super) fn read_temperature(fields: &mut ObjectReader) -> Result<Temperature, SettingsError> {
    match fields.take(&TEMPERATURE) {
        None => Ok(Temperature::Default),
        Some(Value::Null) => Ok(Temperature::Never),
        Some(value) => match value.as_f64() {
            Some(number) if (0.0..=2.0).contains(&number) => Ok(Temperature::Fixed(number)),
            Some(_) | None => Err(SettingsError::wrong_value(
                fields.path_of(&TEMPERATURE),
                &TEMPERATURE.kind.to_string(),
                &value,
            )),
        },
    }
}

pub(super) fn read_thinking(
    fields: &mut ObjectReader,
    style: ThinkingStyle,
) -> Result<Option<Thinking>, SettingsError> {
    let Some(value) = fields.take(&THINKING) else {
        return Ok(None);
    };
    let tokens = value
        .as_u64()
        .or_else(|| value.as_str()?.parse::<u64>().ok())
        .and_then(|number| u32::try_from(number).ok());
    let thinking = match (value.as_str(), tokens) {
        (Some("off"), _) => Some(Thinking::Off),
        (Some("low"), _) => Some(Thinking::Low),
        (Some("medium"), _) => Some(Thinking::Medium),
        (Some("high"), _) => Some(Thinking::High),
        (_, Some(tokens)) if tokens > 0 && style == ThinkingStyle::Budget => {
            Some(Thinking::Tokens(tokens))
        }
        _ => None,
    };
    let expectation = match style {
        ThinkingStyle::Budget => THINKING.kind.to_string(),
        ThinkingStyle::Effort
        | ThinkingStyle::Level
        | ThinkingStyle::Switch
        | ThinkingStyle::SwitchAndEffort => "off, low, medium or high for this provider".to_owned(),
    };
    match thinking {
        Some(thinking) => Ok(Some(thinking)),
        None => Err(SettingsError::wrong_value(fields.path_of(&THINKING), &expectation, &value)),
    }
}
