//! The checksums of S3.
//!
//! The crate of this name on crates.io has tables of a hundred checksums, which no linker can leave out: 0.6 MB of
//! a function's archive. `[patch.crates-io]` puts this crate in its place, with the part of its interface that the AWS
//! SDK and the local S3 use. The sums themselves are calculated by `crc32fast` and `crc`.

use std::fmt;

use crc::{CRC_32_ISCSI, CRC_64_NVME, Crc, Table};

/// Sixteen bytes are read in one step, by a table of 16 KB.
static CRC32C: Crc<u32, Table<16>> = Crc::<u32, Table<16>>::new(&CRC_32_ISCSI);

/// Sixteen bytes are read in one step, by a table of 32 KB.
static CRC64: Crc<u64, Table<16>> = Crc::<u64, Table<16>>::new(&CRC_64_NVME);

/// The checksums that S3 has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CrcAlgorithm {
    /// CRC-32, as in zip and gzip.
    Crc32IsoHdlc,
    /// CRC-32C.
    Crc32Iscsi,
    /// CRC-64/NVME.
    Crc64Nvme,
}

/// The checksum of bytes that arrive in pieces.
#[derive(Clone)]
pub struct Digest(State);

#[derive(Clone)]
enum State {
    Crc32(crc32fast::Hasher),
    Crc32c(crc::Digest<'static, u32, Table<16>>),
    Crc64(crc::Digest<'static, u64, Table<16>>),
}

impl Digest {
    /// Creates the checksum of no bytes.
    #[must_use]
    pub fn new(algorithm: CrcAlgorithm) -> Self {
        Self(match algorithm {
            CrcAlgorithm::Crc32IsoHdlc => State::Crc32(crc32fast::Hasher::new()),
            CrcAlgorithm::Crc32Iscsi => State::Crc32c(CRC32C.digest()),
            CrcAlgorithm::Crc64Nvme => State::Crc64(CRC64.digest()),
        })
    }

    /// Adds the next bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        match &mut self.0 {
            State::Crc32(hasher) => hasher.update(bytes),
            State::Crc32c(digest) => digest.update(bytes),
            State::Crc64(digest) => digest.update(bytes),
        }
    }

    /// Returns the checksum of all bytes. A checksum of 32 bits is in the lower half.
    #[must_use]
    pub fn finalize(self) -> u64 {
        match self.0 {
            State::Crc32(hasher) => hasher.finalize().into(),
            State::Crc32c(digest) => digest.finalize().into(),
            State::Crc64(digest) => digest.finalize(),
        }
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Digest")
    }
}

/// Returns the checksum of bytes, as [`Digest::finalize`] does.
#[must_use]
pub fn checksum(algorithm: CrcAlgorithm, bytes: &[u8]) -> u64 {
    let mut digest = Digest::new(algorithm);
    digest.update(bytes);
    digest.finalize()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The check values in the catalogue of CRCs are those of these bytes.
    const CHECKED: &[u8] = b"123456789";

    #[test]
    fn sums_are_those_of_the_catalogue_in_any_pieces() {
        for (algorithm, sum) in [
            (CrcAlgorithm::Crc32IsoHdlc, 0xcbf4_3926),
            (CrcAlgorithm::Crc32Iscsi, 0xe306_9283),
            (CrcAlgorithm::Crc64Nvme, 0xae8b_1486_0a79_9888),
        ] {
            assert_eq!(checksum(algorithm, b""), 0);
            for size in 1..=CHECKED.len() {
                let mut digest = Digest::new(algorithm);
                CHECKED.chunks(size).for_each(|piece| digest.update(piece));
                assert_eq!(digest.finalize(), sum, "{algorithm:?} in pieces of {size}");
            }
        }
    }
}
