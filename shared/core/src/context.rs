//! Fitting a conversation into a model's window: what is long is shortened in the middle, and the
//! newest is kept.

use crate::input::DroppedContext;
use crate::tokens::estimate_tokens;
use crate::urls::trim_partial_placeholder;

/// Tokens that a provider adds around a message or a call, rounded up.
const OVERHEAD: u64 = 8;

/// A part of a request that is kept or dropped as a whole: the instructions, a question with its
/// answer, a turn with its outcomes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestPart<'a> {
    /// Names it in an error: `system`, `question`, `t3`.
    pub label: &'a str,
    /// The texts whose tokens are counted, in the order in which they are sent.
    pub texts: Vec<&'a str>,
    /// Never dropped: the instructions, the question, the newest turn.
    pub pinned: bool,
}

/// What is kept of the pieces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FittedParts {
    /// For each piece, whether it is kept.
    pub kept: Vec<bool>,
    /// What was dropped, if anything.
    pub dropped: Option<DroppedContext>,
    /// The tokens of all pieces. An [estimate](estimate_tokens) where even their bytes fill no more than
    /// half of the limit: then nothing is counted, since tokens never exceed bytes.
    pub tokens: u64,
}

/// Even the pinned pieces do not fit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{current} tokens, limit {limit}; the largest part is {largest_part}")]
pub struct ContextTooLong {
    /// Tokens of the pinned pieces.
    pub current: u64,
    /// Tokens that would fit.
    pub limit: u64,
    /// The label of the largest pinned piece.
    pub largest_part: String,
}

/// Chooses what of `pieces` (oldest first) fits into `limit` tokens.
///
/// # Errors
/// [`ContextTooLong`] when the pinned pieces alone do not fit.
pub fn fit_parts(
    pieces: &[RequestPart<'_>],
    limit: u64,
    count: impl Fn(&str) -> u64,
) -> Result<FittedParts, ContextTooLong> {
    let bytes: u64 = pieces.iter().map(|piece| piece.total_weight(|text| text.len() as u64)).sum();
    if bytes <= limit / 2 {
        let kept = vec![true; pieces.len()];
        return Ok(FittedParts { kept, dropped: None, tokens: estimate_tokens(bytes) });
    }
    let tokens: Vec<u64> = pieces.iter().map(|piece| piece.total_weight(&count)).collect();
    let tokens_before = tokens.iter().sum();
    if tokens_before <= limit {
        let kept = vec![true; pieces.len()];
        return Ok(FittedParts { kept, dropped: None, tokens: tokens_before });
    }
    let pinned = || pieces.iter().zip(&tokens).filter(|(piece, _)| piece.pinned);
    let mut used: u64 = pinned().map(|(_, tokens)| tokens).sum();
    if used > limit {
        let largest = pinned().max_by_key(|(_, tokens)| **tokens);
        let which = largest.map_or_else(String::new, |(piece, _)| piece.label.to_owned());
        return Err(ContextTooLong { current: used, limit, largest_part: which });
    }
    let mut kept: Vec<bool> = pieces.iter().map(|piece| piece.pinned).collect();
    let mut dropped = 0;
    for ((piece, tokens), kept) in pieces.iter().zip(&tokens).zip(&mut kept).rev() {
        if piece.pinned {
            continue;
        }
        // Once something is left out, everything older is: a conversation has no holes.
        if dropped == 0 && used + tokens <= limit {
            used += tokens;
            *kept = true;
        } else {
            dropped += 1;
        }
    }
    let dropped =
        (dropped > 0).then_some(DroppedContext { parts: dropped, tokens_before, tokens: used });
    Ok(FittedParts { kept, dropped, tokens: tokens_before })
}

impl RequestPart<'_> {
    /// Its texts, weighed, with what a provider adds.
    pub fn total_weight(&self, weigh: impl Fn(&str) -> u64) -> u64 {
        self.texts.iter().map(|text| weigh(text) + OVERHEAD).sum()
    }
}

/// The largest size to which each of `sizes` that exceeds it can be cut so that all of them fit into
/// `budget`: the small ones stay whole, and the large ones get the same.
#[must_use]
pub fn find_cut_level(sizes: &[u64], budget: u64) -> u64 {
    let mut sizes = sizes.to_vec();
    sizes.sort_unstable();
    let (mut left, mut count) = (budget, sizes.len() as u64);
    for size in sizes {
        let share = left / count;
        if size > share {
            return share;
        }
        left -= size;
        count -= 1;
    }
    u64::MAX
}

/// What is shown of a text that is too long: its beginning, twice as much as of its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShortenedText<'a> {
    /// The beginning of the text, twice as long as the end.
    pub head: &'a str,
    /// The end of the text.
    pub tail: &'a str,
    /// Characters between the two that are left out.
    pub omitted: u64,
    /// Characters of the whole.
    pub characters: u64,
}

/// Shortens a text to at most `tokens` tokens; `None` if it has no more than that.
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
    let mut kept = scale_by(characters, tokens, whole);
    loop {
        let shortened = keep_ends(text, characters, kept);
        let used = count(shortened.head) + count(shortened.tail);
        if used <= tokens || kept == 0 {
            return Some(shortened);
        }
        // What is kept may be denser than what is left out.
        kept = scale_by(kept, tokens, used).min(kept * 7 / 8);
    }
}

/// The whole part of `number × part ÷ whole`, at most `u64::MAX`.
fn scale_by(number: u64, part: u64, whole: u64) -> u64 {
    let scaled = u128::from(number) * u128::from(part) / u128::from(whole.max(1));
    u64::try_from(scaled).unwrap_or(u64::MAX)
}

fn keep_ends(text: &str, characters: u64, kept: u64) -> ShortenedText<'_> {
    let tail = kept / 3;
    let byte_at = |character: u64| {
        let nth = usize::try_from(character).unwrap_or(usize::MAX);
        text.char_indices().nth(nth).map_or(text.len(), |(byte, _)| byte)
    };
    let cut = text.get(..byte_at(kept - tail)).unwrap_or_default();
    let head = trim_partial_placeholder(cut);
    let left_out = characters - kept + (cut.len() - head.len()) as u64;
    let tail = text.get(byte_at(characters - tail)..).unwrap_or_default();
    ShortenedText { head, tail, omitted: left_out, characters }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn piece(label: &'static str, text: &'static str, pinned: bool) -> RequestPart<'static> {
        RequestPart { label, texts: vec![text], pinned }
    }

    /// A tokenizer that counts four bytes as a token.
    fn quarter(text: &str) -> u64 {
        (text.len() as u64).div_ceil(4)
    }

    #[test]
    fn pieces_that_fit_by_their_bytes_are_not_counted() {
        let pieces = [piece("system", "be kind", true), piece("t1", "hello", false)];
        let fitted = fit_parts(&pieces, 100, |_| panic!("counted"));
        assert_eq!(fitted, Ok(FittedParts { kept: vec![true, true], dropped: None, tokens: 10 }));
        let fitted = fit_parts(&pieces, 30, quarter);
        assert_eq!(fitted, Ok(FittedParts { kept: vec![true, true], dropped: None, tokens: 20 }));
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

    #[test]
    fn the_oldest_goes_first_and_the_pinned_stay() {
        let long = "x".repeat(80).leak();
        let pieces = [
            piece("system", "rules", true),
            piece("t1", long, false),
            piece("question", "why?", true),
            piece("t2", long, false),
            piece("t3", long, true),
        ];
        let fitted = fit_parts(&pieces, 80, quarter).unwrap();
        assert_eq!(fitted.kept, [true, false, true, true, true]);
        assert_eq!(fitted.dropped.unwrap().parts, 1);
        assert!(fitted.dropped.unwrap().tokens <= 80);
    }

    #[test]
    fn the_error_of_a_request_that_cannot_fit_names_its_largest_part() {
        let long = "x".repeat(4_000).leak();
        let pieces = [piece("system", "rules", true), piece("t7", long, true)];
        let error = fit_parts(&pieces, 500, quarter).unwrap_err();
        assert_eq!((error.limit, error.largest_part.as_str()), (500, "t7"));
        assert!(error.current > 1_000);
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

        #[test]
        fn nothing_kept_exceeds_the_limit_and_there_are_no_holes(
            sizes in proptest::collection::vec((0usize..300, any::<bool>()), 1..20),
            limit in 1u64..400,
        ) {
            let texts: Vec<String> = sizes.iter().map(|(size, _)| "x".repeat(*size)).collect();
            let pieces: Vec<RequestPart<'_>> = sizes.iter().zip(&texts)
                .map(|((_, pinned), text)| RequestPart { label: "p", texts: vec![text], pinned: *pinned })
                .collect();
            if let Ok(FittedParts { kept, .. }) = fit_parts(&pieces, limit, quarter) {
                let used: u64 = pieces.iter().zip(&kept).filter(|(_, kept)| **kept)
                    .flat_map(|(piece, _)| &piece.texts).map(|text| quarter(text)).sum();
                prop_assert!(used <= limit);
                let loose: Vec<bool> = pieces.iter().zip(&kept)
                    .filter(|(piece, _)| !piece.pinned).map(|(_, kept)| *kept).collect();
                prop_assert!(loose.is_sorted(), "a hole in {loose:?}");
            }
        }
    }
}
