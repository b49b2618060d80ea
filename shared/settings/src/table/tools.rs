//! Which agents there are, and what may be said: the deny list and the checker of content.

use super::settings_table;
use crate::setting::{Setting, SettingsTable};

settings_table! {
    "tools": "Agents, prompts, and what people and models may write.";

    /// Folders of agents beside ours, with a colon between them: as the function finds them, or behind an `@` a
    /// prefix of its bucket, `@config/agents`. Read anew while it runs, at most every 5 s.
    AGENTS = Setting::form("DJINN_AGENTS", "folders that exist, or prefixes of the bucket")
        .with_parameter("Agents");

    /// The agents that every run may call: their names with commas between them, or `all`.
    OFFERED_AGENTS = Setting::form("DJINN_OFFERED_AGENTS", "names with commas between them, or `all`")
        .with_parameter("OfferedAgents");

    /// Folders of prompts that stand in the place of ours of the same name, with a colon between them. Of two that
    /// have the same the later counts. As the function finds them, or behind an `@` a prefix of its bucket,
    /// `@config/prompts`. Read anew while it runs, at most every 5 s.
    PROMPTS = Setting::form("DJINN_PROMPTS", "folders that exist, or prefixes of the bucket")
        .with_parameter("Prompts");

    /// The wall around code that models write: `jail` or `unsafe`. With `unsafe` it also runs on a kernel without
    /// Landlock and namespaces, and can read what this user can. That is refused unless `DJINN_LOCAL` is 1.
    CODE_SANDBOX = Setting::choice("DJINN_CODE_SANDBOX", &["jail", "unsafe"])
        .with_default("jail").without_parameter("on a laptop only");

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
