//! The estimated number of tokens of a text, without a tokenizer.

/// Bytes of text per estimated token.
///
/// Overestimates are safe here: money is held back for a call, or a conversation is compacted before its
/// window is full. OpenAI's table `o200k` counts 4.1 bytes of our English prompts as a token, and 3.9 of the
/// Chinese prompts. A quarter of the bytes would be too few for Chinese. A test of `djinn-model` measures these
/// values. Models before GPT-4o use a token for every 3.0 bytes of the Chinese prompts.
const BYTES_PER_TOKEN: u64 = 3;

/// The estimated size of an image, in bytes of text.
pub const IMAGE_BYTES: usize = 4_800;

/// The estimated tokens of an image: Anthropic's count for 1 500 by 800 pixels, and more than OpenAI's and
/// Gemini's.
pub const IMAGE_TOKENS: u64 = IMAGE_BYTES as u64 / BYTES_PER_TOKEN;

/// Returns the estimated tokens of a text with this length in bytes, rounded up; overestimates on purpose.
#[must_use]
pub fn estimate_tokens(bytes: u64) -> u64 {
    bytes.div_ceil(BYTES_PER_TOKEN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_bytes_are_a_token_and_what_is_left_over_is_one_more() {
        for (bytes, tokens) in [(0, 0), (1, 1), (3, 1), (4, 2), (u64::MAX, u64::MAX / 3)] {
            assert_eq!(estimate_tokens(bytes), tokens, "{bytes}");
        }
    }
}
