//! Waiting times of drivers, limits of runs and users, and retention.

use super::settings_table;
use crate::setting::{Setting, SettingsTable};

settings_table! {
    "runtime": "Waiting times of drivers, limits of runs and users, retention of journals.";

    /// Maximum US dollars for the model calls of a run, including tasks.
    MAX_USD = Setting::money("DJINN_LIMITS__MAX_USD").in_file("limits.max_usd");

    /// Maximum tokens of one user's model calls per day (UTC).
    USER_DAY_TOKENS = Setting::number("DJINN_LIMITS__USER_DAY_TOKENS", 1_000, 1_000_000_000_000)
        .with_deployed_default("20000000").in_file("limits.user_day_tokens");

    /// Maximum US dollars of one user's model calls per day (UTC). With ` if priced`, models without a price
    /// count as free; otherwise, each model must have a price.
    USER_DAY_USD = Setting::money_limit("DJINN_LIMITS__USER_DAY_USD")
        .with_deployed_default("10 if priced").in_file("limits.user_day_usd");

    /// Maximum runs that one user may start per clock minute.
    USER_RUNS_PER_MINUTE = Setting::number("DJINN_LIMITS__USER_RUNS_PER_MINUTE", 1, 100_000)
        .with_deployed_default("30").in_file("limits.user_runs_per_minute");

    /// Maximum runs of one user at work at the same time.
    USER_RUNS_AT_ONCE = Setting::number("DJINN_LIMITS__USER_RUNS_AT_ONCE", 1, 1_000)
        .with_deployed_default("10").in_file("limits.user_runs_at_once");

    /// Maximum streams of one user at the same time, across all processes. The limit costs two writes per
    /// stream, and a read every ten seconds for streams that follow a run.
    USER_STREAMS = Setting::number("DJINN_LIMITS__USER_STREAMS", 1, 1_000)
        .with_deployed_default("20").in_file("limits.user_streams");

    /// Days that a journal is kept after the end of the run.
    RETENTION_DAYS = Setting::number("DJINN_LIMITS__RETENTION_DAYS", 1, 365)
        .with_default("30").in_file("limits.retention_days");

    /// Seconds before the function's deadline at which a driver starts the handoff.
    HAND_OVER_MARGIN_SECONDS = Setting::number("DJINN_LIMITS__HAND_OVER_MARGIN_SECONDS", 1, 300)
        .with_default("30").in_file("limits.hand_over_margin_seconds");

    /// Seconds until a stream ends if its run only waits for tasks, after the last event or piece of text.
    /// The last frame tells the client how to continue. Always 840 for JoyAgent's protocols, whose clients do
    /// not reconnect. On a laptop, streams do not end.
    IDLE_STREAM_SECONDS = Setting::number("DJINN_LIMITS__IDLE_STREAM_SECONDS", 10, 840)
        .with_default("120").in_file("limits.idle_stream_seconds");

    /// Seconds that a run waits for an overloaded or unavailable provider, from the first failure. Then users
    /// are asked to continue or stop. A wait of more than 20 s costs nothing.
    PROVIDER_PATIENCE_SECONDS = Setting::number("DJINN_LIMITS__PROVIDER_PATIENCE_SECONDS", 1, 86_400)
        .with_default("900").in_file("limits.provider_patience_seconds");

    /// `1` on a laptop, where all callers are the same user and the app answers CORS.
    LOCAL = Setting::switch("DJINN_LOCAL").with_default("0").without_parameter("on a laptop only");

    /// The waiting times of drivers in tests with separate processes; rejected unless `DJINN_LOCAL` is 1.
    TEST_SETTINGS = Setting::form("DJINN_TEST_SETTINGS", "a JSON object of settings")
        .without_parameter("for tests only");
}
