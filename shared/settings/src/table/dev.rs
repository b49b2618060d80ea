//! What `cargo dev` and the example clients read on a laptop.

use super::settings_table;
use crate::setting::{Setting, SettingsTable};

const COMMAND: &str = "of a command";

settings_table! {
    "dev": "What `cargo dev` and the example clients read themselves.";

    /// Where `cargo dev` keeps everything. Unset: `.djinn/` of the workspace.
    HOME = Setting::form("DJINN_HOME", "a directory").without_parameter(COMMAND);

    /// The level of the log of `cargo dev`, on standard error. On Lambda it is the parameter `LogLevel`.
    LOG = Setting::text("DJINN_LOG").with_default("warn").without_parameter(COMMAND);

    /// Which server `examples/ask.sh` asks.
    URL = Setting::form("DJINN_URL", "a URL").with_default("http://127.0.0.1:9000")
        .without_parameter(COMMAND);

    /// The API key that the example clients send.
    KEY = Setting::text("DJINN_KEY").mark_secret().without_parameter(COMMAND);
}
