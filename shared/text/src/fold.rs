//! Characters as they are compared where somebody may have written a word so that a machine misses it.

use icu_normalizer::DecomposingNormalizerBorrowed;
use icu_properties::props::{DefaultIgnorableCodePoint, GeneralCategory, GeneralCategoryGroup};
use icu_properties::{CodePointMapData, CodePointSetData};

/// A character without what only its form says: decomposed for compatibility (NFKD: full-width, circled
/// and mathematical letters are letters, `é` is `e` and a mark), in one case (`ß` is `ss`), any white space
/// as a space. Nothing is left of what no reader sees: Unicode's `Default_Ignorable_Code_Point`, and
/// controls that are no white space.
pub fn fold_character(character: char) -> impl Iterator<Item = char> {
    let rest = (!character.is_ascii()).then(|| fold_any(character)).into_iter().flatten();
    fold_ascii(character).into_iter().chain(rest)
}

/// The same of plain letters, which most texts are made of, at a fraction of the cost.
fn fold_ascii(character: char) -> Option<char> {
    match character {
        _ if !character.is_ascii() => None,
        space if space.is_whitespace() => Some(' '),
        hidden if hidden.is_control() => None,
        seen => Some(seen.to_ascii_lowercase()),
    }
}

fn fold_any(character: char) -> impl Iterator<Item = char> {
    let form = DecomposingNormalizerBorrowed::new_nfkd().normalize_iter(std::iter::once(character));
    let seen = form.filter(|character| !is_ignorable(*character));
    let folded = seen.flat_map(char::to_uppercase).flat_map(char::to_lowercase);
    folded.map(|character| if character.is_whitespace() { ' ' } else { character })
}

/// Whether no reader sees a character.
fn is_ignorable(character: char) -> bool {
    let is_control = character.is_control() && !character.is_whitespace();
    is_control || CodePointSetData::new::<DefaultIgnorableCodePoint>().contains(character)
}

/// Whether a character only changes the one before it, as an accent does.
#[must_use]
pub fn is_combining_mark(character: char) -> bool {
    GeneralCategoryGroup::Mark.contains(CodePointMapData::<GeneralCategory>::new().get(character))
}

/// Whether a character is of a script that is written without spaces between words, by its blocks: Thai
/// and Lao, Burmese, Hangul, Khmer, Tai Le, New Tai Lue and Tai Tham, Javanese and Balinese, Chinese and
/// Japanese. Tibetan divides syllables by a mark of its own.
#[must_use]
pub fn is_written_without_spaces(character: char) -> bool {
    matches!(character,
        '\u{e00}'..='\u{eff}' | '\u{1000}'..='\u{109f}' | '\u{1100}'..='\u{11ff}'
        | '\u{1780}'..='\u{17ff}' | '\u{1950}'..='\u{19ff}' | '\u{1a20}'..='\u{1aaf}'
        | '\u{1b00}'..='\u{1b7f}' | '\u{2e80}'..='\u{9fff}' | '\u{a980}'..='\u{a9ff}'
        | '\u{aa60}'..='\u{aadf}' | '\u{ac00}'..='\u{d7ff}' | '\u{f900}'..='\u{faff}'
        | '\u{20000}'..='\u{3ffff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_what_a_reader_takes_it_for() {
        let folded = |text: &str| text.chars().flat_map(fold_character).collect::<String>();
        for (text, read) in [
            ("Bomb", "bomb"),
            ("ｂｏｍｂ", "bomb"),
            ("ⓑ𝐨𝓂𝕓", "bomb"),
            ("ﬁre", "fire"),
            ("STRASSE straße", "strasse strasse"),
            ("é", "e\u{301}"),
            ("a\u{3000}b\tc", "a b c"),
        ] {
            assert_eq!(folded(text), read, "{text}");
        }
        assert!(is_combining_mark('\u{301}') && !is_combining_mark('a'));
    }

    #[test]
    fn plain_letters_are_folded_like_all_others() {
        for character in '\0'..='\u{7f}' {
            assert!(fold_character(character).eq(fold_any(character)), "{character:?}");
        }
    }

    #[test]
    fn nothing_is_left_of_what_no_reader_sees() {
        for hidden in [
            '\0',
            '\u{ad}',
            '\u{34f}',
            '\u{61c}',
            '\u{115f}',
            '\u{1160}',
            '\u{17b4}',
            '\u{180b}',
            '\u{180e}',
            '\u{200b}',
            '\u{200d}',
            '\u{202e}',
            '\u{2060}',
            '\u{2066}',
            '\u{206a}',
            '\u{3164}',
            '\u{fe0f}',
            '\u{feff}',
            '\u{ffa0}',
            '\u{fff0}',
            '\u{1bca0}',
            '\u{1d173}',
            '\u{e0041}',
            '\u{e0100}',
        ] {
            assert_eq!(fold_character(hidden).next(), None, "{hidden:?}");
        }
    }
}
