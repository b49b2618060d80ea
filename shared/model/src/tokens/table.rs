//! The token table from `build.rs`: the single-byte tokens, and for every other token the pair of earlier
//! tokens.
//!
//! An encoding of tiktoken-rs takes 30 MB of memory, because it keeps each token three times for what we do not
//! need: decoding, and unstable ends.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::hash::BuildHasher as _;
use std::sync::LazyLock;

use fancy_regex::Regex;
use hashbrown::{DefaultHashBuilder, HashTable};

/// The encoding of OpenAI's models since GPT-4o. Always present: a test builds the table.
pub(super) static O200K: LazyLock<Option<TokenTable>> = LazyLock::new(|| {
    let words = include_str!(concat!(env!("OUT_DIR"), "/o200k.words"));
    TokenTable::read(include_bytes!(concat!(env!("OUT_DIR"), "/o200k.pairs")), words)
});

/// The position of a token in its encoding. Tokens of lower ranks form first.
type Rank = u32;

/// An encoding without special tokens, so these count as plain text.
pub(super) struct TokenTable {
    /// The bytes of all tokens, in the order of ranks.
    bytes: Vec<u8>,
    /// The end of each token in `bytes`.
    ends: Vec<u32>,
    /// The ranks by the hashes of their tokens.
    ranks: HashTable<Rank>,
    hasher: DefaultHashBuilder,
    words: Regex,
}

impl TokenTable {
    /// Reads the table of `build.rs`.
    fn read(table: &[u8], words: &str) -> Option<Self> {
        let (single, pairs) = table.split_at_checked(256)?;
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
        let mut tokens = Self {
            bytes: Vec::new(),
            ends: Vec::new(),
            ranks: HashTable::with_capacity(256 + firsts.len()),
            hasher: DefaultHashBuilder::default(),
            words: Regex::new(words).ok()?,
        };
        for byte in single {
            tokens.add_token(&[*byte])?;
        }
        for (first, second) in firsts.zip(seconds) {
            let token = [tokens.token(first)?, tokens.token(second)?].concat();
            tokens.add_token(&token)?;
        }
        tokens.bytes.shrink_to_fit();
        tokens.ends.shrink_to_fit();
        Some(tokens)
    }

    fn add_token(&mut self, token: &[u8]) -> Option<()> {
        let rank = Rank::try_from(self.ends.len()).ok()?;
        self.bytes.extend_from_slice(token);
        self.ends.push(u32::try_from(self.bytes.len()).ok()?);
        let hash = self.hasher.hash_one(token);
        // There is space for all tokens, so none is hashed again.
        self.ranks.insert_unique(hash, rank, |_| 0);
        Some(())
    }

    fn token(&self, rank: Rank) -> Option<&[u8]> {
        let rank = rank as usize;
        let start = rank.checked_sub(1).map_or(Some(0), |before| self.ends.get(before).copied())?;
        self.bytes.get(start as usize..*self.ends.get(rank)? as usize)
    }

    fn rank(&self, token: &[u8]) -> Option<Rank> {
        let is_token = |rank: &Rank| self.token(*rank) == Some(token);
        self.ranks.find(self.hasher.hash_one(token), is_token).copied()
    }

    /// Returns the number of tokens of a text.
    pub(super) fn count(&self, text: &str) -> usize {
        let mut count = 0;
        let mut end = 0;
        // The pattern may give up; tokens never exceed bytes.
        for word in self.words.find_iter(text).map_while(Result::ok) {
            end = word.end();
            count += self.count_word(word.as_str().as_bytes());
        }
        count + text.len() - end
    }

    fn count_word(&self, word: &[u8]) -> usize {
        if self.rank(word).is_some() { 1 } else { WordParts::of(self, word).merge_all() }
    }
}

/// The parts of a word, each a token. At first each byte is a part.
struct WordParts<'a> {
    table: &'a TokenTable,
    word: &'a [u8],
    /// The end of the part that starts at an index; 0 within a part.
    ends: Vec<usize>,
    /// The start of the part that ends at an index.
    starts: Vec<usize>,
    pairs: BinaryHeap<Reverse<PartPair>>,
}

/// Two parts that can merge, those of the lowest rank and of the earliest start first.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct PartPair {
    rank: Rank,
    start: usize,
    middle: usize,
    end: usize,
}

impl<'a> WordParts<'a> {
    fn of(table: &'a TokenTable, word: &'a [u8]) -> Self {
        let ends = (1..=word.len()).collect();
        let starts = (0..=word.len()).map(|end| end.saturating_sub(1)).collect();
        let mut parts = Self { table, word, ends, starts, pairs: BinaryHeap::new() };
        (1..word.len()).for_each(|middle| parts.add_pair(middle));
        parts
    }

    /// Adds the pair of the parts before and after this index, if they can merge.
    fn add_pair(&mut self, middle: usize) {
        let Some(start) = self.starts.get(middle).copied() else { return };
        let Some(end) = self.ends.get(middle).copied() else { return };
        let rank = self.word.get(start..end).and_then(|pair| self.table.rank(pair));
        self.pairs.extend(rank.map(|rank| Reverse(PartPair { rank, start, middle, end })));
    }

    /// Merges pairs until none can merge. Returns the number of parts.
    fn merge_all(mut self) -> usize {
        let mut count = self.word.len();
        while let Some(Reverse(PartPair { start, middle, end, .. })) = self.pairs.pop() {
            let is_whole =
                self.ends.get(start) == Some(&middle) && self.ends.get(middle) == Some(&end);
            if is_whole && self.merge_pair(start, middle, end).is_some() {
                count -= 1;
            }
        }
        count
    }

    fn merge_pair(&mut self, start: usize, middle: usize, end: usize) -> Option<()> {
        *self.ends.get_mut(start)? = end;
        *self.ends.get_mut(middle)? = 0;
        *self.starts.get_mut(end)? = start;
        self.add_pair(end);
        if start > 0 {
            self.add_pair(start);
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use tiktoken_rs::o200k_base_singleton;

    use super::*;

    #[test]
    fn every_token_is_the_originals() {
        let (table, theirs) = (O200K.as_ref().unwrap(), o200k_base_singleton());
        assert!(table.ends.len() > 100_000);
        for rank in 0..u32::try_from(table.ends.len()).unwrap() {
            let token = theirs.decode_bytes(&[rank]).unwrap();
            assert_eq!(table.token(rank), Some(&*token), "{rank}");
            assert_eq!(table.rank(&token), Some(rank));
        }
        assert!(theirs.decode_bytes(&[Rank::try_from(table.ends.len()).unwrap()]).is_err());
    }

    #[test]
    fn texts_are_counted_as_the_original_counts_them() {
        let (table, theirs) = (O200K.as_ref().unwrap(), o200k_base_singleton());
        let texts = [
            "It's 2026-11-21, and WE'LL see: North grew $5,000 (12.5 %).\r\n\r\n  \tx = f(y)/2;\n",
            "北部增长最快。   お誕生日おめでとう！ Ünïcödé ñandú — naïve café Ⅷ ½ 👩‍👩‍👧‍👦\n",
            "{\"command\":\"upload\",\"filename\":\"growth.md\",\"content\":\"# Growth\\n\\n| a | b |\"}",
            "antidisestablishmentarianism aaaaaaaaaaaaaaaaaaaaaaa !!!!????//// \u{0}\u{1}",
        ];
        let count_both = |text: &str| {
            assert_eq!(table.count(text), theirs.count_ordinary(text), "{text}");
        };
        texts.iter().for_each(|text| count_both(text));
        // Words of random letters merge in all orders, also those that tiktoken-rs counts in another way.
        let mut random = fastrand::Rng::with_seed(7);
        for length in [5, 30, 99, 100, 101, 400].repeat(50) {
            count_both(&(0..length).map(|_| random.lowercase()).collect::<String>());
        }
        let pieces = [
            "a",
            "B",
            "é",
            "北",
            "7",
            " ",
            "  ",
            "\t",
            "\n",
            "\r\n",
            "'s",
            "'LL",
            ".",
            "/",
            "👩‍👧",
            "\u{301}",
        ];
        for length in [2, 5, 30, 100].repeat(100) {
            count_both(&(0..length).filter_map(|_| random.choice(pieces)).collect::<String>());
        }
    }
}
