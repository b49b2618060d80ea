//! Settings of `cargo dev` and the example clients.

use super::settings_table;
use crate::setting::{Setting, SettingsTable};

const COMMAND: &str = "of a command";

settings_table! {
    "dev": "Settings of `cargo dev` and the example clients.";

    /// The directory for all data of `cargo dev`. Unset: `.djinn/` of the workspace.
    HOME = Setting::form("DJINN_HOME", "a directory").without_parameter(COMMAND);

    /// The log level of `cargo dev` on standard error. On Lambda, the parameter `LogLevel`.
    LOG = Setting::text("DJINN_LOG").with_default("warn").without_parameter(COMMAND);

    /// The server of `examples/ask.sh`.
    URL = Setting::form("DJINN_URL", "a URL").with_default("http://127.0.0.1:9000")
        .without_parameter(COMMAND);

    /// The API key of the example clients and of `cargo xtask smoke`.
    KEY = Setting::text("DJINN_KEY").mark_secret().without_parameter(COMMAND);
}
