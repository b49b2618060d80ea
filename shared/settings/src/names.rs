//! Checks of names in the environment, with suggestions for misspelled names.

use std::borrow::Cow;

use djinn_text::near_miss::find_near_miss;

use crate::error::UnknownSetting;
use crate::table::{TABLES, file_rows};

/// The prefix of the names of Djinn's own variables.
pub const PREFIX: &str = "DJINN_";

/// Checks the names of an environment. A name that begins with [`PREFIX`] must be a setting, because any other
/// such name is misspelled. So must the field that a name stands for, `DJINN_LIMITS__MAX_STEPS`. Other names are
/// ignored.
///
/// # Errors
/// Returns [`UnknownSetting`] for the first name with the prefix that is not a setting.
pub fn check_names<N: AsRef<str>>(
    names: impl IntoIterator<Item = N>,
) -> Result<(), UnknownSetting> {
    names.into_iter().try_for_each(|name| check_name(name.as_ref()))
}

fn check_name(name: &str) -> Result<(), UnknownSetting> {
    if !name.starts_with(PREFIX) || known_names().any(|known| *known == *name) {
        return Ok(());
    }
    let names: Vec<_> = known_names().collect();
    // A field's variable without its section, `DJINN_MAX_STEPS`.
    let key = name.trim_start_matches(PREFIX);
    let of_key = names.iter().find(|known| known.rsplit("__").next() == Some(key));
    let nearest = of_key.map(AsRef::as_ref);
    let nearest = nearest.or_else(|| find_near_miss(name, names.iter().map(AsRef::as_ref)));
    let nearest = nearest.map(str::to_owned);
    Err(UnknownSetting { name: name.to_owned(), nearest })
}

/// The names of our own variables, in the order of the tables, and of the variables that override fields.
fn known_names() -> impl Iterator<Item = Cow<'static, str>> {
    let rows = TABLES.iter().flat_map(|table| table.rows);
    let names = rows.map(|row| Cow::Borrowed(row.name)).filter(|name| name.starts_with(PREFIX));
    names.chain(file_rows().into_iter().filter_map(|row| row.override_name().map(Cow::Owned)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_name_is_refused_with_the_nearest_one() {
        for (misspelt, meant) in [
            ("DJINN_TABEL", "DJINN_TABLE"),
            ("DJINN_MAX_STEPS", "DJINN_LIMITS__MAX_STEPS"),
            ("DJINN_SAFETY_MASKPII", "DJINN_SAFETY__MASK_PII"),
            ("DJINN_LIMITS__IDLE_STREAM_SECS", "DJINN_LIMITS__IDLE_STREAM_SECONDS"),
            ("DJINN_LIMITS__USER_DAY_TOKEN", "DJINN_LIMITS__USER_DAY_TOKENS"),
            ("DJINN_LOCALE", "DJINN_LOCAL"),
            ("DJINN_MODEL", "DJINN_MODELS"),
            ("DJINN_LIMITS__MAX_STEP", "DJINN_LIMITS__MAX_STEPS"),
        ] {
            let refused = check_names(["PATH", "DJINN_MODELS", misspelt]).unwrap_err();
            assert_eq!(
                (refused.name.as_str(), refused.nearest),
                (misspelt, Some(meant.to_owned()))
            );
        }
        let sentence = check_names(["DJINN_TABEL"]).unwrap_err().to_string();
        let wanted = "DJINN_TABEL is not a setting; the closest one is DJINN_TABLE, \
                      and docs/settings.md lists all";
        assert_eq!(sentence, wanted);
        let sentence = check_names(["DJINN_RETRIEVAL_PIPELINE"]).unwrap_err().to_string();
        let wanted = "DJINN_RETRIEVAL_PIPELINE is not a setting; docs/settings.md lists all";
        assert_eq!(sentence, wanted);
    }

    #[test]
    fn names_of_others_are_none_of_our_business() {
        let others = ["AWS_REGION", "OPENAI_API_KEI", "_HANDLER", "DJINN", "djinn_tabel", ""];
        assert_eq!(check_names(others), Ok(()));
        assert_eq!(check_names(known_names()), Ok(()));
        assert_eq!(check_names(["DJINN_LIMITS__MAX_STEPS"]), Ok(()));
    }
}
