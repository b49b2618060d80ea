//! Decoding of untrusted gzip and deflate data, with limits on output and work.
//!
//! An encoder writes about one block for each 16 KB of text. Hostile input may contain millions of empty
//! blocks or gzip members in a few megabytes, each with the cost of its Huffman tables. So the numbers of
//! blocks and of decoded bytes are limited. Time is linear in the input's length and in both limits.

mod gzip;
mod inflater;

pub use gzip::inflate_gzip;
pub use inflater::{InflateEnd, Inflated, MAX_BLOCKS, inflate_raw};
