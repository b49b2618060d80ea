//! How long drivers wait, what a user may do, and what is kept for how long.

use super::settings_table;
use crate::setting::{Setting, SettingsTable};

settings_table! {
    "runtime": "How long drivers wait, what runs and users may cost, how long journals are kept.";

    /// US dollars that the model calls of a run may cost, its tasks included.
    MAX_USD = Setting::money("DJINN_MAX_USD").with_parameter("MaxUsd");

    /// Tokens that the model calls of one user may use up in a day (UTC).
    USER_DAY_TOKENS = Setting::number("DJINN_USER_DAY_TOKENS", 1_000, 1_000_000_000_000)
        .with_deployed_default("20000000").with_parameter("UserDayTokens");

    /// US dollars that these may cost. With ` if priced`, models without a price count as free; otherwise, each
    /// model must have a price.
    USER_DAY_USD = Setting::money_limit("DJINN_USER_DAY_USD")
        .with_deployed_default("10 if priced").with_parameter("UserDayUsd");

    /// Runs that one user may start in a minute of the clock.
    USER_RUNS_PER_MINUTE = Setting::number("DJINN_USER_RUNS_PER_MINUTE", 1, 100_000)
        .with_deployed_default("30").with_parameter("UserRunsPerMinute").for_agent_only();

    /// Runs of one user that may be at work at once.
    USER_RUNS_AT_ONCE = Setting::number("DJINN_USER_RUNS_AT_ONCE", 1, 1_000)
        .with_deployed_default("10").with_parameter("UserRunsAtOnce");

    /// Responses that are streamed to one user at once, by whichever process. With it a stream costs two
    /// writes, and one that follows a run a read every ten seconds.
    USER_STREAMS = Setting::number("DJINN_USER_STREAMS", 1, 1_000)
        .with_deployed_default("20").with_parameter("UserStreams").for_agent_only();

    /// Days that a journal is kept after its run ended.
    RETENTION_DAYS = Setting::number("DJINN_RETENTION_DAYS", 1, 365)
        .with_default("30").with_parameter("RetentionDays");

    /// Seconds before its function's deadline at which a driver hands its run over.
    HAND_OVER_MARGIN_SECONDS = Setting::number("DJINN_HAND_OVER_MARGIN_SECONDS", 1, 300)
        .with_default("30").with_parameter("HandOverMarginSeconds");

    /// Seconds that a response goes on whose run only waits for tasks, after the last event or piece of text.
    /// Then it ends with how to go on. For JoyAgent's protocols, whose clients do not come back by
    /// themselves, it is always 840. On a laptop it does not end.
    IDLE_STREAM_SECONDS = Setting::number("DJINN_IDLE_STREAM_SECONDS", 10, 840)
        .with_default("120").with_parameter("IdleStreamSeconds").for_agent_only();

    /// Seconds for which a run waits for a model's provider that is overloaded or down, from its first failure. Then
    /// people are asked to continue or stop. A wait of more than 20 s costs nothing.
    PROVIDER_PATIENCE_SECONDS = Setting::number("DJINN_PROVIDER_PATIENCE_SECONDS", 1, 86_400)
        .with_default("900").with_parameter("ProviderPatienceSeconds");

    /// Whether this is a laptop, where everybody is the same user and the app answers CORS.
    LOCAL = Setting::switch("DJINN_LOCAL").with_default("0").without_parameter("on a laptop only");

    /// How long drivers wait in tests with processes of their own; refused unless `DJINN_LOCAL` is 1.
    TEST_SETTINGS = Setting::form("DJINN_TEST_SETTINGS", "such settings as JSON")
        .without_parameter("for tests only");
}
