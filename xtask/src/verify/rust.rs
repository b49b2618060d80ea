//! What cargo itself verifies.

use std::num::NonZero;
use std::thread::available_parallelism;

use anyhow::Result;

use crate::process::{cargo, run};
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

/// The tests that run the built functions, one at a time: they watch clocks.
pub(super) fn lambdasim() -> Result<()> {
    run(&mut cargo(&["build", "--package", "agent", "--package", "executor"]))?;
    let test = ["test", "--package", "djinn-tests", "--test", "lambdasim", "--", "--ignored"];
    run(&mut cargo(&[&test[..], &["--test-threads", "1"]].concat()))
}

/// The tests that need cargo-lambda, one at a time: each has a host of its own.
pub(super) fn watch() -> Result<()> {
    let test = ["test", "--package", "djinn-tests", "--test", "watch", "--", "--ignored"];
    let command = cargo(&[&test[..], &["--test-threads", "1"]].concat());
    run(&mut venv::ready()?.around(command)?)
}
