//! Factors behind a number: `million`, `k`, `万`, `%`.

/// Words behind a number that multiply it, the longer of two with the same beginning first.
const SCALES: [(&str, f64); 24] = [
    ("thousand", 1e3),
    ("millions", 1e6),
    ("million", 1e6),
    ("billion", 1e9),
    ("trillion", 1e12),
    ("Tsd", 1e3),
    ("Mio", 1e6),
    ("Mrd", 1e9),
    ("Millionen", 1e6),
    ("Milliarden", 1e9),
    ("millones", 1e6),
    ("milliards", 1e9),
    ("milliard", 1e9),
    ("万亿", 1e12),
    ("千万", 1e7),
    ("百万", 1e6),
    ("百亿", 1e10),
    ("十亿", 1e9),
    ("千亿", 1e11),
    ("千", 1e3),
    ("万", 1e4),
    ("亿", 1e8),
    ("bn", 1e9),
    ("mn", 1e6),
];

/// Letters that multiply a number directly before them.
const SCALE_LETTERS: [(char, f64); 4] = [('k', 1e3), ('K', 1e3), ('M', 1e6), ('B', 1e9)];

/// Reads what follows a number: a factor, and whether the number is a percentage. Returns the rest.
pub(super) fn read_scale(text: &str) -> (f64, bool, &str) {
    let spaced = text.strip_prefix([' ', '\u{a0}', '\u{202f}']).unwrap_or(text);
    if let Some(after) = spaced.strip_prefix(['%', '％']) {
        return (1.0, true, after);
    }
    let is_end = |after: &str| !after.starts_with(|next: char| next.is_ascii_alphanumeric());
    for (letter, scale) in SCALE_LETTERS {
        if let Some(after) = text.strip_prefix(letter).filter(|after| is_end(after)) {
            return (scale, false, after);
        }
    }
    for (word, scale) in SCALES {
        let is_word = |after: &&str| !word.is_ascii() || is_end(after);
        if let Some(after) = spaced.strip_prefix(word).filter(is_word) {
            return (scale, false, after);
        }
    }
    (1.0, false, text)
}
