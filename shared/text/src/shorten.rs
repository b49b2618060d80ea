//! Shortening texts to a number of tokens: by their ends, each as much as there is room for.

use crate::urls::trim_partial_placeholder;

/// Returns the largest limit for each of `sizes` within a total of `budget`: small sizes stay whole, and
/// larger sizes are all cut to the limit.
#[must_use]
pub fn find_cut_level(sizes: &[u64], budget: u64) -> u64 {
    let mut sizes = sizes.to_vec();
    sizes.sort_unstable();
    let mut remaining = budget;
    let mut count = sizes.len() as u64;
    for size in sizes {
        let share = remaining / count;
        if size > share {
            return share;
        }
        remaining -= size;
        count -= 1;
    }
    u64::MAX
}

/// The visible part of a long text: the start and the end, in a ratio of two to one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShortenedText<'a> {
    /// The beginning of the text, twice as long as the end.
    pub head: &'a str,
    /// The end of the text.
    pub tail: &'a str,
    /// Number of omitted characters between start and end.
    pub omitted: u64,
    /// Characters of the whole.
    pub characters: u64,
}

/// Shortens a text to at most `tokens` tokens; `None` if the text already fits.
pub fn shorten_text(
    text: &str,
    tokens: u64,
    count: impl Fn(&str) -> u64,
) -> Option<ShortenedText<'_>> {
    if text.len() as u64 <= tokens {
        return None;
    }
    let whole = count(text);
    if whole <= tokens {
        return None;
    }
    let characters = text.chars().count() as u64;
    let mut visible = scale_by(characters, tokens, whole);
    loop {
        let candidate = keep_ends(text, characters, visible);
        let used_tokens = count(candidate.head) + count(candidate.tail);
        if used_tokens <= tokens || visible == 0 {
            return Some(candidate);
        }
        // The visible part may have more tokens per character than the rest.
        visible = scale_by(visible, tokens, used_tokens).min(visible * 7 / 8);
    }
}

/// Returns `number × part ÷ whole`, rounded down, at most `u64::MAX`.
fn scale_by(number: u64, part: u64, whole: u64) -> u64 {
    let quotient = u128::from(number) * u128::from(part) / u128::from(whole.max(1));
    u64::try_from(quotient).unwrap_or(u64::MAX)
}

fn keep_ends(text: &str, characters: u64, visible: u64) -> ShortenedText<'_> {
    let tail = visible / 3;
    let byte_at = |character: u64| {
        let nth = usize::try_from(character).unwrap_or(usize::MAX);
        text.char_indices().nth(nth).map_or(text.len(), |(byte, _)| byte)
    };
    let cut = text.get(..byte_at(visible - tail)).unwrap_or_default();
    let head = trim_partial_placeholder(cut);
    let left_out = characters - visible + (cut.len() - head.len()) as u64;
    let tail = text.get(byte_at(characters - tail)..).unwrap_or_default();
    ShortenedText { head, tail, omitted: left_out, characters }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A tokenizer that counts four bytes as a token.
    fn quarter(text: &str) -> u64 {
        (text.len() as u64).div_ceil(4)
    }

    #[test]
    fn small_sizes_stay_whole_and_large_ones_share_what_is_left() {
        assert_eq!(find_cut_level(&[10, 20, 30], 60), u64::MAX);
        assert_eq!(find_cut_level(&[1_000, 10, 1_000], 110), 50);
        assert_eq!(find_cut_level(&[7, 7, 7], 0), 0);
        assert_eq!(find_cut_level(&[], 5), u64::MAX);
    }

    #[test]
    fn a_long_text_is_shown_by_its_ends() {
        let text = format!("{}{}", "ab界".repeat(100), "xyz".repeat(100));
        let short = shorten_text(&text, 60, quarter).unwrap();
        assert!(text.starts_with(short.head) && text.ends_with(short.tail));
        let shown = (short.head.chars().count() + short.tail.chars().count()) as u64;
        assert_eq!((shown + short.omitted, short.characters), (600, 600));
        assert!(short.head.len() > short.tail.len() && shown > 150, "{shown}");
        assert_eq!(shorten_text(&text, 200, quarter), None);
        assert_eq!(shorten_text("short", 5, |_| panic!("counted")), None);
    }

    proptest! {
        #[test]
        fn sizes_that_were_cut_to_their_level_fit(
            sizes in proptest::collection::vec(0u64..1_000, 0..20),
            budget in 0u64..5_000,
        ) {
            let level = find_cut_level(&sizes, budget);
            let used: u64 = sizes.iter().map(|size| (*size).min(level)).sum();
            prop_assert!(used <= budget);
            // A little more each would not fit.
            let more: u64 = sizes.iter().map(|size| (*size).min(level.saturating_add(1))).sum();
            prop_assert!(level == u64::MAX || more > budget);
        }

        #[test]
        fn a_shortened_text_has_no_more_tokens_than_it_may(
            text in "[a-z 界é😀]{0,400}", tokens in 0u64..120,
        ) {
            // Half of it is denser than the other.
            let dense = |text: &str| text.chars().map(|c| c.len_utf8() as u64).sum::<u64>();
            match shorten_text(&text, tokens, dense) {
                None => prop_assert!(dense(&text) <= tokens),
                Some(short) => {
                    prop_assert!(dense(short.head) + dense(short.tail) <= tokens);
                    prop_assert!(text.starts_with(short.head) && text.ends_with(short.tail));
                }
            }
        }
    }
}
