//! The shown form of schemas, from outside.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    clippy::too_many_lines,
    reason = "a test that cannot go on has failed"
)]

mod hostile;
mod original;
mod providers;
mod random;
mod sample;
mod servers;
mod table;
