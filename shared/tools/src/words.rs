//! Splits text into words for an index.

/// Splits text into lowercase words, and Chinese and Japanese text into pairs of neighboring characters. Numbers keep
/// the decimal point and lose thousands separators.
#[must_use]
pub fn split_words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut signs = Vec::new();
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        // Chinese and Japanese.
        let is_sign = matches!(letter,
            '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}');
        if !is_sign {
            push_bigrams(&mut words, &mut signs);
        }
        let joins_digits = word.ends_with(|last: char| last.is_ascii_digit())
            && letters.peek().is_some_and(char::is_ascii_digit);
        match letter {
            sign if is_sign => {
                push_word(&mut words, &mut word);
                signs.push(sign);
            }
            ',' if joins_digits => {}
            '.' if joins_digits => word.push('.'),
            letter if letter.is_alphanumeric() => word.extend(letter.to_lowercase()),
            _ => push_word(&mut words, &mut word),
        }
    }
    push_word(&mut words, &mut word);
    push_bigrams(&mut words, &mut signs);
    words
}

fn push_word(words: &mut Vec<String>, word: &mut String) {
    if !word.is_empty() {
        words.push(std::mem::take(word));
    }
}

/// Appends each pair of neighboring characters as a word; a single character is a word.
fn push_bigrams(words: &mut Vec<String>, signs: &mut Vec<char>) {
    match signs.as_slice() {
        [] => {}
        [sign] => words.push(sign.to_string()),
        signs => words.extend(signs.windows(2).map(|pair| pair.iter().collect::<String>())),
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
