//! Deflate streams, written bit by bit.

/// Bits in the order in which deflate reads them.
#[derive(Default)]
pub(crate) struct Bits {
    bytes: Vec<u8>,
    length: usize,
}

impl Bits {
    /// Adds the lowest `count` bits, the lowest first.
    pub(crate) fn push(&mut self, value: u32, count: usize) {
        for nth in 0..count {
            if self.length.is_multiple_of(8) {
                self.bytes.push(0);
            }
            let bit = u8::try_from((value >> nth) & 1).unwrap();
            *self.bytes.last_mut().unwrap() |= bit << (self.length % 8);
            self.length += 1;
        }
    }

    /// Adds an empty block with the fixed codes: 10 bits.
    pub(crate) fn push_empty_fixed_block(&mut self, is_last: bool) {
        self.push(u32::from(is_last), 1);
        self.push(0b01, 2);
        self.push(0, 7);
    }

    /// Adds an empty block that brings codes of its own: 2 lengths and the end of the block.
    pub(crate) fn push_empty_dynamic_block(&mut self) {
        self.push(0, 1);
        self.push(0b10, 2);
        // 257 codes for literals, 1 for distances, 18 lengths of the codes for code lengths.
        self.push(0, 5);
        self.push(0, 5);
        self.push(14, 4);
        // In this order: 16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1. Only 18 and 1 have a code.
        for nth in 0..18 {
            self.push(u32::from(nth == 2 || nth == 17), 3);
        }
        // Code 1 is 18: 138 zeros, then 118 of them. Code 0 is the length 1: the end of the block, and a distance.
        self.push(1, 1);
        self.push(127, 7);
        self.push(1, 1);
        self.push(107, 7);
        self.push(0, 1);
        self.push(0, 1);
        // The end of the block has the code 0.
        self.push(0, 1);
    }

    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}

/// Wraps a deflate stream of `text` as the only member of a gzip file.
pub(crate) fn to_member(stream: &[u8], text: &[u8]) -> Vec<u8> {
    let mut member = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];
    member.extend(stream);
    member.extend(crc32fast::hash(text).to_le_bytes());
    member.extend(u32::try_from(text.len()).unwrap().to_le_bytes());
    member
}
