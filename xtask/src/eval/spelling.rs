//! Finds statements in a text, in any of several spellings.

/// Separators of thousands, besides the comma.
const THIN_SPACES: [char; 3] = ['\u{a0}', '\u{202f}', '\u{2009}'];

/// Normalizes a text for comparison: lowercase, single spaces, plain digits, signs and percents, without
/// thousands separators and Markdown.
pub(super) fn normalize(text: &str) -> String {
    let letters = text.chars().map(|letter| match letter {
        '\u{ff01}'..='\u{ff5e}' => char::from_u32(u32::from(letter) - 0xfee0).unwrap_or(letter),
        '\u{2010}'..='\u{2014}' | '\u{2212}' => '-',
        '\u{2019}' => '\'',
        letter => letter,
    });
    let letters: Vec<char> = letters.collect();
    let mut output = String::with_capacity(text.len());
    for (at, &letter) in letters.iter().enumerate() {
        match letter {
            '*' | '`' => {}
            ',' | '\'' if parts_thousands(&letters, at) => {}
            space if THIN_SPACES.contains(&space) && parts_thousands(&letters, at) => {}
            letter => output.extend(letter.to_lowercase()),
        }
    }
    let words: Vec<&str> = output.split_whitespace().collect();
    let text = words.join(" ").replace("per cent", "%").replace("percent", "%");
    text.replace(" %", "%").replace(" °", "°")
}

/// Returns true if a normalized text contains a spelling, with whole numbers and from the start of a word. A
/// `*` at the end matches further digits.
pub(super) fn is_stated(spelling: &str, text: &str) -> bool {
    let may_go_on = spelling.ends_with('*');
    let pattern = normalize(spelling);
    if pattern.is_empty() {
        return false;
    }
    text.match_indices(&pattern).any(|(at, occurrence)| {
        let before = text.get(..at);
        let after = text.get(at + occurrence.len()..);
        let has_start = is_start(occurrence, before.unwrap_or_default());
        has_start && (may_go_on || is_end(occurrence, after.unwrap_or_default()))
    })
}

fn is_start(occurrence: &str, before: &str) -> bool {
    let mut before = before.chars().rev();
    match (occurrence.chars().next(), before.next()) {
        (Some(first), Some('.')) if first.is_ascii_digit() => {
            !before.next().is_some_and(|letter| letter.is_ascii_digit())
        }
        (Some(first), Some(last)) => {
            !first.is_ascii_alphanumeric() || !last.is_ascii_alphanumeric()
        }
        _ => true,
    }
}

fn is_end(occurrence: &str, after: &str) -> bool {
    let mut after = after.chars();
    let is_digit = |letter: Option<char>| letter.is_some_and(|letter| letter.is_ascii_digit());
    if !is_digit(occurrence.chars().next_back()) {
        return true;
    }
    match after.next() {
        Some('.') => !is_digit(after.next()),
        next => !is_digit(next),
    }
}

/// Returns true for a character with a digit before and exactly three digits after.
fn parts_thousands(letters: &[char], at: usize) -> bool {
    let is_digit = |place: Option<usize>| {
        place.and_then(|place| letters.get(place)).is_some_and(char::is_ascii_digit)
    };
    let behind = |steps: usize| is_digit(at.checked_add(steps));
    is_digit(at.checked_sub(1)) && (1..=3).all(behind) && !behind(4)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_compared_without_what_does_not_matter() {
        for (text, normal) in [
            ("**Median** SPF:\n 3.1", "median spf: 3.1"),
            ("16,400 crowns, 1'284'000, 12 300", "16400 crowns, 1284000, 12 300"),
            ("3\u{202f}576\u{a0}500", "3576500"),
            ("55.9 percent, 6 per cent, 7 %", "55.9%, 6%, 7%"),
            ("−15 °C – ３．１％", "-15°c - 3.1%"),
            ("in 2021,2022 and 1,2345", "in 2021,2022 and 1,2345"),
        ] {
            assert_eq!(normalize(text), normal, "{text}");
        }
    }

    #[test]
    fn a_number_is_stated_as_a_whole() {
        for (spelling, text, is_there) in [
            ("3.1", "The median is 3.1.", true),
            ("3.1", "It is 13.1", false),
            ("3.1", "It is 3.14", false),
            ("3.1", "version 2.3.1", false),
            ("3.1", "平均3.1，中位", true),
            ("3", "3.1", false),
            ("1", "3.1", false),
            ("16,400", "16 400, 16400 or 16,400 crowns", true),
            ("16,400", "116,400", false),
            ("25 %", "25 percent", true),
            ("55.9*", "55.915 %", true),
            ("55.9*", "155.9", false),
            ("2027", "until 2027-12-31", true),
            ("east", "East leads", true),
            ("east", "at least", false),
            ("radiator", "old radiators", true),
            ("暖气", "旧暖气片", true),
            (" * ", "anything", false),
        ] {
            assert_eq!(is_stated(spelling, &normalize(text)), is_there, "{spelling} in {text}");
        }
    }
}
