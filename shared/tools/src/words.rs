//! Splits text into words for an index.

/// Splits text into lowercase words, and Chinese and Japanese text into pairs of neighboring characters. Numbers keep
/// the decimal point and lose thousands separators.
#[must_use]
pub fn split_words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    visit_words(text, |word| words.push(word.to_owned()));
    words
}

/// Calls `visit` with each word of [`split_words`], without a list of them.
pub(crate) fn visit_words(text: &str, mut visit: impl FnMut(&str)) {
    let mut word = String::new();
    let mut signs = Vec::new();
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        // Chinese and Japanese.
        let is_sign = matches!(letter,
            '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}');
        if !is_sign {
            visit_bigrams(&mut signs, &mut visit);
        }
        let mut joins_digits = || {
            word.ends_with(|last: char| last.is_ascii_digit())
                && letters.peek().is_some_and(char::is_ascii_digit)
        };
        match letter {
            sign if is_sign => {
                visit_word(&mut word, &mut visit);
                signs.push(sign);
            }
            letter if letter.is_ascii_alphanumeric() => word.push(letter.to_ascii_lowercase()),
            ',' if joins_digits() => {}
            '.' if joins_digits() => word.push('.'),
            letter if letter.is_alphanumeric() => word.extend(letter.to_lowercase()),
            _ => visit_word(&mut word, &mut visit),
        }
    }
    visit_word(&mut word, &mut visit);
    visit_bigrams(&mut signs, &mut visit);
}

fn visit_word(word: &mut String, visit: &mut impl FnMut(&str)) {
    if !word.is_empty() {
        visit(word);
        word.clear();
    }
}

/// Visits each pair of neighboring characters as a word; a single character is a word.
fn visit_bigrams(signs: &mut Vec<char>, visit: &mut impl FnMut(&str)) {
    match signs.as_slice() {
        [] => {}
        [sign] => visit(sign.encode_utf8(&mut [0; 4])),
        signs => signs.windows(2).for_each(|pair| visit(&pair.iter().collect::<String>())),
    }
    signs.clear();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_fall_into_words_numbers_and_bigrams() {
        for (text, words) in [
            ("Heat Pumps, at -15 °C!", &["heat", "pumps", "at", "15", "c"][..]),
            ("16,400 crowns; COP 3.1.", &["16400", "crowns", "cop", "3.1"]),
            ("旧暖气片", &["旧暖", "暖气", "气片"]),
            ("榆川市42户的COP为2.7。", &["榆川", "川市", "42", "户的", "cop", "为", "2.7"]),
            ("Straße ÉTÉ", &["straße", "été"]),
            (" …? ", &[]),
        ] {
            assert_eq!(split_words(text), words, "{text}");
        }
    }
}
