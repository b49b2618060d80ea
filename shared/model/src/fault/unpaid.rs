//! Errors about exhausted accounts. A human must fix the account, and the run is paused until then. So quoted
//! text (model output, tool names) must not match.

use super::detail::ProviderFailure;

/// Parts of codes and types.
const CODES: &[&str] = &[
    "insufficient_quota",
    "insufficient_balance",
    "insufficient_user_quota",
    "exceeded_current_quota",
    "billing",
    // Qwen, and Doubao: `AccountOverdueError`, `OperationDenied.ServiceOverdue`.
    "arrearage",
    "allocationquota.freetieronly",
    "overdue",
];

/// Numeric codes of GLM and SiliconFlow.
const NUMBERS: &[&str] = &["1113", "30001"];

/// Codes found only in messages of gateways.
const MESSAGE_CODES: &[&str] = &[
    "insufficient_quota",
    "insufficient_user_quota",
    "exceeded_current_quota",
    "accountoverdueerror",
];

/// Message prefixes of Anthropic, under the error type of an invalid request.
const BEGINNINGS: &[&str] = &["your credit balance is too low", "you have reached your specified "];

/// Phrases in a provider's own words, unrelated to the request.
const PHRASES: &[&str] = &[
    "insufficient balance",
    "insufficient account balance",
    "balance is insufficient",
    "credit balance is too low",
    "credits are depleted",
    // xAI, Gemini.
    "used all available credits",
    "spending limit",
    "spending cap",
    "overdue balance",
    "overdue payment",
    "余额不足",
    "额度不足",
    "已欠费",
];

/// Phrases in two parts, with a few words between.
const PAIRS: &[(&str, &str)] = &[
    ("account", "overdue"),
    ("账户", "欠费"),
    ("账号", "欠费"),
    ("帐户", "欠费"),
    ("帐号", "欠费"),
];

/// Maximum bytes between the two parts.
const MAX_PAIR_GAP: usize = 60;

/// Phrases that rate limits may also contain, as in "add a payment method to raise the limit".
const RATE_LIMIT_PHRASES: &[&str] = &[
    "exceeded your current quota",
    "requires billing",
    "billing details",
    "billing account",
    "payment required",
    "payment method",
];

const RATE_LIMIT_WORDS: &[&str] = &["rate limit", "rate_limit", "rate-limit"];

/// Error types about the request, whatever the message quotes.
const REQUEST_ERRORS: &[&str] =
    &["invalid_request", "invalid_function", "invalid_argument", "invalidparameter", "validation"];

/// Returns true if the error means an exhausted account, by code or by the provider's own words.
pub(super) fn is_unpaid(failure: &ProviderFailure) -> bool {
    if failure.has_code(NUMBERS) || failure.has_code_part(CODES) {
        return true;
    }
    let words = failure.own_text();
    if BEGINNINGS.iter().any(|beginning| words.starts_with(beginning)) {
        return true;
    }
    if failure.has_code_part(REQUEST_ERRORS) {
        return false;
    }
    let says = |phrase: &&str| !find_phrase(words, phrase).is_empty();
    let says_both = |(first, second): &(&str, &str)| {
        let seconds = find_phrase(words, second);
        find_phrase(words, first).into_iter().any(|at| {
            let apart = |second: usize| words.get(at + first.len()..second);
            let near =
                |between: &str| between.len() <= MAX_PAIR_GAP && !between.contains(['.', '。']);
            seconds.iter().any(|second| apart(*second).is_some_and(near))
        })
    };
    failure.has_phrase(MESSAGE_CODES)
        || PHRASES.iter().any(says)
        || PAIRS.iter().any(says_both)
        || (!failure.has_phrase(RATE_LIMIT_WORDS) && RATE_LIMIT_PHRASES.iter().any(says))
}

/// Returns the positions of a phrase as separate words: `list_overdue_invoices` does not match.
fn find_phrase(words: &str, phrase: &str) -> Vec<usize> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let stands_alone = |at: &usize| {
        let before = words.get(..*at).and_then(|before| before.chars().next_back());
        let after = words.get(at + phrase.len()..).and_then(|after| after.chars().next());
        !before.is_some_and(is_part) && !after.is_some_and(is_part)
    };
    words.match_indices(phrase).map(|(at, _)| at).filter(stands_alone).collect()
}
