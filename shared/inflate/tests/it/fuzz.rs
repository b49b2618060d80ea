//! The corpus of compressed inputs, and changes of it: each is decoded within the limits, and as flate2 decodes it.

use std::io::Read as _;

use djinn_inflate::{InflateEnd, Inflated, MAX_BLOCKS, inflate_gzip, inflate_raw};
use djinn_testkit::fuzz::FuzzPlan;
use flate2::bufread::{DeflateDecoder, MultiGzDecoder};

/// Parts of headers, of blocks and of trailers, as far as they are text.
const WORDS: &[&str] = &[
    "\u{1f}",
    "\u{8}",
    "\0",
    "\0\0\0\0",
    "\0\0\0\0\0\0\0\0",
    "\u{3}\0",
    "\u{1}\0\0",
    "\u{2}\0",
    "name\0",
];

/// The limit on output; few inputs stay below it for long.
const MAX_BYTES: usize = 200_000;

/// Compares a result with the limits and with the output of flate2, which has none.
fn check(inflated: &Inflated, decoder: impl std::io::Read) -> Result<(), String> {
    let Inflated { bytes, end, blocks } = inflated;
    if bytes.len() > MAX_BYTES || bytes.capacity() > MAX_BYTES || *blocks > MAX_BLOCKS + 1 {
        return Err(format!("{} bytes of {} blocks", bytes.len(), blocks));
    }
    if *end == InflateEnd::TooManyBlocks {
        return Ok(());
    }
    let mut expected = Vec::new();
    let outcome = decoder.take(MAX_BYTES as u64 + 1).read_to_end(&mut expected);
    let is_over = expected.len() > MAX_BYTES;
    let is_equal = match end {
        InflateEnd::Whole => outcome.is_ok() && *bytes == expected,
        InflateEnd::OverLimit => bytes.len() == MAX_BYTES && (is_over || outcome.is_err()),
        InflateEnd::Truncated => outcome.is_err() && !is_over,
        // flate2 accepts a match before the beginning of a stream, as zeros.
        InflateEnd::Invalid => true,
        InflateEnd::TooManyBlocks => true,
    };
    let is_start = expected.starts_with(bytes) || bytes.starts_with(&expected);
    if is_equal && is_start {
        return Ok(());
    }
    let outcome = outcome.map_err(|error| error.to_string());
    Err(format!("{end:?} after {} bytes, and {outcome:?} after {}", bytes.len(), expected.len()))
}

#[test]
fn no_input_breaks_the_limits_or_decodes_to_something_else() {
    let plan = FuzzPlan { corpus: "gzip", words: WORDS, max_bytes: 20_000, cases: 600 };
    let tried = plan.run(|input| {
        let bytes = input.bytes.as_slice();
        if input.name.starts_with("raw") {
            return check(&inflate_raw(bytes, MAX_BYTES), DeflateDecoder::new(bytes));
        }
        check(&inflate_gzip(bytes, MAX_BYTES), MultiGzDecoder::new(bytes))
    });
    println!("{}", tried.unwrap());
}
