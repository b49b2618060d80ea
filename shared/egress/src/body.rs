//! Bodies, decoded piece by piece up to a bound. What is over it is never decoded nor read.

use std::io::{self, Write};
use std::mem;

use flate2::write::MultiGzDecoder;

/// The least room that is made for a body at once.
const FIRST_BYTES: usize = 16 * 1024;

/// How a body is encoded, as far as it is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ContentCoding {
    Gzip,
    Identity,
}

impl ContentCoding {
    /// Reads `Content-Encoding`. `None` for one that nobody asked for.
    pub(crate) fn parse(header: Option<&str>) -> Option<Self> {
        match header.map(|header| header.trim().to_ascii_lowercase()).as_deref() {
            None | Some("" | "identity") => Some(Self::Identity),
            Some("gzip" | "x-gzip") => Some(Self::Gzip),
            Some(_) => None,
        }
    }
}

/// Whether a body takes more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BodyState {
    /// More of it may come.
    Open,
    /// All that may be there is, and there was more.
    Full,
    /// What came is not encoded as was said.
    Broken,
}

/// A body that is being read.
pub(crate) struct BodyBuffer {
    decoder: BodyDecoder,
    max_bytes: usize,
    /// What came over the network: an encoding that decodes to nothing is endless, too.
    raw_bytes: usize,
    state: BodyState,
}

enum BodyDecoder {
    Gzip(Box<MultiGzDecoder<BoundedBytes>>),
    Identity(BoundedBytes),
}

impl BodyBuffer {
    pub(crate) fn new(coding: ContentCoding, max_bytes: usize) -> Self {
        let bytes = BoundedBytes { bytes: Vec::new(), max_bytes, has_overflow: false };
        let decoder = match coding {
            ContentCoding::Gzip => BodyDecoder::Gzip(Box::new(MultiGzDecoder::new(bytes))),
            ContentCoding::Identity => BodyDecoder::Identity(bytes),
        };
        Self { decoder, max_bytes, raw_bytes: 0, state: BodyState::Open }
    }

    /// Takes a piece as it came over the network.
    pub(crate) fn append_piece(&mut self, piece: &[u8]) -> BodyState {
        self.raw_bytes = self.raw_bytes.saturating_add(piece.len());
        let appended = match &mut self.decoder {
            BodyDecoder::Gzip(decoder) => decoder.write_all(piece),
            BodyDecoder::Identity(bytes) => bytes.write_all(piece),
        };
        self.state = match appended {
            _ if self.has_overflow() => BodyState::Full,
            Err(_) => BodyState::Broken,
            Ok(()) if self.raw_bytes > self.max_bytes => BodyState::Full,
            Ok(()) => BodyState::Open,
        };
        self.state
    }

    /// Whether nothing has come over the network.
    pub(crate) fn is_untouched(&self) -> bool {
        self.raw_bytes == 0
    }

    /// Whether what came is not encoded as was said.
    pub(crate) fn is_broken(&self) -> bool {
        self.state == BodyState::Broken
    }

    /// The bytes, and whether they are all.
    pub(crate) fn into_bytes(mut self) -> (Vec<u8>, bool) {
        let mut is_whole = self.state == BodyState::Open;
        let bytes = match &mut self.decoder {
            BodyDecoder::Gzip(decoder) => {
                // An empty body is what some servers call an encoded one, too.
                is_whole &= self.raw_bytes == 0 || decoder.try_finish().is_ok();
                mem::take(&mut decoder.get_mut().bytes)
            }
            BodyDecoder::Identity(bytes) => mem::take(&mut bytes.bytes),
        };
        (bytes, is_whole)
    }

    fn has_overflow(&self) -> bool {
        match &self.decoder {
            BodyDecoder::Gzip(decoder) => decoder.get_ref().has_overflow,
            BodyDecoder::Identity(bytes) => bytes.has_overflow,
        }
    }
}

/// Bytes that take no more than their bound, nor room for more.
struct BoundedBytes {
    bytes: Vec<u8>,
    max_bytes: usize,
    /// Whether something came after the last that was taken.
    has_overflow: bool,
}

impl Write for BoundedBytes {
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        let room = self.max_bytes.saturating_sub(self.bytes.len());
        let taken = piece.get(..room.min(piece.len())).unwrap_or_default();
        if taken.is_empty() && !piece.is_empty() {
            self.has_overflow = true;
            return Err(io::Error::from(io::ErrorKind::StorageFull));
        }
        let needed = self.bytes.len() + taken.len();
        if needed > self.bytes.capacity() {
            let doubled = self.bytes.capacity().saturating_mul(2).max(FIRST_BYTES);
            let capacity = doubled.min(self.max_bytes).max(needed);
            self.bytes.reserve_exact(capacity - self.bytes.len());
        }
        self.bytes.extend_from_slice(taken);
        Ok(taken.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
#[path = "body_tests.rs"]
mod tests;
