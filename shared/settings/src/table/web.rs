//! What is read of the web, and by which engines it is searched.

use super::settings_table;
use crate::setting::{Setting, SettingsTable};

settings_table! {
    "web": "What the gateway may reach, and the engines that it asks.";

    /// The search engines, which are all asked at once: a JSON list of objects such as
    /// `{"engine": "tavily", "key": "secret:djinn/tools/tavily"}`. An engine is `bing`, `brave`, `jina`,
    /// `searxng`, `serper` or `tavily`. `url` is another address than its service's, which `bing` and `searxng`
    /// have none of. `key` is `env:NAME` or `secret:NAME`.
    SEARCH = Setting::form("DJINN_SEARCH", "a JSON list of 1 to 6 engines")
        .mark_secret().with_parameter("SearchEngines");

    /// What a function of the gateway does: reading pages (`fetch`), or asking engines with their keys (`call`).
    /// Unset: both.
    GATEWAY_ROLE = Setting::choice("DJINN_GATEWAY_ROLE", &["fetch", "call"])
        .with_stack_value();

    /// Ports that pages and engines may have besides 80 and 443, with commas between them.
    EGRESS_PORTS = Setting::form("DJINN_EGRESS_PORTS", "ports with commas between them")
        .with_parameter("EgressPorts");

    /// Origins of this machine that may be reached all the same, such as those of test servers, with commas
    /// between them. They are refused unless `DJINN_LOCAL` is 1.
    EGRESS_ORIGINS = Setting::form(
        "DJINN_EGRESS_ORIGINS",
        "origins such as http://127.0.0.1:8080 with commas between them",
    ).without_parameter("on a laptop only");
}
