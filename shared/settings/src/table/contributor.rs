//! What the tests of this project and `cargo verify` tell one another.

use super::settings_table;
use crate::setting::{Setting, SettingsTable};

const TESTS: &str = "for tests only";

settings_table! {
    "tests": "What tests read, and what `cargo verify` and `cargo soak` tell them.";

    /// The one seed that the simulation tries, as a failed one prints it.
    SEED = Setting::form("DJINN_SEED", "a whole number").without_parameter(TESTS);

    /// How many seeds the simulation tries.
    SEEDS = Setting::form("DJINN_SEEDS", "a whole number").without_parameter(TESTS);

    /// For how many seconds a fuzz test changes its corpus; some thousand changes where it is not set.
    FUZZ_SECONDS = Setting::form("DJINN_FUZZ_SECONDS", "a whole number").without_parameter(TESTS);

    /// How many tasks a crowd has at once.
    CROWD = Setting::form("DJINN_CROWD", "a whole number").with_default("200").without_parameter(TESTS);

    /// How many processes are killed.
    KILLS = Setting::form("DJINN_KILLS", "a whole number").without_parameter(TESTS);

    /// Whether tests of processes take longer and try more.
    SOAK = Setting::switch("DJINN_SOAK").with_default("0").without_parameter(TESTS);

    /// Whether every driver hands over after each record that it appends.
    ALWAYS_HAND_OVER = Setting::switch("DJINN_ALWAYS_HAND_OVER").with_default("0")
        .without_parameter(TESTS);

    /// The file in which the tools of killed processes write down what they did.
    LEDGER = Setting::form("DJINN_LEDGER", "a path").without_parameter(TESTS);

    /// Where the runtime interface emulator is.
    RIE = Setting::form("DJINN_RIE", "a path").without_parameter(TESTS);

    /// Where the functions are that it runs.
    BUILT = Setting::form("DJINN_BUILT", "a path").without_parameter(TESTS);

    /// Has xtask stand in for rustdoc, whose doctests it only compiles.
    RUSTDOC = Setting::form("DJINN_RUSTDOC", "set or unset").without_parameter(TESTS);

    /// Tells a test of Bedrock that it is the process of its own with other variables.
    BEDROCK_CHILD = Setting::form("DJINN_BEDROCK_CHILD", "set or unset").without_parameter(TESTS);
}
