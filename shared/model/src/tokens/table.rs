//! The tables, as `build.rs` writes them: every token's length in one file, and the bytes of all of
//! them in another, both in the order of their ranks.

use std::sync::LazyLock;

use tiktoken_rs::{CoreBPE, O200K_BASE_PAT_STR, Rank};

/// The encoding of GPT-4 and GPT-3.5. There is one: a test makes it.
pub(super) static CL100K: LazyLock<Option<CoreBPE>> = LazyLock::new(|| {
    encoding(
        include_bytes!(concat!(env!("OUT_DIR"), "/cl100k.lengths")),
        include_bytes!(concat!(env!("OUT_DIR"), "/cl100k.tokens")),
        CL100K_WORDS,
    )
});

/// The encoding of everything since. There is one: a test makes it.
pub(super) static O200K: LazyLock<Option<CoreBPE>> = LazyLock::new(|| {
    encoding(
        include_bytes!(concat!(env!("OUT_DIR"), "/o200k.lengths")),
        include_bytes!(concat!(env!("OUT_DIR"), "/o200k.tokens")),
        O200K_BASE_PAT_STR,
    )
});

/// What a text is cut into before it is encoded: `cl100k_base` of OpenAI's tiktoken.
const CL100K_WORDS: &str = concat!(
    r"'(?i:[sdmt]|ll|ve|re)",
    r"|[^\r\n\p{L}\p{N}]?+\p{L}++",
    r"|\p{N}{1,3}+",
    r"| ?[^\s\p{L}\p{N}]++[\r\n]*+",
    r"|\s++$|\s*[\r\n]|\s+(?!\S)|\s",
);

/// Special tokens are left out: they count as the text they are.
fn encoding(lengths: &'static [u8], tokens: &'static [u8], words: &str) -> Option<CoreBPE> {
    let mut rest = tokens;
    let ranked = lengths.iter().zip(0..).map(|(length, rank): (_, Rank)| {
        let (token, behind) = rest.split_at_checked(usize::from(*length)).unwrap_or((rest, &[]));
        rest = behind;
        (token.to_vec(), rank)
    });
    CoreBPE::new(ranked.collect(), Default::default(), words).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_encode_as_the_originals_do() {
        let texts = [
            "It's 2026-11-21, and WE'LL see: North grew $5,000 (12.5 %).\r\n\r\n  \tx = f(y)/2;\n",
            "北部增长最快。   お誕生日おめでとう！ Ünïcödé ñandú — naïve café Ⅷ ½ 👩‍👩‍👧‍👦\n",
            "{\"command\":\"upload\",\"filename\":\"growth.md\",\"content\":\"# Growth\\n\\n| a | b |\"}",
            "antidisestablishmentarianism aaaaaaaaaaaaaaaaaaaaaaa !!!!????//// \u{0}\u{1}",
        ];
        for text in texts {
            let (ours, theirs) = (CL100K.as_ref().unwrap(), tiktoken_rs::cl100k_base_singleton());
            assert_eq!(ours.encode_ordinary(text), theirs.encode_ordinary(text), "{text}");
            let (ours, theirs) = (O200K.as_ref().unwrap(), tiktoken_rs::o200k_base_singleton());
            assert_eq!(ours.encode_ordinary(text), theirs.encode_ordinary(text), "{text}");
        }
    }
}
