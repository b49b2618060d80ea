//! Raw deflate.

use djinn_inflate::{InflateEnd, MAX_BLOCKS, inflate_raw};
use flate2::Compression;

use super::bits::Bits;
use super::{deflate, noise};

#[test]
fn streams_decode_up_to_the_limit() {
    let table = b"2024,north,1200\n".repeat(20_000);
    for bytes in [Vec::new(), vec![7], table, noise(300_000), vec![0; 1_000_000]] {
        for level in [Compression::none(), Compression::fast(), Compression::best()] {
            let packed = deflate(&bytes, level);
            let whole = inflate_raw(&packed, bytes.len());
            assert_eq!((whole.bytes.as_slice(), whole.end), (&*bytes, InflateEnd::Whole));
            assert!(whole.blocks < 50, "{}", whole.blocks);
            let Some(fewer) = bytes.len().checked_sub(1) else { continue };
            let cut = inflate_raw(&packed, fewer);
            assert_eq!((cut.bytes.as_slice(), cut.end), (&bytes[..fewer], InflateEnd::OverLimit));
            assert!(cut.bytes.capacity() <= fewer);
        }
    }
}

#[test]
fn a_stream_that_ends_early_keeps_its_beginning() {
    let bytes = noise(100_000);
    let packed = deflate(&bytes, Compression::best());
    let cut = inflate_raw(&packed[..packed.len() / 2], bytes.len());
    assert_eq!(cut.end, InflateEnd::Truncated);
    assert!(cut.bytes.len() > 40_000 && bytes.starts_with(&cut.bytes), "{}", cut.bytes.len());
    assert_eq!(inflate_raw(&[], 10).end, InflateEnd::Truncated);
}

#[test]
fn bytes_that_are_no_stream_are_invalid() {
    for bytes in [&[0xff, 0xff, 0xff][..], &[0, 0, 0, 0, 0], b"<html>"] {
        let inflated = inflate_raw(bytes, 1_000);
        assert_eq!((inflated.bytes.len(), inflated.end), (0, InflateEnd::Invalid), "{bytes:?}");
    }
}

/// 4 MB of empty blocks of one kind.
fn flood(block: impl Fn(&mut Bits)) -> Vec<u8> {
    let mut bits = Bits::default();
    // Whole bytes, so that the rest is copies.
    for _ in 0..8 {
        block(&mut bits);
    }
    bits.into_bytes().repeat(4_000_000 / 80)
}

#[test]
fn floods_of_empty_blocks_end_at_the_limit() {
    let stored = [0, 0, 0, 0xff, 0xff].repeat(800_000);
    let fixed = flood(|bits| bits.push_empty_fixed_block(false));
    let dynamic = flood(Bits::push_empty_dynamic_block);
    for (kind, input) in [("stored", stored), ("fixed", fixed), ("dynamic", dynamic)] {
        let inflated = inflate_raw(&input, 5_000_000);
        assert_eq!((inflated.bytes.len(), inflated.end), (0, InflateEnd::TooManyBlocks), "{kind}");
        assert_eq!(inflated.blocks, MAX_BLOCKS + 1, "{kind}");
    }
}

#[test]
fn as_many_blocks_as_the_limit_are_decoded() {
    let mut bits = Bits::default();
    for nth in 1..=MAX_BLOCKS {
        bits.push_empty_fixed_block(nth == MAX_BLOCKS);
    }
    let inflated = inflate_raw(&bits.into_bytes(), 10);
    assert_eq!((inflated.blocks, inflated.end), (MAX_BLOCKS, InflateEnd::Whole));
}
