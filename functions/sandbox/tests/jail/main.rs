//! The jail with a real Python: attacks that must all fail, features that must work, and how jobs end.
//!
//! `cargo verify --only sandbox` and `--only data` make the Python that they need and run them.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test that cannot go on has failed"
)]

/// The allocator of the local system, which gives memory back.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

mod attacks;
mod calls;
mod canary;
mod documents;
mod endings;
mod ends;
mod features;
mod images;
mod kills;
mod notebook;
mod pages;
mod process;
mod python;
mod real_files;
mod sealed;
mod tables;
mod tpch;
mod tpch_postgres;
mod tpch_questions;

#[path = "../../../../tests/it/databases/server.rs"]
#[allow(dead_code, unreachable_pub, reason = "stories need more of it")]
mod postgres_server;
