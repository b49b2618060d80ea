//! Reads a variable's value by its row.

use crate::VarLookup;
use crate::error::InvalidSetting;
use crate::names::PREFIX;
use crate::setting::{MoneyLimit, Setting, ValueKind};
use crate::table::runtime::LOCAL;

/// The text in a sentence in place of a secret value.
const UNREPEATED: &str = "another text";

/// The value without a limit, for settings that limit a deployment by default.
pub(crate) const NO_LIMIT: &str = "none";

/// The end of a limit in US dollars that leaves out the models without a price.
const IF_PRICED: &str = " if priced";

impl Setting {
    /// Returns the text of the variable, without the default; `None` if unset or blank.
    #[must_use]
    pub fn find_text(&self, var: VarLookup<'_>) -> Option<String> {
        var(self.name).filter(|text| !text.trim().is_empty())
    }

    /// Returns the text of the variable, or the default; `None` without both. The default depends on the place, a
    /// deployment or a laptop. `none` counts as no value where a deployment has a default of its own.
    #[must_use]
    pub fn read_text(&self, var: VarLookup<'_>) -> Option<String> {
        let default = || match self.deployed_default {
            Some(_) if LOCAL.read_switch(var) == Ok(true) => self.default,
            Some(deployed) => Some(deployed),
            None => self.default,
        };
        let text = self.find_text(var).or_else(|| default().map(str::to_owned));
        text.filter(|text| !self.is_unlimited(text))
    }

    /// Returns true for `none`, if the setting is a limit that a deployment has by default.
    pub(crate) fn is_unlimited(&self, text: &str) -> bool {
        self.is_default_limit() && text.trim() == NO_LIMIT
    }

    fn is_default_limit(&self) -> bool {
        let is_amount = matches!(self.kind, ValueKind::Number { .. } | ValueKind::MoneyLimit);
        is_amount && self.deployed_default.is_some()
    }

    /// Returns the rule of the row, which completes the sentence "must be …".
    #[must_use]
    pub fn rule(&self) -> String {
        if self.is_default_limit() {
            format!("{}, or `{NO_LIMIT}`", self.kind)
        } else {
            self.kind.to_string()
        }
    }

    /// Returns the text of a required variable.
    ///
    /// # Errors
    /// Returns [`InvalidSetting`] if the variable is unset or blank.
    pub fn require_text(&self, var: VarLookup<'_>) -> Result<String, InvalidSetting> {
        self.find_text(var).ok_or_else(|| self.problem("is not set"))
    }

    /// Returns the whole number of the variable, or the default.
    ///
    /// # Errors
    /// Returns [`InvalidSetting`] for other text, for a number out of range, and without a value and a default.
    pub fn read_number<N: TryFrom<u64>>(&self, var: VarLookup<'_>) -> Result<N, InvalidSetting> {
        self.find_number(var)?.ok_or_else(|| self.problem("is not set"))
    }

    /// Returns the whole number of the variable, or the default; `None` without both.
    ///
    /// # Errors
    /// Returns [`InvalidSetting`] for other text, and for a number out of range.
    pub fn find_number<N: TryFrom<u64>>(
        &self,
        var: VarLookup<'_>,
    ) -> Result<Option<N>, InvalidSetting> {
        let Some(text) = self.read_text(var) else { return Ok(None) };
        let number = text.trim().parse().ok().filter(|number| self.kind.contains(*number));
        let number = number.and_then(|number| N::try_from(number).ok());
        number.map(Some).ok_or_else(|| self.refuse(&text))
    }

    /// Returns an amount of US dollars (`2`, `0.25`) in millionths, or the default; `None` without both.
    ///
    /// # Errors
    /// Returns [`InvalidSetting`] for other text.
    pub fn find_micro_usd(&self, var: VarLookup<'_>) -> Result<Option<u64>, InvalidSetting> {
        let Some(text) = self.read_text(var) else { return Ok(None) };
        parse_micro_usd(text.trim()).map(Some).ok_or_else(|| self.refuse(&text))
    }

    /// Returns a limit in US dollars (`10`, `10 if priced`), or the default; `None` without both.
    ///
    /// # Errors
    /// Returns [`InvalidSetting`] for other text.
    pub fn find_money_limit(
        &self,
        var: VarLookup<'_>,
    ) -> Result<Option<MoneyLimit>, InvalidSetting> {
        let Some(text) = self.read_text(var) else { return Ok(None) };
        let (amount, needs_prices) = match text.trim().strip_suffix(IF_PRICED) {
            Some(amount) => (amount, false),
            None => (text.trim(), true),
        };
        let limit = parse_micro_usd(amount).map(|micro_usd| MoneyLimit { micro_usd, needs_prices });
        limit.map(Some).ok_or_else(|| self.refuse(&text))
    }

    /// Returns true if the variable, or else the default, is `1`.
    ///
    /// # Errors
    /// Returns [`InvalidSetting`] for any text except `1` and `0`.
    pub fn read_switch(&self, var: VarLookup<'_>) -> Result<bool, InvalidSetting> {
        match self.read_text(var).as_deref().map(str::trim) {
            Some("1") => Ok(true),
            None | Some("0") => Ok(false),
            Some(other) => Err(self.refuse(other)),
        }
    }

    /// Returns the word of the variable, or the default; `None` without both.
    ///
    /// # Errors
    /// Returns [`InvalidSetting`] for a word that the row does not list.
    pub fn find_choice(&self, var: VarLookup<'_>) -> Result<Option<&'static str>, InvalidSetting> {
        let ValueKind::Choice(words) = self.kind else { return Ok(None) };
        let Some(text) = self.read_text(var) else { return Ok(None) };
        let word = words.iter().find(|word| **word == text.trim());
        word.copied().map(Some).ok_or_else(|| self.refuse(&text))
    }

    /// Checks a text by the rule of the row. Texts, forms and JSON are left to their readers.
    ///
    /// # Errors
    /// Returns [`InvalidSetting`] for a number, an amount, a switch or a word that breaks the rule.
    pub fn check_text(&self, text: &str) -> Result<(), InvalidSetting> {
        let var = |_: &str| Some(text.to_owned());
        match self.kind {
            ValueKind::Number { .. } => self.find_number::<u64>(&var).map(drop),
            ValueKind::Money => self.find_micro_usd(&var).map(drop),
            ValueKind::MoneyLimit => self.find_money_limit(&var).map(drop),
            ValueKind::Switch => self.read_switch(&var).map(drop),
            ValueKind::Choice(_) => self.find_choice(&var).map(drop),
            ValueKind::Text | ValueKind::Form(_) | ValueKind::Json(_) => Ok(()),
        }
    }

    /// Returns the error for a `value` that breaks the rule of the row. The message never repeats a secret.
    #[must_use]
    pub fn refuse(&self, value: &str) -> InvalidSetting {
        self.refuse_for(&self.rule(), value)
    }

    /// Returns the error for a `value` that breaks `rule`, which is more exact than the row's. The message never
    /// repeats a secret.
    #[must_use]
    pub fn refuse_for(&self, rule: &str, value: &str) -> InvalidSetting {
        let value = if self.is_secret { UNREPEATED } else { value };
        InvalidSetting::new(self.name, rule, value)
    }

    /// Returns the error for a value that breaks the rule of the row, with a `description` in place of the value,
    /// such as its length.
    #[must_use]
    pub fn refuse_described(&self, description: &str) -> InvalidSetting {
        InvalidSetting::new(self.name, self.rule(), description)
    }

    /// Returns the error for a `problem` with the variable, as the rest of a sentence without the value.
    #[must_use]
    pub fn problem(&self, problem: &str) -> InvalidSetting {
        InvalidSetting { name: self.name, problem: problem.to_owned() }
    }

    /// Returns the variable that overrides the setting's field in `djinn.toml`: `DJINN_` and the field's path in
    /// capitals, with two underscores for each dot, `DJINN_LIMITS__MAX_STEPS`. `None` without a field.
    #[must_use]
    pub fn override_name(&self) -> Option<String> {
        let name = self.field?.to_ascii_uppercase().replace('.', "__");
        Some(format!("{PREFIX}{name}"))
    }

    /// Returns the name of the variable with a value, for an environment.
    #[must_use]
    pub fn pair(&self, value: impl Into<String>) -> (&'static str, String) {
        (self.name, value.into())
    }
}

impl ValueKind {
    /// Returns true if the number is a valid value. Kinds other than `Number` have no limits.
    fn contains(self, number: u64) -> bool {
        matches!(self, Self::Number { least, most } if (least..=most).contains(&number))
    }
}

/// Parses an amount of more than 0 and at most a million dollars, in millionths.
fn parse_micro_usd(text: &str) -> Option<u64> {
    let (whole, part) = text.split_once('.').unwrap_or((text, "0"));
    let digits = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_digit());
    if !digits(whole) || !digits(part) || part.len() > 6 {
        return None;
    }
    let whole: u64 = whole.parse().ok()?;
    let amount = whole.checked_mul(1_000_000)?.checked_add(format!("{part:0<6}").parse().ok()?)?;
    (1..=1_000_000_000_000).contains(&amount).then_some(amount)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEVEL: Setting = Setting::number("LEVEL", 1, 9).with_default("4");
    const MONEY: Setting = Setting::money("MONEY");
    const LIMIT: Setting = Setting::money_limit("LIMIT");
    const MASK: Setting = Setting::switch("MASK").with_default("1");
    const WORD: Setting = Setting::choice("WORD", &["en", "zh", "de"]).with_default("en");
    const KEY: Setting = Setting::form("KEY", "`env:NAME` or `secret:NAME`").mark_secret();

    #[test]
    fn a_number_has_a_range_and_a_default() {
        let read = |text: &'static str| LEVEL.read_number::<u32>(&move |_| Some(text.to_owned()));
        assert_eq!((read(""), read(" "), read(" 9 ")), (Ok(4), Ok(4), Ok(9)));
        assert_eq!(LEVEL.read_number::<u8>(&|_| None), Ok(4));
        for bad in ["0", "10", "-1", "many", "1.5"] {
            let sentence = format!("LEVEL must be a whole number from 1 to 9, got `{bad}`");
            assert_eq!(read(bad).map_err(|error| error.to_string()), Err(sentence));
        }
        const NONE: Setting = Setting::number("NONE", 1, 9);
        assert_eq!(NONE.find_number::<u64>(&|_| None), Ok(None));
        assert_eq!(
            NONE.read_number::<u64>(&|_| None).map_err(|error| error.to_string()),
            Err("NONE is not set".into())
        );
    }

    #[test]
    fn amounts_are_read_to_the_millionth() {
        let read = |text: &'static str| MONEY.find_micro_usd(&move |_| Some(text.to_owned()));
        for (text, amount) in [("2", 2_000_000), (" 0.25 ", 250_000), ("0.000001", 1)] {
            assert_eq!(read(text), Ok(Some(amount)), "{text}");
        }
        assert_eq!((read(""), read("1000000")), (Ok(None), Ok(Some(1_000_000_000_000))));
        for bad in ["0", "7.", ".5", "-1", "1,5", "$2", "1e3", "0.0000001", "1000000.01", ".", "+1"]
        {
            let error = read(bad).unwrap_err().to_string();
            assert!(error.starts_with("MONEY must be an amount of US dollars"), "{error}");
        }
    }

    #[test]
    fn a_limit_in_dollars_may_leave_out_models_without_a_price() {
        let read = |text: &'static str| LIMIT.find_money_limit(&move |_| Some(text.to_owned()));
        for (text, micro_usd, needs_prices) in [
            ("10", 10_000_000, true),
            (" 0.25 ", 250_000, true),
            ("10 if priced", 10_000_000, false),
            (" 0.25 if priced ", 250_000, false),
            ("1000000 if priced", 1_000_000_000_000, false),
        ] {
            assert_eq!(read(text), Ok(Some(MoneyLimit { micro_usd, needs_prices })), "{text}");
        }
        assert_eq!((read(""), read(" ")), (Ok(None), Ok(None)));
        for bad in [
            "10 if",
            "if priced",
            " if priced",
            "-1 if priced",
            "-1",
            "0 if priced",
            "1000000.01 if priced",
            "10if priced",
            "10  if priced",
            "10 if  priced",
            "10 If Priced",
            "10 if priced if priced",
            "10 if priced, else 5",
            "$10 if priced",
        ] {
            let error = read(bad).unwrap_err().to_string();
            let sentence = "LIMIT must be an amount of US dollars from 0.000001 to 1000000 with at most 6 decimals, \
                            which may be followed by ` if priced`, got";
            assert!(error.starts_with(sentence), "{error}");
        }
        let amount = MONEY.find_micro_usd(&|_| Some("10 if priced".to_owned()));
        assert!(amount.is_err(), "{amount:?}");
    }

    #[test]
    fn a_deployment_is_limited_unless_it_says_none() {
        const RUNS: Setting = Setting::number("RUNS", 1, 99).with_deployed_default("30");
        let read = |text: &'static str, is_local: bool| {
            RUNS.find_number::<u32>(&move |name| match name {
                "RUNS" => Some(text.to_owned()),
                "DJINN_LOCAL" => is_local.then(|| "1".to_owned()),
                _ => None,
            })
        };
        for (text, deployed, local) in
            [("", Some(30), None), ("5", Some(5), Some(5)), (" none ", None, None)]
        {
            assert_eq!((read(text, false), read(text, true)), (Ok(deployed), Ok(local)), "{text}");
        }
        let sentence = "RUNS must be a whole number from 1 to 99, or `none`, got `all`";
        assert_eq!(read("all", false).unwrap_err().to_string(), sentence);
        assert_eq!(
            LEVEL.find_number::<u32>(&|_| Some("none".to_owned())).unwrap_err().to_string(),
            "LEVEL must be a whole number from 1 to 9, got `none`"
        );
    }

    #[test]
    fn a_switch_is_one_or_nought() {
        let read = |text: &'static str| MASK.read_switch(&move |_| Some(text.to_owned()));
        assert_eq!(
            (read("1"), read("0"), read(""), read(" 0 ")),
            (Ok(true), Ok(false), Ok(true), Ok(false))
        );
        assert_eq!(
            read("yes").map_err(|error| error.to_string()),
            Err("MASK must be 1 or 0, got `yes`".into())
        );
    }

    #[test]
    fn a_choice_is_one_of_its_words() {
        let read = |text: &'static str| WORD.find_choice(&move |_| Some(text.to_owned()));
        assert_eq!((read("zh"), read("")), (Ok(Some("zh")), Ok(Some("en"))));
        let sentence = "WORD must be en, zh or de, got `fr`".to_owned();
        assert_eq!(read("fr").map_err(|error| error.to_string()), Err(sentence));
    }

    #[test]
    fn a_secret_is_never_repeated() {
        let refused = KEY.refuse("sk-secret").to_string();
        assert_eq!(refused, "KEY must be `env:NAME` or `secret:NAME`, got `another text`");
        assert_eq!(
            KEY.require_text(&|_| None).map_err(|error| error.to_string()),
            Err("KEY is not set".into())
        );
        assert_eq!(KEY.require_text(&|_| Some(" k ".into())), Ok(" k ".into()));
    }
}
