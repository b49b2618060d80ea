//! The output limit named in a provider's rejection of a request.

/// Provider names for the output limit of a request, in lower case.
const NAMES: &[&str] = &[
    "max_tokens",
    "max_completion_tokens",
    "max_new_tokens",
    "max_output_tokens",
    "maxoutputtokens",
    "maxtokens",
    "maximum tokens",
    "completion tokens",
    "output tokens",
];

/// Phrases before the size of a window shared by input and output, in lower case.
const WINDOW_MARKS: &[&str] = &[
    "maximum context length is",
    "maximum context length of",
    "maximum model length of",
    "context length (",
    "`max_new_tokens` must be <=",
];

/// Minimum accepted limit: a shorter reply is useless, and smaller numbers are statuses.
const MIN_LIMIT: u32 = 512;

/// Returns an acceptable output limit after a rejection of `sent_limit`. The limit is the provider's own, or a
/// quarter of the window if `sent_limit` takes at least half of the window.
pub(super) fn find_output_limit(message: &str, sent_limit: u32) -> Option<u32> {
    let message = message.to_lowercase();
    let window = WINDOW_MARKS.iter().find_map(|mark| {
        let (_, behind) = message.split_once(mark)?;
        numbers(behind).next()
    });
    let limit = match window {
        Some(window) => (window / 2 <= u64::from(sent_limit)).then_some(window / 4),
        None if NAMES.iter().any(|name| message.contains(name)) => {
            let smaller = numbers(&message).filter(|number| *number < u64::from(sent_limit)).max();
            // Gemini: "from 1 (inclusive) to 8193 (exclusive)".
            smaller.map(|limit| limit - u64::from(message.contains("(exclusive)")))
        }
        None => None,
    };
    u32::try_from(limit?).ok().filter(|limit| (MIN_LIMIT..sent_limit).contains(limit))
}

/// Returns the numbers in a text that fit into 64 bits.
fn numbers(text: &str) -> impl Iterator<Item = u64> {
    text.split(|c: char| !c.is_ascii_digit()).filter_map(|digits| digits.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn named_limit_is_found_in_the_words_of_each_provider() {
        for (message, limit) in [
            ("Invalid max_tokens value, the valid range of max_tokens is [1, 8192]", Some(8_192)),
            (
                "<400> InternalError.Algo.InvalidParameter: Range of max_tokens should be [1, 8192]",
                Some(8_192),
            ),
            (
                "max_tokens is too large: 16384. This model supports at most 4096 completion tokens, whereas you provided 16384.",
                Some(4_096),
            ),
            (
                "max_tokens: 16384 > 8192, which is the maximum allowed number of output tokens for claude-3-5-sonnet-20241022",
                Some(8_192),
            ),
            (
                "The maximum tokens you requested exceeds the model limit of 4096. Try again with a maximum tokens value that is lower than 4096.",
                Some(4_096),
            ),
            (
                "`max_tokens` must be less than or equal to `8192`, the maximum value for `max_tokens` is less than the `context_window` for this model",
                Some(8_192),
            ),
            (
                "Unable to submit request because it has a maxOutputTokens value of 16384 but the supported range is from 1 (inclusive) to 8193 (exclusive).",
                Some(8_192),
            ),
            // The window holds input and output together.
            (
                "This model's maximum context length is 8192 tokens. However, you requested 16484 tokens (100 in the messages, 16384 in the completion).",
                Some(2_048),
            ),
            (
                "`inputs` tokens + `max_new_tokens` must be <= 4096. Given: 100 `inputs` tokens and 16384 `max_new_tokens`",
                Some(1_024),
            ),
            (
                "'max_tokens' is too large: 16384. This model's maximum context length is 65536 tokens and your request has 60000 input tokens (16384 > 65536 - 60000).",
                None,
            ),
            // No limit, or none that a reply could keep.
            ("Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.", None),
            ("HTTP 400: max_tokens is wrong", None),
            ("max_tokens must be at most 99999", None),
            ("temperature must be between 0 and 1000", None),
            ("", None),
        ] {
            assert_eq!(find_output_limit(message, 16_384), limit, "{message}");
        }
    }
}
