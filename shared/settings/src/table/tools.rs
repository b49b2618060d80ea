//! Agents, prompts, and content rules: the deny list and the content checker.

use super::settings_table;
use crate::setting::{Setting, SettingsTable};

settings_table! {
    "tools": "Agents, prompts, and content rules for users and models.";

    /// The configuration folder: `djinn.toml` with settings, `agents/`, `modes/` and `prompts/`. A local path, or a
    /// prefix of the bucket after an `@`, `@config`. Reread while the function runs, at most every 5 s.
    CONFIG = Setting::form("DJINN_CONFIG", "a folder that exists, or a prefix of the bucket")
        .with_deployed_default("@config").with_parameter("Config");

    /// The agents available to every run: names separated by commas, or `all`.
    OFFERED_AGENTS = Setting::form("DJINN_AGENTS__OFFERED", "names separated by commas, or `all`")
        .in_file("agents.offered");

    /// The PostgreSQL databases that a table of the folder may name as its source. Each has a name, and the fields `host`,
    /// `port` (default 5432), `database`, `user`, `password` (`secret:djinn/data/NAME`, `iam`, or `env:NAME` on a laptop)
    /// and `ca`, the name of a certificate authority's file in `connections/`. Only a host of this machine may have no
    /// `ca`.
    CONNECTIONS = Setting::json("DJINN_CONNECTIONS", "a JSON object of connections")
        .mark_secret().in_file("connections");

    /// The isolation of model-written code: `jail` or `unsafe`. `unsafe` also runs on a kernel without
    /// Landlock and namespaces, and can read all files of the user. Rejected unless `DJINN_LOCAL` is 1.
    CODE_SANDBOX = Setting::choice("DJINN_CODE_SANDBOX", &["jail", "unsafe"])
        .with_default("jail").without_parameter("on a laptop only");

    /// At most 500 phrases that neither users nor models may write.
    DENY_LIST = Setting::json("DJINN_SAFETY__DENY_LIST", "a JSON list of phrases")
        .mark_secret().in_file("safety.deny_list");

    /// Your own content checker, called for texts of users and models.
    CONTENT_CHECKER = Setting::form(
        "DJINN_SAFETY__CONTENT_CHECKER",
        "an http or https URL without a user or a password",
    ).mark_secret().in_file("safety.content_checker");

    /// The location of the checker's key, sent as a bearer token.
    CONTENT_CHECKER_KEY = Setting::form("DJINN_SAFETY__CONTENT_CHECKER_KEY", "`env:NAME` or `secret:NAME`")
        .mark_secret().in_file("safety.content_checker_key");

    /// The checker's timeout in milliseconds.
    CONTENT_CHECKER_TIMEOUT_MS = Setting::number("DJINN_SAFETY__CONTENT_CHECKER_TIMEOUT_MS", 100, 10_000)
        .with_default("3000").in_file("safety.content_checker_timeout_ms");

    /// The handling of texts without a verdict: blocked (`closed`) or allowed (`open`).
    CONTENT_CHECKER_FAILS = Setting::choice("DJINN_SAFETY__CONTENT_CHECKER_FAILS", &["closed", "open"])
        .with_default("closed").in_file("safety.content_checker_fails");
}
