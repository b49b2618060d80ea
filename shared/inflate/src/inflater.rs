//! Raw deflate, block by block.

use miniz_oxide::inflate::TINFLStatus;
use miniz_oxide::inflate::core::inflate_flags::{
    TINFL_FLAG_HAS_MORE_INPUT, TINFL_FLAG_IGNORE_ADLER32, TINFL_FLAG_STOP_ON_BLOCK_BOUNDARY,
    TINFL_FLAG_USING_NON_WRAPPING_OUTPUT_BUF,
};
use miniz_oxide::inflate::core::{DecompressorOxide, decompress};

/// Maximum number of deflate blocks in one input, over all gzip members. A server flushing after every
/// kilobyte writes as many blocks for 5 MB.
pub const MAX_BLOCKS: u32 = 10_000;

/// Minimum space reserved for output at once.
const FIRST_BYTES: usize = 16 * 1024;

/// Stops after each block, keeps all output in one buffer, and treats missing input as input that may follow.
const FLAGS: u32 = TINFL_FLAG_STOP_ON_BLOCK_BOUNDARY
    | TINFL_FLAG_USING_NON_WRAPPING_OUTPUT_BUF
    | TINFL_FLAG_HAS_MORE_INPUT
    | TINFL_FLAG_IGNORE_ADLER32;

/// The output of one input, possibly cut.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inflated {
    /// The decoded bytes, never more than the limit.
    pub bytes: Vec<u8>,
    /// The reason why decoding ended.
    pub end: InflateEnd,
    /// The number of blocks decoded or started, at most [`MAX_BLOCKS`] plus 1.
    pub blocks: u32,
}

/// The reason why decoding ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InflateEnd {
    /// All of the input is decoded.
    Whole,
    /// The input ends within a stream.
    Truncated,
    /// The output is longer than the limit.
    OverLimit,
    /// The input has more than [`MAX_BLOCKS`] blocks.
    TooManyBlocks,
    /// The input is not encoded in this way.
    Invalid,
}

/// Decodes raw deflate to at most `max_bytes`. Input after the end of the stream is ignored.
#[must_use]
pub fn inflate_raw(input: &[u8], max_bytes: usize) -> Inflated {
    let mut inflater = Inflater::new(max_bytes);
    let result = inflater.decode_stream(input).map(|_| ());
    inflater.finish(result)
}

/// A decoder of consecutive streams into one buffer.
pub(crate) struct Inflater {
    state: Box<DecompressorOxide>,
    /// The decoded bytes, followed by free space.
    buffer: Vec<u8>,
    length: usize,
    max_bytes: usize,
    blocks: u32,
}

impl Inflater {
    pub(crate) fn new(max_bytes: usize) -> Self {
        Self { state: Box::default(), buffer: Vec::new(), length: 0, max_bytes, blocks: 0 }
    }

    /// Decodes one stream and returns its length in the input.
    pub(crate) fn decode_stream(&mut self, input: &[u8]) -> Result<usize, InflateEnd> {
        self.state.init();
        let start = self.length;
        let mut offset = 0;
        loop {
            let rest = input.get(offset..).unwrap_or_default();
            // A stream never refers to bytes of an earlier stream.
            let buffer = self.buffer.get_mut(start..).unwrap_or_default();
            let (status, input_length, output_length) =
                decompress(&mut self.state, rest, buffer, self.length - start, FLAGS);
            offset += input_length;
            self.length += output_length;
            match status {
                TINFLStatus::BlockBoundary | TINFLStatus::Done => {
                    self.blocks += 1;
                    if self.blocks > MAX_BLOCKS {
                        return Err(InflateEnd::TooManyBlocks);
                    }
                    if status == TINFLStatus::Done {
                        return Ok(offset);
                    }
                }
                TINFLStatus::HasMoreOutput if self.buffer.len() < self.max_bytes => {
                    self.grow_buffer();
                }
                TINFLStatus::HasMoreOutput => return Err(InflateEnd::OverLimit),
                TINFLStatus::NeedsMoreInput => return Err(InflateEnd::Truncated),
                TINFLStatus::Adler32Mismatch
                | TINFLStatus::BadParam
                | TINFLStatus::Failed
                | TINFLStatus::FailedCannotMakeProgress
                | _ => return Err(InflateEnd::Invalid),
            }
        }
    }

    /// Returns the decoded bytes from `start`.
    pub(crate) fn bytes_from(&self, start: usize) -> &[u8] {
        self.buffer.get(start..self.length).unwrap_or_default()
    }

    /// Returns the number of decoded bytes.
    pub(crate) fn length(&self) -> usize {
        self.length
    }

    pub(crate) fn finish(mut self, result: Result<(), InflateEnd>) -> Inflated {
        self.buffer.truncate(self.length);
        let end = result.err().unwrap_or(InflateEnd::Whole);
        Inflated { bytes: self.buffer, end, blocks: self.blocks }
    }

    fn grow_buffer(&mut self) {
        let double_length = self.buffer.len().saturating_mul(2).max(FIRST_BYTES);
        let length = double_length.min(self.max_bytes);
        self.buffer.reserve_exact(length - self.buffer.len());
        self.buffer.resize(length, 0);
    }
}
