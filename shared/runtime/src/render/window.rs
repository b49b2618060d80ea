//! Fitting a conversation to a model's window: the newest parts are kept.

use djinn_core::input::DroppedContext;
use djinn_text::tokens::estimate_tokens;

/// The maximum tokens a provider adds around a message or a call.
const OVERHEAD: u64 = 8;

/// The limits of a model call's request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestBounds {
    /// The maximum tokens of the request.
    pub tokens: u64,
    /// True if the model accepts images and may receive them.
    pub sees_images: bool,
}

/// A part of a request, kept or dropped as a whole: the instructions, an exchange, a turn with its results.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RequestPart<'a> {
    /// The name of the part in an error: `system`, `question`, `t3`.
    pub(crate) label: &'a str,
    /// The texts for counting tokens, in the order of sending.
    pub(crate) texts: Vec<&'a str>,
    /// The tokens of images in the part.
    pub(crate) image_tokens: u64,
    /// True if never dropped: the instructions, the question, the newest turn.
    pub(crate) pinned: bool,
}

/// The result of fitting the parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FittedParts {
    /// For each part, true if kept.
    pub(crate) kept: Vec<bool>,
    /// The dropped parts, if any.
    pub(crate) dropped: Option<DroppedContext>,
    /// The tokens of all parts. An [estimate](estimate_tokens) if the bytes are at most half of the limit:
    /// tokens never exceed bytes, so counting is unnecessary.
    pub(crate) tokens: u64,
}

/// Even the pinned parts do not fit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{current} tokens, limit {limit}; the largest part is {largest_part}")]
pub struct ContextTooLong {
    /// The tokens of the pinned parts.
    pub current: u64,
    /// The maximum tokens of the request.
    pub limit: u64,
    /// The label of the largest pinned part.
    pub largest_part: String,
}

/// Selects the parts that fit `limit` tokens. `pieces` are ordered from oldest to newest.
///
/// # Errors
/// Returns [`ContextTooLong`] if the pinned parts alone do not fit.
pub(crate) fn fit_parts(
    pieces: &[RequestPart<'_>],
    limit: u64,
    count: impl Fn(&str) -> u64,
) -> Result<FittedParts, ContextTooLong> {
    let bytes: u64 = pieces.iter().map(|piece| piece.total_weight(|text| text.len() as u64)).sum();
    if bytes <= limit / 2 {
        let keep_flags = vec![true; pieces.len()];
        let images: u64 = pieces.iter().map(|piece| piece.image_tokens).sum();
        let tokens = estimate_tokens(bytes.saturating_sub(images)).saturating_add(images);
        return Ok(FittedParts { kept: keep_flags, dropped: None, tokens });
    }
    let tokens: Vec<u64> = pieces.iter().map(|piece| piece.total_weight(&count)).collect();
    let tokens_before = tokens.iter().sum();
    if tokens_before <= limit {
        let keep_flags = vec![true; pieces.len()];
        return Ok(FittedParts { kept: keep_flags, dropped: None, tokens: tokens_before });
    }
    let pinned_parts = || pieces.iter().zip(&tokens).filter(|(piece, _)| piece.pinned);
    let mut used_tokens: u64 = pinned_parts().map(|(_, tokens)| tokens).sum();
    if used_tokens > limit {
        let largest = pinned_parts().max_by_key(|(_, tokens)| **tokens);
        let which = largest.map_or_else(String::new, |(piece, _)| piece.label.to_owned());
        return Err(ContextTooLong { current: used_tokens, limit, largest_part: which });
    }
    let mut keep_flags: Vec<bool> = pieces.iter().map(|piece| piece.pinned).collect();
    let mut dropped_count = 0;
    for ((piece, tokens), is_kept) in pieces.iter().zip(&tokens).zip(&mut keep_flags).rev() {
        if piece.pinned {
            continue;
        }
        // After the first dropped part, drop all older parts: a conversation has no gaps.
        if dropped_count == 0 && used_tokens + tokens <= limit {
            used_tokens += tokens;
            *is_kept = true;
        } else {
            dropped_count += 1;
        }
    }
    let dropped = (dropped_count > 0).then_some(DroppedContext {
        parts: dropped_count,
        tokens_before,
        tokens: used_tokens,
    });
    Ok(FittedParts { kept: keep_flags, dropped, tokens: tokens_before })
}

impl RequestPart<'_> {
    /// Returns the weight of the texts, the provider's overhead and the images.
    pub(crate) fn total_weight(&self, weigh: impl Fn(&str) -> u64) -> u64 {
        let texts: u64 = self.texts.iter().map(|text| weigh(text) + OVERHEAD).sum();
        texts.saturating_add(self.image_tokens)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn piece(label: &'static str, text: &'static str, pinned: bool) -> RequestPart<'static> {
        RequestPart { label, texts: vec![text], image_tokens: 0, pinned }
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
    fn images_take_their_room() {
        let image = RequestPart { image_tokens: 60, ..piece("t1", "an image", false) };
        let pieces = [piece("system", "be kind", true), image, piece("question", "why?", true)];
        let fitted = fit_parts(&pieces, 400, |_| panic!("counted")).unwrap();
        assert_eq!(fitted.tokens, 75);
        assert!(fit_parts(&pieces, 100, quarter).unwrap().dropped.is_none());
        assert_eq!(fit_parts(&pieces, 80, quarter).unwrap().kept, [true, false, true]);
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
        fn nothing_kept_exceeds_the_limit_and_there_are_no_holes(
            sizes in proptest::collection::vec((0usize..300, any::<bool>()), 1..20),
            limit in 1u64..400,
        ) {
            let texts: Vec<String> = sizes.iter().map(|(size, _)| "x".repeat(*size)).collect();
            let pieces: Vec<RequestPart<'_>> = sizes.iter().zip(&texts)
                .map(|((_, pinned), text)| RequestPart { label: "p", texts: vec![text], image_tokens: 0, pinned: *pinned })
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
