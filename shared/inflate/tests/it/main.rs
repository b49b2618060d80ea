//! Compressed input, from well-behaved encoders and from hostile ones.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on has failed"
)]

mod bits;
mod fuzz;
mod gzip;
mod raw;

use std::io::Write as _;

use flate2::Compression;
use flate2::write::{DeflateEncoder, GzEncoder};

/// The gzip file of some bytes.
pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// The raw deflate stream of some bytes.
pub(crate) fn deflate(bytes: &[u8], level: Compression) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::new(), level);
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// Bytes that no encoder can shorten.
pub(crate) fn noise(length: usize) -> Vec<u8> {
    let mut rng = fastrand::Rng::with_seed(7);
    std::iter::repeat_with(|| rng.u8(..)).take(length).collect()
}
