//! Hashes, and bytes as hexadecimal text.

use std::fmt::Write as _;

use sha2::{Digest, Sha256};

/// Formats bytes as lower-case hexadecimal digits.
#[must_use]
pub fn encode_hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        // Writing into a String cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Computes the SHA-256 of bytes as 64 hexadecimal digits, the name of a content.
#[must_use]
pub fn sha256_hex(bytes: &[u8]) -> String {
    encode_hex(&Sha256::digest(bytes))
}
