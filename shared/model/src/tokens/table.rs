//! The token tables from `build.rs`: the single-byte tokens, and for every other token the pair of earlier
//! tokens.

use std::sync::LazyLock;

use tiktoken_rs::{CoreBPE, O200K_BASE_PAT_STR, Rank};

/// The encoding of GPT-4 and GPT-3.5. Always present: a test builds the table.
pub(super) static CL100K: LazyLock<Option<CoreBPE>> = LazyLock::new(|| {
    build_encoding(include_bytes!(concat!(env!("OUT_DIR"), "/cl100k.pairs")), CL100K_WORDS)
});

/// The encoding of all later models. Always present: a test builds the table.
pub(super) static O200K: LazyLock<Option<CoreBPE>> = LazyLock::new(|| {
    build_encoding(include_bytes!(concat!(env!("OUT_DIR"), "/o200k.pairs")), O200K_BASE_PAT_STR)
});

/// The pattern for splitting a text before encoding: `cl100k_base` of OpenAI's tiktoken.
const CL100K_WORDS: &str = concat!(
    r"'(?i:[sdmt]|ll|ve|re)",
    r"|[^\r\n\p{L}\p{N}]?+\p{L}++",
    r"|\p{N}{1,3}+",
    r"| ?[^\s\p{L}\p{N}]++[\r\n]*+",
    r"|\s++$|\s*[\r\n]|\s+(?!\S)|\s",
);

/// Builds an encoding without special tokens, so these count as plain text.
fn build_encoding(table: &[u8], words: &str) -> Option<CoreBPE> {
    let ranks = 0..Rank::MAX;
    let tokens = decode_tokens(table)?.into_iter().zip(ranks);
    CoreBPE::new(tokens.collect(), Default::default(), words).ok()
}

/// Decodes every token, in the order of ranks.
fn decode_tokens(table: &[u8]) -> Option<Vec<Vec<u8>>> {
    let (bytes, pairs) = table.split_at_checked(256)?;
    let mut columns = pairs.chunks_exact((pairs.len() / 6).max(1));
    let mut ranks = || {
        let low = columns.next()?;
        let middle = columns.next()?;
        let high = columns.next()?;
        let digits = low.iter().zip(middle).zip(high);
        Some(digits.map(|((low, middle), high)| u32::from_le_bytes([*low, *middle, *high, 0])))
    };
    let firsts = ranks()?;
    let seconds = ranks()?;
    let mut tokens: Vec<Vec<u8>> = bytes.iter().map(|byte| vec![*byte]).collect();
    for (first, second) in firsts.zip(seconds) {
        let token = |rank: u32| tokens.get(usize::try_from(rank).ok()?);
        let token = [token(first)?.as_slice(), token(second)?].concat();
        tokens.push(token);
    }
    Some(tokens)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_token_is_the_originals() {
        for (table, theirs) in [
            (
                include_bytes!(concat!(env!("OUT_DIR"), "/cl100k.pairs")).as_slice(),
                tiktoken_rs::cl100k_base_singleton(),
            ),
            (
                include_bytes!(concat!(env!("OUT_DIR"), "/o200k.pairs")).as_slice(),
                tiktoken_rs::o200k_base_singleton(),
            ),
        ] {
            let tokens = decode_tokens(table).unwrap();
            assert!(tokens.len() > 100_000);
            for (token, rank) in tokens.iter().zip(0..) {
                assert_eq!(*token, theirs.decode_bytes(&[rank]).unwrap(), "{rank}");
            }
            assert!(theirs.decode_bytes(&[Rank::try_from(tokens.len()).unwrap()]).is_err());
        }
    }

    #[test]
    fn both_encode_as_the_originals_do() {
        let texts = [
            "It's 2026-11-21, and WE'LL see: North grew $5,000 (12.5 %).\r\n\r\n  \tx = f(y)/2;\n",
            "北部增长最快。   お誕生日おめでとう！ Ünïcödé ñandú — naïve café Ⅷ ½ 👩‍👩‍👧‍👦\n",
            "{\"command\":\"upload\",\"filename\":\"growth.md\",\"content\":\"# Growth\\n\\n| a | b |\"}",
            "antidisestablishmentarianism aaaaaaaaaaaaaaaaaaaaaaa !!!!????//// \u{0}\u{1}",
        ];
        for text in texts {
            let ours = CL100K.as_ref().unwrap();
            let theirs = tiktoken_rs::cl100k_base_singleton();
            assert_eq!(ours.encode_ordinary(text), theirs.encode_ordinary(text), "{text}");
            let ours = O200K.as_ref().unwrap();
            let theirs = tiktoken_rs::o200k_base_singleton();
            assert_eq!(ours.encode_ordinary(text), theirs.encode_ordinary(text), "{text}");
        }
    }
}
