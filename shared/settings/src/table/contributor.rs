//! Settings of this project's tests and of `cargo verify`.

use super::settings_table;
use crate::setting::{Setting, SettingsTable};

const TESTS: &str = "for tests only";

settings_table! {
    "tests": "Settings of tests, set by `cargo verify` and `cargo soak`.";

    /// The single seed of the simulation, as printed by a failed simulation.
    SEED = Setting::form("DJINN_SEED", "a whole number").without_parameter(TESTS);

    /// The number of seeds of the simulation.
    SEEDS = Setting::form("DJINN_SEEDS", "a whole number").without_parameter(TESTS);

    /// Seconds of a fuzz test. Unset: some thousand changes of the corpus.
    FUZZ_SECONDS = Setting::form("DJINN_FUZZ_SECONDS", "a whole number").without_parameter(TESTS);

    /// The number of tasks at the same time in a crowd test.
    CROWD = Setting::form("DJINN_CROWD", "a whole number").with_default("200").without_parameter(TESTS);

    /// The number of killed processes.
    KILLS = Setting::form("DJINN_KILLS", "a whole number").without_parameter(TESTS);

    /// `1` runs longer tests of processes, with more attempts.
    SOAK = Setting::switch("DJINN_SOAK").with_default("0").without_parameter(TESTS);

    /// `1` makes every driver hand over after each appended record.
    ALWAYS_HAND_OVER = Setting::switch("DJINN_ALWAYS_HAND_OVER").with_default("0")
        .without_parameter(TESTS);

    /// The file where tools of killed processes log their calls.
    LEDGER = Setting::form("DJINN_LEDGER", "a path").without_parameter(TESTS);

    /// The path of the runtime interface emulator.
    RIE = Setting::form("DJINN_RIE", "a path").without_parameter(TESTS);

    /// The path of the functions for the emulator.
    BUILT = Setting::form("DJINN_BUILT", "a path").without_parameter(TESTS);

    /// The folder of the emulator of AWS with the deployed stack.
    STACK = Setting::form("DJINN_STACK", "a path").without_parameter(TESTS);

    /// Makes xtask stand in for rustdoc; doctests are only compiled.
    RUSTDOC = Setting::form("DJINN_RUSTDOC", "set or unset").without_parameter(TESTS);

    /// Marks a test of Bedrock as a process of its own, with other variables.
    BEDROCK_CHILD = Setting::form("DJINN_BEDROCK_CHILD", "set or unset").without_parameter(TESTS);
}
