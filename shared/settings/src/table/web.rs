//! Settings of the web gateway: targets and search engines.

use super::settings_table;
use crate::setting::{Setting, SettingsTable};

settings_table! {
    "web": "Allowed targets and search engines of the gateway.";

    /// The search engines, all queried at the same time: tables such as `engine = "tavily"` with `key =
    /// "secret:djinn/tools/tavily"`. An engine is `bing`, `brave`, `jina`, `searxng`, `serper` or
    /// `tavily`. `url` replaces the service's address, and is required for `bing` and `searxng`. `key` is
    /// `env:NAME` or `secret:NAME`.
    SEARCH = Setting::json("DJINN_SEARCH__ENGINES", "a JSON list of 1 to 6 engines")
        .mark_secret().in_file("search.engines");

    /// The role of a gateway function: reading pages (`fetch`), or querying engines with their keys (`call`).
    /// Unset: both.
    GATEWAY_ROLE = Setting::choice("DJINN_GATEWAY_ROLE", &["fetch", "call"])
        .with_stack_value();

    /// The secrets that seal users' keys for tools; the first seals, all open. Without a secret, users cannot set
    /// keys. A stack creates one, which only the function that calls tools can read.
    SEAL_KEY = Setting::form(
        "DJINN_SEAL_KEY",
        "keys of at least 32 bytes, separated by commas, or secret:NAME of a secret with the keys",
    ).mark_secret().with_stack_value();

    /// Allowed ports of pages and engines besides 80 and 443, separated by commas.
    EGRESS_PORTS = Setting::form("DJINN_EGRESS_PORTS", "ports separated by commas")
        .with_parameter("EgressPorts");

    /// Allowed origins on this machine, such as test servers, separated by commas. Rejected unless
    /// `DJINN_LOCAL` is 1.
    EGRESS_ORIGINS = Setting::form(
        "DJINN_EGRESS_ORIGINS",
        "origins such as http://127.0.0.1:8080, separated by commas",
    ).without_parameter("on a laptop only");
}
