//! Prices of models: `prices.json`, overridden by a deployment's `DJINN_PRICES`.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use djinn_core::budget::Price;
use djinn_settings::VarLookup;
use djinn_settings::table::model::PRICES;
use serde::Deserialize;

use crate::settings::SettingsError;

type PriceTable = BTreeMap<String, PriceEntry>;

/// List prices of well-known models, by provider model name. A test proves the file valid.
static LIST_PRICES: LazyLock<PriceTable> =
    LazyLock::new(|| serde_json::from_str(include_str!("../prices.json")).unwrap_or_default());

/// A model's price with its source.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct PriceEntry {
    input: u64,
    cached_input: u64,
    output: u64,
    /// The page with the price; required for every listed price.
    #[serde(default)]
    source: Option<PriceSource>,
    /// The date of the page; required for every listed price.
    #[serde(default)]
    date: Option<PriceDate>,
}

/// A URL of the web.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(try_from = "String")]
struct PriceSource(String);

impl TryFrom<String> for PriceSource {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        if ["https://", "http://"].iter().any(|scheme| text.starts_with(scheme)) {
            Ok(Self(text))
        } else {
            Err(format!("the source `{text}` is no URL"))
        }
    }
}

/// A day, or a month where no day is known: `2026-11-25` or `2026-11`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(try_from = "String")]
struct PriceDate(String);

impl TryFrom<String> for PriceDate {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let is_number = |part: &str, digits: usize, most: u32| {
            let all_digits = part.len() == digits && part.bytes().all(|byte| byte.is_ascii_digit());
            all_digits && part.parse().is_ok_and(|number: u32| (1..=most).contains(&number))
        };
        let parts: Vec<&str> = text.split('-').collect();
        let is_date = match parts.as_slice() {
            [year, month] => is_number(year, 4, 9_999) && is_number(month, 2, 12),
            [year, month, day] => {
                is_number(year, 4, 9_999) && is_number(month, 2, 12) && is_number(day, 2, 31)
            }
            _ => false,
        };
        if is_date { Ok(Self(text)) } else { Err(format!("the date `{text}` is none")) }
    }
}

/// The prices of a deployment.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Prices(PriceTable);

impl Prices {
    /// Reads `DJINN_PRICES`: a JSON object in the form of `prices.json`. Its entries take precedence over
    /// ours.
    pub(crate) fn from_vars(var: VarLookup<'_>) -> Result<Self, SettingsError> {
        let Some(json) = PRICES.find_text(var) else { return Ok(Self::default()) };
        let wrong = |error| format!("must be {}: {error}", PRICES.kind);
        serde_json::from_str(&json)
            .map(Self)
            .map_err(|error: serde_json::Error| SettingsError::new(PRICES.name, wrong(error)))
    }

    /// Returns a model's price by provider model name. A name with a trailing date falls back to the price of
    /// the name without the date.
    pub(crate) fn of(&self, model: &str) -> Option<Price> {
        let find_price = |name: &str| self.0.get(name).or_else(|| LIST_PRICES.get(name));
        // A trailing date: `-20250929` or `-2025-04-14`.
        let is_date = |end: &str| end.chars().all(|c| c.is_ascii_digit() || c == '-');
        let without_date = |length: usize| {
            let (name, end) = model.split_at_checked(model.len().checked_sub(length)?)?;
            let digits = end.chars().filter(char::is_ascii_digit).count();
            (end.starts_with('-') && is_date(end) && digits == 8).then_some(name)
        };
        let undated = || without_date(11).or_else(|| without_date(9));
        let entry = find_price(model).or_else(|| find_price(undated()?))?;
        Some(Price { input: entry.input, cached_input: entry.cached_input, output: entry.output })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prices(json: &str) -> Result<Prices, SettingsError> {
        let json = json.to_owned();
        Prices::from_vars(&move |name| (name == "DJINN_PRICES").then(|| json.clone()))
    }

    #[test]
    fn the_list_has_a_source_and_a_date_of_each_price_and_cached_tokens_never_cost_more() {
        let listed: PriceTable = serde_json::from_str(include_str!("../prices.json")).unwrap();
        assert!(listed.contains_key("gpt-4.1") && listed.contains_key("claude-sonnet-5"));
        for (model, price) in listed {
            assert!(price.cached_input <= price.input && price.input < price.output, "{model}");
            assert!(price.source.is_some_and(|source| source.0.starts_with("https://")), "{model}");
            assert!(price.date.is_some_and(|date| date.0.starts_with("20")), "{model}");
        }
    }

    #[test]
    fn a_model_is_found_by_its_name_with_or_without_a_date() {
        let listed = Prices::default();
        let price = |model: &str| listed.of(model).map(|price| price.input);
        assert_eq!(price("gpt-4.1"), Some(2_000_000));
        assert_eq!(price("gpt-4.1-2025-04-14"), Some(2_000_000));
        assert_eq!(price("claude-haiku-4-5-20251001"), Some(1_000_000));
        for unknown in ["gpt-4.1-turbo", "scripted", "", "-20250929", "gpt-4.1-2025-04-1é"] {
            assert_eq!(price(unknown), None, "{unknown}");
        }
    }

    #[test]
    fn a_deployments_own_prices_come_first_and_are_checked() {
        let own = r#"{"gpt-4.1": {"input": 7, "cached_input": 1, "output": 9}}"#;
        let own = prices(own).unwrap();
        assert_eq!(own.of("gpt-4.1").map(|price| price.input), Some(7));
        assert_eq!(own.of("gpt-4.1-2025-04-14").map(|price| price.input), Some(7));
        assert_eq!(own.of("gpt-4o").map(|price| price.input), Some(2_500_000));
        assert_eq!(prices(" "), Ok(Prices::default()));
        for date in ["2026-11", "2026-11-25"] {
            let named = format!(
                r#"{{"m": {{"input": 1, "cached_input": 1, "output": 2,
                    "source": "https://example.com/prices", "date": "{date}"}}}}"#
            );
            assert_eq!(prices(&named).unwrap().of("m").map(|price| price.output), Some(2));
        }
        for bad in [
            "[]",
            r#"{"m": {"input": 0.5, "cached_input": 0, "output": 1}}"#,
            r#"{"m": {"input": -1, "cached_input": 0, "output": 1}}"#,
            r#"{"m": {"input": 1, "output": 1}}"#,
            r#"{"m": {"input": 1, "cached_input": 0, "output": 1, "per": 1000}}"#,
            r#"{"m": {"input": 1, "cached_input": 0, "output": 1, "source": "a friend"}}"#,
            r#"{"m": {"input": 1, "cached_input": 0, "output": 1, "date": "November 2026"}}"#,
            r#"{"m": {"input": 1, "cached_input": 0, "output": 1, "date": "2026-13"}}"#,
            r#"{"m": {"input": 1, "cached_input": 0, "output": 1, "date": "2026-11-32"}}"#,
        ] {
            let error = prices(bad).unwrap_err().to_string();
            assert!(error.starts_with("DJINN_PRICES must be an object"), "{error}");
        }
    }
}
