//! Tokens of a text, counted with OpenAI's own table.

mod table;

use std::collections::HashMap;
use std::mem;
use std::sync::{Mutex, PoisonError};

use sha2::{Digest, Sha256};
use table::O200K;

/// Bytes counted at once, so that a word without breaks takes little memory. A piece costs at most one extra token.
const PIECE_LEN: usize = 4 * 1024;

/// Minimum bytes of a cached text: counting a shorter text is faster than a cache look-up.
const MIN_CACHED_LEN: usize = 64;

/// Minimum number of cached counts, at most twice as many. An entry takes about 100 bytes.
const CACHE_LEN: usize = 10_000;

/// A token counter with a cache: a conversation is counted anew for every request, and only its end is new.
pub(crate) struct TokenCounter {
    cache: Mutex<CountCache>,
    tokenize: fn(&str) -> u64,
}

/// The hash of the text.
type CacheKey = [u8; 32];

/// A cache of counts in two generations. A used count moves to the newer generation; the older generation is
/// dropped when the newer is full.
#[derive(Default)]
struct CountCache {
    recent: HashMap<CacheKey, u64>,
    old: HashMap<CacheKey, u64>,
}

impl Default for TokenCounter {
    fn default() -> Self {
        Self { cache: Mutex::default(), tokenize: count_tokens }
    }
}

impl TokenCounter {
    /// Returns the number of tokens. Exact for OpenAI's models since GPT-4o except for a token per 4 KB piece;
    /// approximate for all others. Special tokens count as plain text. The table is built on the first call.
    pub(crate) fn count(&self, text: &str) -> u64 {
        if text.len() < MIN_CACHED_LEN {
            return (self.tokenize)(text);
        }
        let key = Sha256::digest(text.as_bytes()).into();
        let lock_cache = || self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        let cached_count = lock_cache().get_count(&key);
        // Counted without the lock, so that others can count at the same time.
        cached_count.unwrap_or_else(|| {
            let tokens = (self.tokenize)(text);
            lock_cache().insert_count(key, tokens);
            tokens
        })
    }
}

impl CountCache {
    fn get_count(&mut self, key: &CacheKey) -> Option<u64> {
        if let Some(tokens) = self.recent.get(key) {
            return Some(*tokens);
        }
        let tokens = self.old.remove(key)?;
        self.insert_count(*key, tokens);
        Some(tokens)
    }

    fn insert_count(&mut self, key: CacheKey, tokens: u64) {
        if self.recent.len() >= CACHE_LEN {
            self.old = mem::take(&mut self.recent);
        }
        self.recent.insert(key, tokens);
    }
}

fn count_tokens(text: &str) -> u64 {
    let table = O200K.as_ref();
    let mut rest = text;
    let mut tokens = 0;
    while !rest.is_empty() {
        let (piece, behind) =
            rest.split_at_checked(rest.floor_char_boundary(PIECE_LEN)).unwrap_or((rest, ""));
        // Tokens never exceed bytes.
        tokens += table.map_or(piece.len(), |table| table.count(piece)) as u64;
        rest = behind;
    }
    tokens
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::fs;
    use std::path::Path;

    use djinn_text::tokens::estimate_tokens;

    use super::*;

    fn count(text: &str) -> u64 {
        TokenCounter::default().count(text)
    }

    thread_local! {
        static TOKENIZED: Cell<(u64, u64)> = const { Cell::new((0, 0)) };
    }

    /// A tokenizer that counts how often it is asked, and for how much.
    fn counted(text: &str) -> u64 {
        let (times, bytes) = TOKENIZED.get();
        TOKENIZED.set((times + 1, bytes + text.len() as u64));
        text.len() as u64 / 4
    }

    #[test]
    fn each_text_of_a_conversation_is_tokenized_once() {
        const TURNS: u64 = 60;
        let counter = TokenCounter { tokenize: counted, ..TokenCounter::default() };
        // A turn says something and gets a result.
        let turn = |nth: u64| {
            [format!("I look at {nth:04}. ").repeat(10), "x".repeat(8_000 + nth as usize)]
        };
        let bytes_of = |turns: u64| (1..=turns).flat_map(turn).map(|t| t.len() as u64).sum::<u64>();
        let mut asked = 0;
        for turns in 1..=TURNS {
            for text in (1..=turns).flat_map(turn) {
                counter.count(&text);
                asked += 1;
            }
        }
        assert_eq!(asked, TURNS * (TURNS + 1));
        assert_eq!(TOKENIZED.get(), (2 * TURNS, bytes_of(TURNS)));
        // A request later, nothing but the new turn.
        TOKENIZED.set((0, 0));
        for text in (1..=TURNS + 1).flat_map(turn) {
            counter.count(&text);
        }
        assert_eq!(TOKENIZED.get().0, 2);
    }

    #[test]
    fn what_was_not_asked_for_is_forgotten() {
        let counter = TokenCounter { tokenize: counted, ..TokenCounter::default() };
        let text = |nth: usize| format!("{nth:0>64}");
        let often = text(0);
        for nth in 1..=5 * CACHE_LEN {
            counter.count(&often);
            counter.count(&text(nth));
        }
        let known = counter.cache.lock().unwrap();
        assert!(known.recent.len() <= CACHE_LEN && known.old.len() <= CACHE_LEN);
        assert_eq!(TOKENIZED.get().0 as usize, 1 + 5 * CACHE_LEN);
    }

    #[test]
    fn counts_are_openais() {
        // "How to count tokens with tiktoken" (OpenAI Cookbook).
        for (text, o200k) in
            [("antidisestablishmentarianism", 6), ("2 + 2 = 4", 7), ("お誕生日おめでとう", 8)]
        {
            assert_eq!(count(text), o200k, "{text}");
        }
        assert_eq!(count(""), 0);
    }

    /// The texts of a folder and of all below it.
    fn read_texts(folder: &Path) -> String {
        let files = fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
        let texts = files.map(|file| {
            if file.is_dir() { read_texts(&file) } else { fs::read_to_string(file).unwrap() }
        });
        texts.collect()
    }

    #[test]
    fn prompts_are_estimated_at_no_fewer_tokens_than_are_counted() {
        let prompts = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../prompts");
        for language in ["en", "zh"] {
            let text = read_texts(&prompts.join(language));
            let bytes = text.len() as u64;
            let tokens = count(&text);
            let estimate = estimate_tokens(bytes);
            assert!(estimate >= tokens, "{language}: {tokens} of {bytes}");
            let quarter = bytes.div_ceil(4);
            assert!(language == "en" || quarter < tokens, "four bytes a token would do: {quarter}");
        }
    }

    #[test]
    fn special_tokens_are_text() {
        assert!(count("<|endoftext|>") > 1);
    }

    #[test]
    fn a_long_run_is_counted_in_pieces() {
        let text = "界".repeat(700_000);
        assert!(count(&text) >= 700_000 / 8);
        let text = "x".repeat(2_000_000);
        assert!(count(&text) <= 2_000_000);
    }
}
