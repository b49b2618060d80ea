//! Gzip files.

use djinn_inflate::{InflateEnd, MAX_BLOCKS, inflate_gzip};
use flate2::write::GzEncoder;
use flate2::{Compression, GzBuilder};
use std::io::Write as _;

use super::bits::{Bits, to_member};
use super::{gzip, noise};

#[test]
fn members_follow_one_another() {
    let text = noise(50_000);
    let file = [gzip(b"one "), gzip(b""), gzip(&text)].concat();
    let inflated = inflate_gzip(&file, 100_000);
    assert_eq!(inflated.end, InflateEnd::Whole);
    assert_eq!(inflated.bytes, [b"one ", text.as_slice()].concat());
}

#[test]
fn fields_of_the_header_are_skipped() {
    let named = GzBuilder::new().filename("a").comment("b").extra(vec![1, 0, 2]).mtime(7);
    let mut encoder = named.write(Vec::new(), Compression::fast());
    encoder.write_all(b"text").unwrap();
    let mut file = encoder.finish().unwrap();
    assert_eq!(inflate_gzip(&file, 10).bytes, b"text");
    // A checksum of the header, after all other fields.
    let end = file.windows(2).position(|two| two == b"b\0").unwrap() + 2;
    file[3] |= 2;
    let [low, high, ..] = crc32fast::hash(&file[..end]).to_le_bytes();
    file.splice(end..end, [low, high]);
    assert_eq!(inflate_gzip(&file, 10).bytes, b"text");
    for length in 0..file.len() {
        assert_eq!(inflate_gzip(&file[..length], 10).end, InflateEnd::Truncated, "{length}");
    }
    file[end] ^= 1;
    assert_eq!(inflate_gzip(&file, 10).end, InflateEnd::Invalid);
    file[end] ^= 1;
    file[3] |= 0x80;
    assert_eq!(inflate_gzip(&file, 10).end, InflateEnd::Invalid);
}

#[test]
fn a_wrong_checksum_length_or_tail_is_invalid_after_what_it_decodes_to() {
    let file = gzip(b"text");
    let end = file.len();
    let change = |at: usize| {
        let mut file = file.clone();
        file[at] ^= 1;
        file
    };
    for file in [change(end - 8), change(end - 4), [&*file, b"tail"].concat()] {
        let inflated = inflate_gzip(&file, 10);
        assert_eq!((inflated.bytes.as_slice(), inflated.end), (&b"text"[..], InflateEnd::Invalid));
    }
    for none in [&b"<html>"[..], &[0x1f, 0x8b, 9, 0]] {
        assert_eq!(inflate_gzip(none, 10).end, InflateEnd::Invalid);
    }
}

#[test]
fn a_member_cannot_refer_to_bytes_of_another() {
    // A match of 3 bytes at distance 1, as the first symbol of its stream.
    let mut bits = Bits::default();
    bits.push(1, 1);
    bits.push(0b01, 2);
    bits.push(0b100_0000, 7);
    bits.push(0, 5);
    bits.push(0, 7);
    let member = to_member(&bits.into_bytes(), b"aaa");
    let inflated = inflate_gzip(&[gzip(b"a"), member].concat(), 10);
    assert_eq!((inflated.bytes.as_slice(), inflated.end), (&b"a"[..], InflateEnd::Invalid));
}

#[test]
fn a_flood_of_members_ends_at_the_limit() {
    let empty = gzip(b"");
    let inflated = inflate_gzip(&empty.repeat(4_000_000 / empty.len()), 5_000_000);
    assert_eq!((inflated.bytes.len(), inflated.end), (0, InflateEnd::TooManyBlocks));
    assert_eq!(inflated.blocks, MAX_BLOCKS + 1);
    let letter = gzip(b"a");
    let inflated = inflate_gzip(&letter.repeat(4_000_000 / letter.len()), 5_000_000);
    assert_eq!((inflated.blocks, inflated.end), (MAX_BLOCKS + 1, InflateEnd::TooManyBlocks));
}

#[test]
fn a_bomb_is_decoded_up_to_the_limit() {
    let bomb = gzip(&vec![0; 10_000_000]).repeat(100);
    let inflated = inflate_gzip(&bomb, 5_000_000);
    assert_eq!((inflated.bytes.len(), inflated.end), (5_000_000, InflateEnd::OverLimit));
    assert_eq!(inflated.bytes.capacity(), 5_000_000);
}

#[test]
fn a_server_that_flushes_often_is_read() {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    for line in noise(2_000_000).chunks(1_000) {
        encoder.write_all(line).unwrap();
        encoder.flush().unwrap();
    }
    let inflated = inflate_gzip(&encoder.finish().unwrap(), 5_000_000);
    assert_eq!((inflated.bytes.len(), inflated.end), (2_000_000, InflateEnd::Whole));
}
