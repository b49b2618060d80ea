//! Decoding of gzip and deflate that others may have written, with limits on output and work.
//!
//! An encoder writes about one block for each 16 KB of text. Hostile input holds millions of empty blocks or gzip
//! members in a few megabytes: they decode to nothing, and each one costs the setup of its Huffman tables. So the
//! number of blocks has a limit besides the number of decoded bytes, and the time that an input takes is linear in
//! its length and in these two.

mod gzip;
mod inflater;

pub use gzip::inflate_gzip;
pub use inflater::{InflateEnd, Inflated, MAX_BLOCKS, inflate_raw};
