//! Fitting a conversation into a model's window: the newest is kept, whole pieces only.

use crate::input::Dropped;

/// Tokens that a provider adds around a message or a call, rounded up.
const OVERHEAD: u64 = 8;

/// A part of a request that is kept or dropped as a whole: the instructions, a question with its
/// answer, a turn with its outcomes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece<'a> {
    /// Names it in an error: `system`, `question`, `t3`.
    pub label: &'a str,
    /// Its texts.
    pub texts: Vec<&'a str>,
    /// Never dropped: the instructions, the question, the newest turn.
    pub pinned: bool,
}

/// What is kept of the pieces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fitted {
    /// For each piece, whether it is kept.
    pub kept: Vec<bool>,
    /// What was dropped, if anything.
    pub dropped: Option<Dropped>,
}

/// Even the pinned pieces do not fit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{current} tokens, limit {limit}; the largest part is {which}")]
pub struct TooLong {
    /// Tokens of the pinned pieces.
    pub current: u64,
    /// Tokens that would fit.
    pub limit: u64,
    /// The label of the largest pinned piece.
    pub which: String,
}

/// Chooses what of `pieces` (oldest first) fits into `limit` tokens.
///
/// Tokens never exceed bytes, so `count` is asked only when the bytes exceed the limit.
///
/// # Errors
/// [`TooLong`] when the pinned pieces alone do not fit.
pub fn fit(
    pieces: &[Piece<'_>],
    limit: u64,
    count: impl Fn(&str) -> u64,
) -> Result<Fitted, TooLong> {
    let weigh = |piece: &Piece<'_>, weight: &dyn Fn(&str) -> u64| -> u64 {
        piece.texts.iter().map(|text| weight(text) + OVERHEAD).sum()
    };
    let bytes: u64 = pieces.iter().map(|piece| weigh(piece, &|text| text.len() as u64)).sum();
    if bytes <= limit {
        return Ok(Fitted { kept: vec![true; pieces.len()], dropped: None });
    }
    let tokens: Vec<u64> = pieces.iter().map(|piece| weigh(piece, &count)).collect();
    let pinned = || pieces.iter().zip(&tokens).filter(|(piece, _)| piece.pinned);
    let mut used: u64 = pinned().map(|(_, tokens)| tokens).sum();
    if used > limit {
        let largest = pinned().max_by_key(|(_, tokens)| **tokens);
        let which = largest.map_or_else(String::new, |(piece, _)| piece.label.to_owned());
        return Err(TooLong { current: used, limit, which });
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
    let tokens_before = tokens.iter().sum();
    let dropped = (dropped > 0).then_some(Dropped { pieces: dropped, tokens_before, tokens: used });
    Ok(Fitted { kept, dropped })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn piece(label: &'static str, text: &'static str, pinned: bool) -> Piece<'static> {
        Piece { label, texts: vec![text], pinned }
    }

    /// A counter for which four bytes are a token.
    fn quarter(text: &str) -> u64 {
        (text.len() as u64).div_ceil(4)
    }

    #[test]
    fn what_fits_by_its_bytes_is_not_counted() {
        let pieces = [piece("system", "be kind", true), piece("t1", "hello", false)];
        let fitted = fit(&pieces, 100, |_| panic!("counted"));
        assert_eq!(fitted, Ok(Fitted { kept: vec![true, true], dropped: None }));
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
        let fitted = fit(&pieces, 80, quarter).unwrap();
        assert_eq!(fitted.kept, [true, false, true, true, true]);
        assert_eq!(fitted.dropped.unwrap().pieces, 1);
        assert!(fitted.dropped.unwrap().tokens <= 80);
    }

    #[test]
    fn what_cannot_fit_names_the_largest_part() {
        let long = "x".repeat(4_000).leak();
        let pieces = [piece("system", "rules", true), piece("t7", long, true)];
        let error = fit(&pieces, 500, quarter).unwrap_err();
        assert_eq!((error.limit, error.which.as_str()), (500, "t7"));
        assert!(error.current > 1_000);
    }

    proptest! {
        #[test]
        fn nothing_kept_exceeds_the_limit_and_there_are_no_holes(
            sizes in proptest::collection::vec((0usize..300, any::<bool>()), 1..20),
            limit in 1u64..400,
        ) {
            let texts: Vec<String> = sizes.iter().map(|(size, _)| "x".repeat(*size)).collect();
            let pieces: Vec<Piece<'_>> = sizes.iter().zip(&texts)
                .map(|((_, pinned), text)| Piece { label: "p", texts: vec![text], pinned: *pinned })
                .collect();
            if let Ok(Fitted { kept, .. }) = fit(&pieces, limit, quarter) {
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
