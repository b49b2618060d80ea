//! The content of an invocation's payload: bytes as text, packed bytes, and requests for content above the
//! payload limit.

pub(super) mod base64_bytes;

use std::io::{self, Read as _};

use djinn_inflate::{InflateEnd, Inflated, inflate_raw};
use flate2::Compression;
use flate2::read::DeflateEncoder;
use serde::{Deserialize, Serialize};

/// The maximum size of a payload in bytes; Lambda's limit is 6 MB in either direction.
pub const MAX_PAYLOAD: usize = 6 * 1024 * 1024 - 64 * 1024;

/// Bytes compressed by deflate; base64 in JSON.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PackedBytes(#[serde(with = "base64_bytes")] Vec<u8>);

impl PackedBytes {
    /// Packs bytes at the fastest level.
    ///
    /// # Errors
    /// Returns [`io::Error`], which never happens for bytes in memory.
    pub fn pack(bytes: &[u8]) -> io::Result<Self> {
        if bytes.is_empty() {
            return Ok(Self::default());
        }
        let mut deflated_bytes = Vec::new();
        DeflateEncoder::new(bytes, Compression::fast()).read_to_end(&mut deflated_bytes)?;
        Ok(Self(deflated_bytes))
    }

    /// Unpacks the bytes, up to `most` bytes. The other side of the invocation may be compromised, so the
    /// work is limited, too.
    ///
    /// # Errors
    /// Returns [`io::Error`] if the content is no packed bytes, larger than `most`, or too much work.
    pub fn unpack(&self, most: u64) -> io::Result<Vec<u8>> {
        if self.0.is_empty() {
            return Ok(Vec::new());
        }
        let Inflated { bytes, end, .. } =
            inflate_raw(&self.0, usize::try_from(most).unwrap_or(usize::MAX));
        match end {
            InflateEnd::Whole => Ok(bytes),
            InflateEnd::OverLimit => {
                Err(io::Error::other(format!("there are more than {most} bytes")))
            }
            InflateEnd::Invalid | InflateEnd::TooManyBlocks | InflateEnd::Truncated => {
                Err(io::Error::other("the bytes are not packed as they should be"))
            }
        }
    }

    /// Returns the packed size, in bytes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns true if the packed size is 0.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl std::fmt::Debug for PackedBytes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} packed bytes", self.len())
    }
}

/// A signed request to the store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoreRequest {
    /// The URL of the PUT request.
    pub url: String,
    /// The signed headers of the request.
    #[serde(default)]
    pub headers: Vec<(String, String)>,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn bytes_are_the_same_after_their_way_and_never_more_than_asked_for() {
        for bytes in [Vec::new(), b"year,sales\n2024,1\n".repeat(1000), (0..=255).collect()] {
            let packed = PackedBytes::pack(&bytes).unwrap();
            let sent: PackedBytes = serde_json::from_value(json!(packed)).unwrap();
            assert_eq!(sent.unpack(bytes.len() as u64).unwrap(), bytes);
            if let Some(fewer) = (bytes.len() as u64).checked_sub(1) {
                let error = sent.unpack(fewer).unwrap_err().to_string();
                assert_eq!(error, format!("there are more than {fewer} bytes"));
            }
        }
        let table = PackedBytes::pack(&b"2024,1\n".repeat(10_000)).unwrap();
        assert!(table.len() < 1_000, "{table:?}");
        let broken: PackedBytes = serde_json::from_value(json!("AAAA")).unwrap();
        assert!(broken.unpack(10).is_err());
        // Empty blocks decode to nothing, and take their time.
        let flood = PackedBytes([0, 0, 0, 0xff, 0xff].repeat(1_000_000));
        let error = flood.unpack(10).unwrap_err().to_string();
        assert_eq!(error, "the bytes are not packed as they should be");
    }
}
