//! Random changes of an input: of a bit, a byte, a number or a part, with a word or a part of another input.

use std::collections::VecDeque;

use fastrand::Rng;

use super::corpus::FuzzInput;

/// The maximum number of changes to an input at once.
const MOST_CHANGES: usize = 6;
/// The maximum number of changed inputs kept for further changes.
const REMEMBERED: usize = 200;
/// One of this many inputs is a further change of a changed input.
const ONE_OF: usize = 3;

/// Bytes with a meaning for parsers.
const SIGNS: &[u8] = b"<>&\"'=/\\:;@#?%[]{}(),.\n\r\t \0!-_+*`0aA\x7f\x80\xff\xc3\xe2\xf0";

/// A source of random changes; the same seed gives the same changes.
pub(super) struct Mutator {
    rng: Rng,
    words: &'static [&'static str],
    max_bytes: usize,
    remembered: VecDeque<FuzzInput>,
}

impl Mutator {
    pub(super) fn new(seed: u64, words: &'static [&'static str], max_bytes: usize) -> Self {
        Self { rng: Rng::with_seed(seed), words, max_bytes, remembered: VecDeque::new() }
    }

    /// Returns a changed copy of one of the inputs, or of an input changed before.
    pub(super) fn change_one(&mut self, corpus: &[FuzzInput]) -> FuzzInput {
        let is_again = !self.remembered.is_empty() && self.rng.usize(..ONE_OF) == 0;
        let chosen = if is_again {
            self.remembered.get(self.rng.usize(..self.remembered.len()))
        } else {
            corpus.get(self.rng.usize(..corpus.len().max(1)))
        };
        let Some(FuzzInput { name, mut bytes }) = chosen.cloned() else {
            return FuzzInput { name: String::new(), bytes: Vec::new() };
        };
        for _ in 0..self.rng.usize(1..=MOST_CHANGES) {
            let other = corpus.get(self.rng.usize(..corpus.len().max(1)));
            self.change(&mut bytes, other.map_or(&[], |other| &other.bytes));
            bytes.truncate(self.max_bytes);
        }
        let mutant = FuzzInput { name, bytes };
        if self.remembered.len() >= REMEMBERED {
            self.remembered.pop_front();
        }
        self.remembered.push_back(mutant.clone());
        mutant
    }

    fn change(&mut self, bytes: &mut Vec<u8>, other: &[u8]) {
        let at = self.rng.usize(..=bytes.len());
        match self.rng.usize(..10) {
            0 => self.change_byte(bytes, at, |byte, rng| byte ^ (1 << rng.u8(..8))),
            1 => self.change_byte(bytes, at, |_, rng| rng.u8(..)),
            2 => self.change_byte(bytes, at, |_, rng| {
                SIGNS.get(rng.usize(..SIGNS.len())).copied().unwrap_or_default()
            }),
            3 | 4 => {
                let word = self.words.get(self.rng.usize(..self.words.len().max(1)));
                insert(bytes, at, word.map_or(b"", |word| word.as_bytes()));
            }
            5 => drop(bytes.drain(self.range_from(at, bytes.len()))),
            6 => {
                let part = bytes.get(self.range_from(at, bytes.len())).unwrap_or_default();
                let times = 1 << self.rng.usize(..5);
                let repetition = part.repeat(times.min(1 + self.max_bytes / part.len().max(1)));
                insert(bytes, at, &repetition);
            }
            7 => {
                let start = self.rng.usize(..=other.len());
                let part = other.get(self.range_from(start, other.len())).unwrap_or_default();
                insert(bytes, at, part);
            }
            8 => {
                let start = self.rng.usize(..=other.len());
                bytes.truncate(at);
                bytes.extend_from_slice(other.get(start..).unwrap_or_default());
            }
            _ => bytes.truncate(at),
        }
    }

    fn change_byte(&mut self, bytes: &mut [u8], at: usize, change: impl Fn(u8, &mut Rng) -> u8) {
        if let Some(byte) = bytes.get_mut(at) {
            *byte = change(*byte, &mut self.rng);
        }
    }

    /// Returns a range from `start`, usually short.
    fn range_from(&mut self, start: usize, end: usize) -> std::ops::Range<usize> {
        let rest = end.saturating_sub(start);
        let most = if self.rng.bool() { rest.min(16) } else { rest };
        start..start + self.rng.usize(..=most)
    }
}

fn insert(bytes: &mut Vec<u8>, at: usize, part: &[u8]) {
    bytes.splice(at..at, part.iter().copied());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_makes_the_same_changes_and_none_is_too_long() {
        let input = |bytes: &[u8]| FuzzInput { name: "a-b".to_owned(), bytes: bytes.to_vec() };
        let corpus = [input(b"<p>one</p>"), input(b""), input(&[b'x'; 90])];
        let change = |seed| {
            let mut mutator = Mutator::new(seed, &["<b>"], 100);
            (0..2_000).map(|_| mutator.change_one(&corpus)).collect::<Vec<_>>()
        };
        let changed = change(3);
        assert_eq!(changed, change(3));
        assert_ne!(changed, change(4));
        assert!(changed.iter().all(|input| input.bytes.len() <= 100 && input.name == "a-b"));
        let with_word = |input: &&FuzzInput| input.bytes.windows(3).any(|three| three == b"<b>");
        assert!(changed.iter().filter(with_word).count() > 100);
        let mut kinds: Vec<_> = changed.iter().map(|input| &input.bytes).collect();
        kinds.sort();
        kinds.dedup();
        assert!(kinds.len() > 1_300, "{}", kinds.len());
    }
}
