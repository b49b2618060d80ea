//! Gzip (RFC 1952): consecutive members, each with a header, a deflate stream and a trailer.

use crate::inflater::{InflateEnd, Inflated, Inflater};

const MAGIC: [u8; 3] = [0x1f, 0x8b, 8];
/// Bytes of a header before its optional fields.
const HEADER_BYTES: usize = 10;
const TRAILER_BYTES: usize = 8;

const FLAG_HEADER_CRC: u8 = 1 << 1;
const FLAG_EXTRA: u8 = 1 << 2;
const FLAG_NAME: u8 = 1 << 3;
const FLAG_COMMENT: u8 = 1 << 4;
const RESERVED_FLAGS: u8 = 0b1110_0000;

/// Decodes all members of a gzip file to at most `max_bytes`.
#[must_use]
pub fn inflate_gzip(input: &[u8], max_bytes: usize) -> Inflated {
    let mut inflater = Inflater::new(max_bytes);
    let result = decode_members(&mut inflater, input);
    inflater.finish(result)
}

fn decode_members(inflater: &mut Inflater, input: &[u8]) -> Result<(), InflateEnd> {
    let mut rest = input;
    loop {
        rest = skip_header(rest)?;
        let start = inflater.length();
        let stream_length = inflater.decode_stream(rest)?;
        let (trailer, after) = split(rest.get(stream_length..).unwrap_or_default(), TRAILER_BYTES)?;
        let bytes = inflater.bytes_from(start);
        // The length counts modulo 2³².
        let length = u32::try_from(bytes.len() as u64 & u64::from(u32::MAX)).unwrap_or_default();
        let expected_trailer =
            [crc32fast::hash(bytes).to_le_bytes(), length.to_le_bytes()].concat();
        if trailer != expected_trailer {
            return Err(InflateEnd::Invalid);
        }
        if after.is_empty() {
            return Ok(());
        }
        rest = after;
    }
}

/// Returns the input after a member's header.
fn skip_header(input: &[u8]) -> Result<&[u8], InflateEnd> {
    let magic = input.get(..MAGIC.len()).unwrap_or(input);
    if !MAGIC.starts_with(magic) {
        return Err(InflateEnd::Invalid);
    }
    let (fixed, mut rest) = split(input, HEADER_BYTES)?;
    let flags = fixed.get(MAGIC.len()).copied().unwrap_or_default();
    if flags & RESERVED_FLAGS != 0 {
        return Err(InflateEnd::Invalid);
    }
    if flags & FLAG_EXTRA != 0 {
        let (length, after) = rest.split_first_chunk().ok_or(InflateEnd::Truncated)?;
        (_, rest) = split(after, u16::from_le_bytes(*length).into())?;
    }
    for flag in [FLAG_NAME, FLAG_COMMENT] {
        if flags & flag != 0 {
            let end = rest.iter().position(|byte| *byte == 0).ok_or(InflateEnd::Truncated)?;
            (_, rest) = split(rest, end + 1)?;
        }
    }
    if flags & FLAG_HEADER_CRC != 0 {
        let (header, _) = split(input, input.len() - rest.len())?;
        let expected_checksum = crc32fast::hash(header).to_le_bytes();
        let checksum;
        (checksum, rest) = split(rest, 2)?;
        if !expected_checksum.starts_with(checksum) {
            return Err(InflateEnd::Invalid);
        }
    }
    Ok(rest)
}

fn split(input: &[u8], at: usize) -> Result<(&[u8], &[u8]), InflateEnd> {
    input.split_at_checked(at).ok_or(InflateEnd::Truncated)
}
