//! The sentences of error codes.

use crate::catalog::find_text;
use crate::language::Language;

/// The section of the error codes.
const SECTION: &str = "error";

/// The placeholder for a failure's detail, at most once in a sentence.
const DETAIL: &str = "{detail}";

/// Returns the user's sentence for an error code: the problem and a remedy. `{detail}` marks the place of the
/// detail.
#[must_use]
pub fn find_error_template(code: &str, language: Language) -> Option<&'static str> {
    find_text(SECTION, code, language)
}

/// Returns the complete sentence for a user; an unknown code is returned unchanged.
#[must_use]
pub fn write_error_sentence(code: &str, detail: &str, language: Language) -> String {
    let template = find_error_template(code, language).unwrap_or(code);
    match template.split_once(DETAIL) {
        None => template.to_owned(),
        // A detail that ends in a full stop adds no second full stop.
        Some((before, after)) if after.starts_with(['.', '。']) => {
            format!("{before}{}{after}", detail.trim_end_matches(['.', '。']))
        }
        Some((before, after)) => format!("{before}{detail}{after}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::keys;

    #[test]
    fn a_failure_reads_as_one_sentence_with_its_fact() {
        let sentence = write_error_sentence("steps_used_up", "40", Language::En);
        assert!(sentence.starts_with("The step budget of 40 is used up."), "{sentence}");
        let sentence = write_error_sentence("invalid_json", "expected `:`.", Language::En);
        assert_eq!(sentence, "The body is not valid JSON: expected `:`.");
        assert_eq!(write_error_sentence("unheard_of", "x", Language::En), "unheard_of");
    }

    #[test]
    fn a_sentence_of_a_code_says_its_fact_at_most_once_and_nothing_else() {
        for (section, code) in keys(Language::En).filter(|(section, _)| *section == SECTION) {
            for language in [Language::En, Language::Zh] {
                let template = find_text(section, code, language).unwrap();
                let holes = template.matches(DETAIL).count();
                assert!(holes <= 1 && template.matches('{').count() == holes, "{code}");
            }
        }
    }
}
