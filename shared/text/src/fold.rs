//! Folding of characters for comparison, against words disguised from machines.

use icu_normalizer::DecomposingNormalizerBorrowed;
use icu_properties::props::{
    CanonicalCombiningClass, DefaultIgnorableCodePoint, GeneralCategory, GeneralCategoryGroup,
    Script,
};
use icu_properties::{CodePointMapData, CodePointSetData};

/// A character that stretches Arabic words without changing the meaning.
const TATWEEL: char = '\u{640}';

/// A character without dots, so it looks like a space.
const BLANK_BRAILLE: char = '\u{2800}';

/// The role of a combining mark in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MarkRole {
    /// A sign with a separate sound, such as a vowel sign of Devanagari or Thai; counts as a letter.
    Letter,
    /// A part of the letter before. Without the mark the letter is another letter: a tone mark of Thai, the
    /// voicing mark of kana, or the virama of an Indic script. The order of these marks is irrelevant.
    Part,
    /// An accent, a point, an overlay, or a mark of another script than the letter's: the word reads the same
    /// without the mark.
    Accent,
}

/// Returns a character without differences of form. Compatibility forms are decomposed (NFKD): full-width,
/// circled and mathematical letters become letters, `é` becomes `e` and a mark. Case is folded (`ß` becomes
/// `ss`), and any white space becomes a space. Hidden characters ([`is_hidden`]) are removed.
pub fn fold_character(character: char) -> impl Iterator<Item = char> {
    let rest = (!character.is_ascii()).then(|| fold_any(character)).into_iter().flatten();
    // Plain letters, the bulk of most texts, are folded at a fraction of the cost.
    let plain = match character {
        _ if !character.is_ascii() => None,
        space if space.is_whitespace() => Some(' '),
        hidden if hidden.is_control() => None,
        visible => Some(visible.to_ascii_lowercase()),
    };
    plain.into_iter().chain(rest)
}

fn fold_any(character: char) -> impl Iterator<Item = char> {
    let form = DecomposingNormalizerBorrowed::new_nfkd().normalize_iter(std::iter::once(character));
    let visible = form.filter(|character| !is_hidden(*character));
    let folded = visible.flat_map(|character| {
        // A mark stays a mark: the capital of U+0345 would be a letter.
        let mark = is_combining_mark(character).then_some(character);
        let letter = mark.is_none().then(|| character.to_uppercase().flat_map(char::to_lowercase));
        mark.into_iter().chain(letter.into_iter().flatten())
    });
    folded.map(|character| {
        if character.is_whitespace() || character == BLANK_BRAILLE { ' ' } else { character }
    })
}

/// Returns true for an invisible character: Unicode's `Default_Ignorable_Code_Point` and format characters,
/// such as zero-width spaces and joiners, soft hyphens and annotation marks. Controls except white space, and
/// the tatweel, are hidden too.
#[must_use]
pub fn is_hidden(character: char) -> bool {
    if character.is_ascii() {
        return character.is_control() && !character.is_whitespace();
    }
    let category = CodePointMapData::<GeneralCategory>::new().get(character);
    let is_control = category == GeneralCategory::Control && !character.is_whitespace();
    is_control
        || category == GeneralCategory::Format
        || character == TATWEEL
        || CodePointSetData::new::<DefaultIgnorableCodePoint>().contains(character)
}

/// Returns true if a character only modifies the character before, as an accent does.
#[must_use]
pub fn is_combining_mark(character: char) -> bool {
    !character.is_ascii()
        && GeneralCategoryGroup::Mark
            .contains(CodePointMapData::<GeneralCategory>::new().get(character))
}

/// Returns the role of a combining mark after a letter, or after the letter's other marks.
#[must_use]
pub fn mark_role(letter: char, mark: char) -> MarkRole {
    let scripts = CodePointMapData::<Script>::new();
    let own = scripts.get(mark);
    let of_letter = scripts.get(letter);
    let class = CodePointMapData::<CanonicalCombiningClass>::new().get(mark);
    // The kana share their voicing marks.
    let is_kana = [Script::Hiragana, Script::Katakana].contains(&of_letter);
    if own != of_letter && !(is_kana && class == CanonicalCombiningClass::KanaVoicing) {
        return MarkRole::Accent;
    }
    let category = CodePointMapData::<GeneralCategory>::new().get(mark);
    // The classes of vowels and tones of Telugu, Thai, Lao and Tibetan are 84 to 132. Lower are the optional
    // points of Hebrew, Arabic and Syriac and the nukta; higher are accents by position.
    match class {
        CanonicalCombiningClass::NotReordered if category != GeneralCategory::EnclosingMark => {
            MarkRole::Letter
        }
        CanonicalCombiningClass::KanaVoicing | CanonicalCombiningClass::Virama => MarkRole::Part,
        CanonicalCombiningClass(84..=132) => MarkRole::Part,
        _ => MarkRole::Accent,
    }
}

/// Returns true for a character of a script written without spaces between words, by Unicode block: Thai and
/// Lao, Burmese, Hangul, Khmer, Tai Le, New Tai Lue and Tai Tham, Javanese and Balinese, Chinese and
/// Japanese. Tibetan separates syllables by a mark.
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
            ("a\u{2800}b\u{2028}c", "a b c"),
            ("o\u{345}", "o\u{345}"),
        ] {
            assert_eq!(folded(text), read, "{text}");
        }
        assert!(is_combining_mark('\u{301}') && !is_combining_mark('a'));
    }

    #[test]
    fn mark_is_an_accent_unless_its_script_spells_with_it() {
        use MarkRole::{Accent, Letter, Part};
        for (word, role) in [
            ("e\u{301}", Accent),
            ("m\u{20dd}", Accent),
            ("m\u{338}", Accent),
            ("и\u{306}", Accent),
            ("α\u{345}", Accent),
            // Vowel signs, also of another script.
            ("ब\u{93f}", Letter),
            ("ब\u{941}", Letter),
            ("b\u{941}", Accent),
            ("बि\u{301}", Accent),
            ("ब\u{93c}", Accent),
            ("ब\u{94d}", Part),
            ("ด\u{e34}", Letter),
            ("ด\u{e38}", Part),
            ("ด\u{e48}", Part),
            ("d\u{e48}", Accent),
            ("か\u{3099}", Part),
            ("ka\u{3099}", Accent),
            ("ش\u{64e}", Accent),
            ("ا\u{654}", Accent),
            ("ש\u{5b8}", Accent),
        ] {
            let letters: Vec<char> = word.chars().collect();
            let letter = letters[0];
            let mark = *letters.last().unwrap();
            assert_eq!(mark_role(letter, mark), role, "{word}");
        }
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
            '\u{640}',
            '\u{ffa0}',
            '\u{fff0}',
            '\u{fff9}',
            '\u{fffa}',
            '\u{fffb}',
            '\u{1bca0}',
            '\u{1d173}',
            '\u{e0041}',
            '\u{e0100}',
        ] {
            assert_eq!(fold_character(hidden).next(), None, "{hidden:?}");
        }
    }
}
