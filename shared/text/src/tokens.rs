//! How many tokens a text is taken for where nobody counts them.

/// Bytes of text that are taken for one token.
///
/// Too many tokens are safe wherever this decides: money is held back for a call, a conversation is summed
/// up before its window is full. OpenAI's tables count 4.1 bytes of our English prompts as a token, and of our
/// Chinese ones 3.9 (`o200k`) or 3.0 (`cl100k`): a quarter of the bytes would be too few for Chinese. A test of
/// `djinn-model` measures them.
const BYTES_PER_TOKEN: u64 = 3;

/// Bytes of text that an image is taken for.
pub const IMAGE_BYTES: usize = 4_800;

/// Tokens that an image is taken to have: what Anthropic counts for 1 500 by 800 pixels, and more than OpenAI and
/// Gemini do for one of that size.
pub const IMAGE_TOKENS: u64 = IMAGE_BYTES as u64 / BYTES_PER_TOKEN;

/// Tokens of a text of so many bytes, rounded up: rather too many than too few.
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
