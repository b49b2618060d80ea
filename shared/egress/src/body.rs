//! Bodies: read up to a limit, and decoded within limits of output and of work.

use djinn_inflate::{InflateEnd, Inflated, inflate_gzip};
use tokio::task::spawn_blocking;

/// The encoding of a body, among the encodings accepted by requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ContentCoding {
    Gzip,
    Identity,
}

impl ContentCoding {
    /// Parses `Content-Encoding`; `None` for an encoding that no request accepts.
    pub(crate) fn parse(header: Option<&str>) -> Option<Self> {
        match header.map(|header| header.trim().to_ascii_lowercase()).as_deref() {
            None | Some("" | "identity") => Some(Self::Identity),
            Some("gzip" | "x-gzip") => Some(Self::Gzip),
            Some(_) => None,
        }
    }
}

/// A body as received, read up to the limit.
pub(crate) struct RawBody {
    bytes: Vec<u8>,
    max_bytes: usize,
    has_more: bool,
}

impl RawBody {
    pub(crate) fn new(max_bytes: usize) -> Self {
        Self { bytes: Vec::new(), max_bytes, has_more: false }
    }

    /// Adds a piece from the network. Returns whether more pieces are accepted.
    pub(crate) fn append_piece(&mut self, piece: &[u8]) -> bool {
        let room = self.max_bytes.saturating_sub(self.bytes.len());
        self.has_more |= piece.len() > room;
        let head = piece.get(..room.min(piece.len())).unwrap_or_default();
        let new_length = self.bytes.len() + head.len();
        if new_length > self.bytes.capacity() {
            let double_capacity = self.bytes.capacity().saturating_mul(2).min(self.max_bytes);
            self.bytes.reserve_exact(double_capacity.max(new_length) - self.bytes.len());
        }
        self.bytes.extend_from_slice(head);
        !self.has_more
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.bytes.is_empty() && !self.has_more
    }

    /// Decodes the body, on a separate thread if decoding is expensive.
    pub(crate) async fn decode(self, coding: ContentCoding) -> Result<DecodedBody, DecodeError> {
        let Self { bytes, max_bytes, has_more } = self;
        // Some servers declare an encoding for an empty body, too.
        if coding == ContentCoding::Identity || bytes.is_empty() {
            return Ok(DecodedBody { bytes, is_whole: !has_more });
        }
        let inflating = spawn_blocking(move || inflate_gzip(&bytes, max_bytes));
        let Inflated { bytes, end, .. } = inflating.await.map_err(|_| DecodeError::Invalid)?;
        match end {
            InflateEnd::TooManyBlocks => Err(DecodeError::TooManyBlocks),
            InflateEnd::Invalid if bytes.is_empty() => Err(DecodeError::Invalid),
            InflateEnd::Whole => Ok(DecodedBody { bytes, is_whole: !has_more }),
            InflateEnd::Invalid | InflateEnd::OverLimit | InflateEnd::Truncated => {
                Ok(DecodedBody { bytes, is_whole: false })
            }
        }
    }
}

/// A decoded body, possibly cut.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct DecodedBody {
    pub(crate) bytes: Vec<u8>,
    pub(crate) is_whole: bool,
}

/// The reason why a body has no decoded form.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum DecodeError {
    #[error("the page is not encoded as it says")]
    Invalid,
    #[error("the page is compressed in more pieces than are decoded")]
    TooManyBlocks,
}

#[cfg(test)]
#[path = "body_tests.rs"]
mod tests;
