//! Tokens of a text, counted with OpenAI's own tables.

mod table;

use table::{CL100K, O200K};
use tiktoken_rs::CoreBPE;

/// Bytes that are counted at once. A run without any break costs the square of its length, so a
/// long text is counted in pieces, each of which may count one token too many.
const PIECE: usize = 4 * 1024;

/// Models of the older encoding, by the beginning of their names.
const OLDER: &[&str] = &["gpt-4", "gpt-3.5", "gpt-35"];
/// Those among them that have the newer one.
const NEWER: &[&str] = &["gpt-4o", "gpt-4.1", "gpt-4.5"];

/// Exact for OpenAI's models, but for one token a piece of 4 KB; close to others'. Special tokens
/// count as the text they are. The tables are built on the first call.
pub(crate) fn count(model: &str, text: &str) -> u64 {
    let encoding = encoding(model);
    let mut rest = text;
    let mut tokens = 0;
    while !rest.is_empty() {
        let (piece, behind) =
            rest.split_at_checked(rest.floor_char_boundary(PIECE)).unwrap_or((rest, ""));
        // Tokens never exceed bytes.
        tokens += encoding.map_or(piece.len(), |encoding| encoding.count_ordinary(piece)) as u64;
        rest = behind;
    }
    tokens
}

fn encoding(model: &str) -> Option<&'static CoreBPE> {
    let name = model.rsplit('/').next().unwrap_or(model);
    let starts = |starts: &[&str]| starts.iter().any(|start| name.starts_with(start));
    if starts(OLDER) && !starts(NEWER) { CL100K.as_ref() } else { O200K.as_ref() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_openais() {
        // "How to count tokens with tiktoken" (OpenAI Cookbook).
        for (text, cl100k, o200k) in [
            ("antidisestablishmentarianism", 6, 6),
            ("2 + 2 = 4", 7, 7),
            ("お誕生日おめでとう", 9, 8),
        ] {
            assert_eq!(count("gpt-4", text), cl100k, "{text}");
            assert_eq!(count("openai/gpt-3.5-turbo", text), cl100k, "{text}");
            for newer in ["gpt-4o", "gpt-4.1-mini", "o3", "gpt-5", "qwen-max"] {
                assert_eq!(count(newer, text), o200k, "{newer}: {text}");
            }
        }
        assert_eq!(count("anything", ""), 0);
    }

    #[test]
    fn special_tokens_are_text() {
        assert!(count("gpt-4o", "<|endoftext|>") > 1);
    }

    #[test]
    fn a_long_run_is_counted_in_pieces() {
        let text = "界".repeat(700_000);
        assert!(count("gpt-4o", &text) >= 700_000 / 8);
        let text = "x".repeat(2_000_000);
        assert!(count("gpt-4o", &text) <= 2_000_000);
    }
}
