//! Checks of names in the environment, with suggestions for misspelled names.

use crate::error::UnknownSetting;
use crate::table::TABLES;

/// The prefix of the names of Djinn's own variables.
pub const PREFIX: &str = "DJINN_";

/// Checks the names of an environment. A name that begins with [`PREFIX`] must be a setting, because any other
/// such name is misspelled. Other names are ignored.
///
/// # Errors
/// Returns [`UnknownSetting`] for the first name with the prefix that is not a setting.
pub fn check_names<N: AsRef<str>>(
    names: impl IntoIterator<Item = N>,
) -> Result<(), UnknownSetting> {
    names.into_iter().try_for_each(|name| check_name(name.as_ref()))
}

fn check_name(name: &str) -> Result<(), UnknownSetting> {
    if !name.starts_with(PREFIX) || known_names().any(|setting| setting == name) {
        return Ok(());
    }
    let nearest = known_names().min_by_key(|setting| edit_distance(setting, name));
    Err(UnknownSetting { name: name.to_owned(), nearest: nearest.unwrap_or(PREFIX) })
}

/// The names of our own variables, in the order of the tables.
fn known_names() -> impl Iterator<Item = &'static str> {
    let rows = TABLES.iter().flat_map(|table| table.rows);
    rows.map(|row| row.name).filter(|name| name.starts_with(PREFIX))
}

/// Returns the number of letters to insert, remove or replace to turn one text into the other (Levenshtein).
fn edit_distance(from: &str, to: &str) -> usize {
    let mut row: Vec<usize> = (0..=to.chars().count()).collect();
    for (at, letter) in from.chars().enumerate() {
        let mut previous = at + 1;
        let mut above_left = at;
        for (other, above) in to.chars().zip(row.iter_mut().skip(1)) {
            let replacement = above_left + usize::from(letter != other);
            above_left = *above;
            previous = replacement.min(previous + 1).min(above_left + 1);
            *above = previous;
        }
        if let Some(first) = row.first_mut() {
            *first = at + 1;
        }
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_that_differ_are_counted() {
        for (from, to, distance) in [
            ("", "", 0),
            ("", "abc", 3),
            ("abc", "", 3),
            ("kitten", "sitting", 3),
            ("DJINN_TABEL", "DJINN_TABLE", 2),
            ("flaw", "lawn", 2),
        ] {
            assert_eq!(edit_distance(from, to), distance, "{from} {to}");
        }
    }

    #[test]
    fn a_misspelt_name_is_refused_with_the_nearest_one() {
        for (misspelt, meant) in [
            ("DJINN_TABEL", "DJINN_TABLE"),
            ("DJINN_MAX_STEP", "DJINN_MAX_STEPS"),
            ("DJINN_MASKPII", "DJINN_MASK_PII"),
            ("DJINN_IDLE_STREAM_SECS", "DJINN_IDLE_STREAM_SECONDS"),
            ("DJINN_USER_DAY_TOKEN", "DJINN_USER_DAY_TOKENS"),
            ("DJINN_LOCALE", "DJINN_LOCAL"),
            ("DJINN_MODEL", "DJINN_MODELS"),
        ] {
            let refused = check_names(["PATH", "DJINN_MODELS", misspelt]).unwrap_err();
            assert_eq!((refused.name.as_str(), refused.nearest), (misspelt, meant));
        }
        let sentence = check_names(["DJINN_TABEL"]).unwrap_err().to_string();
        let wanted = "DJINN_TABEL is not a setting; the closest one is DJINN_TABLE, \
                      and docs/settings.md lists all";
        assert_eq!(sentence, wanted);
    }

    #[test]
    fn names_of_others_are_none_of_our_business() {
        let others = ["AWS_REGION", "OPENAI_API_KEI", "_HANDLER", "DJINN", "djinn_tabel", ""];
        assert_eq!(check_names(others), Ok(()));
        assert_eq!(check_names(known_names()), Ok(()));
    }
}
