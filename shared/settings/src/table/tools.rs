//! What may be said: the deny list and the checker of content.

use super::settings_table;
use crate::setting::{Setting, SettingsTable};

settings_table! {
    "tools": "What people and models may write.";

    /// At most 500 phrases that neither people nor models may write.
    DENY_LIST = Setting::form("DJINN_DENY_LIST", "a JSON list of phrases")
        .mark_secret().with_parameter("DenyList");

    /// A checker of your own, asked about what people and models write.
    CONTENT_CHECKER = Setting::form(
        "DJINN_CONTENT_CHECKER",
        "an http or https URL without a user or a password",
    ).mark_secret().with_parameter("ContentChecker");

    /// Where its key is, which it is sent as a bearer token.
    CONTENT_CHECKER_KEY = Setting::form("DJINN_CONTENT_CHECKER_KEY", "`env:NAME` or `secret:NAME`")
        .mark_secret().with_parameter("ContentCheckerKey");

    /// Milliseconds that it may take.
    CONTENT_CHECKER_TIMEOUT_MS = Setting::number("DJINN_CONTENT_CHECKER_TIMEOUT_MS", 100, 10_000)
        .with_default("3000").with_parameter("ContentCheckerTimeoutMs");

    /// Whether what it gives no verdict on is held back (`closed`) or passes (`open`).
    CONTENT_CHECKER_FAILS = Setting::choice("DJINN_CONTENT_CHECKER_FAILS", &["closed", "open"])
        .with_default("closed").with_parameter("ContentCheckerFails");
}
