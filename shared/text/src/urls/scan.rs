//! The start and the end of URLs in a text.
//!
//! Surrounding characters of prose, Markdown, CSV and JSON end a URL. A placeholder and its URL end at the
//! same place, so each can replace the other.

/// The schemes of recognized URLs.
const SCHEMES: [&str; 2] = ["https://", "http://"];

/// The prefix of every placeholder.
pub(super) const PLACEHOLDER_PREFIX: &str = "https://";

/// Maximum digits of a placeholder.
const MAX_DIGITS: usize = 7;

/// Punctuation of the sentence after a URL.
const CLOSING: [char; 6] = ['.', ':', ';', '!', '?', '*'];

/// Maximum characters of closing punctuation after a URL.
const MAX_CLOSING: usize = 8;

/// Maximum bytes of a run that may still be a placeholder.
pub(super) const MAX_RUN: usize = PLACEHOLDER_PREFIX.len() + MAX_DIGITS + MAX_CLOSING;

/// Returns the start of the next URL from `from` on. `before` is the byte before the text, if any.
pub(super) fn find_url_start(text: &str, from: usize, before: Option<u8>) -> Option<usize> {
    let mut at = from;
    loop {
        let rest = text.get(at..)?;
        let start = at + rest.find("http")?;
        let candidate = text.get(start..)?;
        if is_word_start(text, start, before)
            && SCHEMES.iter().any(|scheme| candidate.starts_with(scheme))
        {
            return Some(start);
        }
        at = start + "http".len();
    }
}

/// Returns the start of a partial scheme at the end of a text.
pub(super) fn find_cut_scheme(text: &str, from: usize, before: Option<u8>) -> Option<usize> {
    let tail = text.get(from..)?;
    let longest = tail.len().min(PLACEHOLDER_PREFIX.len() - 1);
    let mut starts = (1..=longest).rev().map(|length| text.len() - length);
    starts.find(|start| {
        text.get(*start..).is_some_and(|end| SCHEMES.iter().any(|scheme| scheme.starts_with(end)))
            && is_word_start(text, *start, before)
    })
}

/// Returns true if a word starts here: no URL starts within a word.
fn is_word_start(text: &str, at: usize, before: Option<u8>) -> bool {
    let before = match at.checked_sub(1) {
        Some(place) => text.as_bytes().get(place).copied(),
        None => before,
    };
    !before.is_some_and(|byte| byte.is_ascii_alphanumeric())
}

/// Returns the end of a URL with the punctuation after; `None` if the URL may continue. `open` counts the
/// open brackets within the URL.
pub(super) fn find_run_end(text: &str, open: &mut u32) -> Option<usize> {
    text.bytes().position(|byte| match byte {
        b'(' => {
            *open += 1;
            false
        }
        // A closing bracket without an opening bracket in the URL belongs to the text around.
        b')' if *open == 0 => true,
        b')' => {
            *open -= 1;
            false
        }
        b'"' | b'\'' | b'`' | b'<' | b'>' | b'[' | b']' | b'{' | b'}' | b'|' | b'\\' | b'^'
        | b'$' | b',' => true,
        other => !other.is_ascii_graphic(),
    })
}

/// Returns the URL of a run, without the sentence's punctuation.
pub(super) fn trim_closing_marks(run: &str) -> &str {
    let mut url = run;
    for _ in 0..MAX_CLOSING {
        match url.strip_suffix(CLOSING) {
            Some(shorter) => url = shorter,
            None => break,
        }
    }
    url
}

/// Returns the URLs of a text, with their positions.
pub fn find_urls(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut from = 0;
    std::iter::from_fn(move || {
        let start = find_url_start(text, from, None)?;
        let rest = text.get(start..)?;
        let end = find_run_end(rest, &mut 0).unwrap_or(rest.len());
        let url = trim_closing_marks(rest.get(..end)?);
        from = start + url.len();
        Some((start, url))
    })
}

/// Returns the number of a placeholder, registered or not.
pub(super) fn placeholder_number(url: &str) -> Option<usize> {
    let digits = url.strip_prefix(PLACEHOLDER_PREFIX)?;
    let is_short = (1..=MAX_DIGITS).contains(&digits.len());
    let is_plain = digits.bytes().all(|byte| byte.is_ascii_digit());
    let is_padded = digits.len() > 1 && digits.starts_with('0');
    (is_short && is_plain && !is_padded).then(|| digits.parse().ok()).flatten()
}
