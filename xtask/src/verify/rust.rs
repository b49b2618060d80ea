//! What cargo itself verifies.

use std::num::NonZero;
use std::thread::available_parallelism;

use anyhow::Result;

use crate::process::{cargo, ignored, run};
use crate::venv;

pub(super) fn fmt() -> Result<()> {
    run(&mut cargo(&["fmt", "--all", "--check"]))
}

pub(super) fn clippy() -> Result<()> {
    run(&mut cargo(&["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]))
}

pub(super) fn docs() -> Result<()> {
    run(cargo(&["doc", "--workspace", "--no-deps"]).env("RUSTDOCFLAGS", "-D warnings"))
}

/// Every test that is not `#[ignore]`d, documentation included. All of them run even if one fails:
/// a second run costs more than the rest of the first.
pub(super) fn tests() -> Result<()> {
    // Many tests start servers and watch clocks; with more threads than cores they only disturb each
    // other, and with dozens they run out of ports and memory.
    let threads = available_parallelism().map_or(2, NonZero::get).clamp(2, 8);
    let mut command = cargo(&["test", "--workspace", "--no-fail-fast"]);
    command.env("RUST_TEST_THREADS", threads.to_string());
    // A snapshot that differs fails and leaves nothing in the tree.
    command.env("INSTA_UPDATE", "no");
    run(&mut command)
}

/// The tests that need cargo-lambda, one at a time: each has a host of its own.
pub(super) fn watch() -> Result<()> {
    run(&mut venv::ready()?.around(ignored("djinn-tests", "watch", &[]))?)
}
