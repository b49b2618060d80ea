//! Reads the parts of an Office document, a zip archive. Damaged, encrypted and oversized archives are not
//! read.

use std::io::Read as _;

use flate2::read::DeflateDecoder;

/// Maximum unpacked size of a part, in bytes.
const MAX_PART: u64 = 20_000_000;

const END: [u8; 4] = *b"PK\x05\x06";
const ENTRY: [u8; 4] = *b"PK\x01\x02";

/// An archive and the directory at the end.
pub(super) struct OfficeArchive<'a> {
    bytes: &'a [u8],
    entries: Vec<ArchiveEntry>,
}

struct ArchiveEntry {
    name: String,
    method: usize,
    packed: usize,
    header: usize,
}

impl<'a> OfficeArchive<'a> {
    /// Reads the directory of parts; `None` without a directory.
    pub(super) fn read(bytes: &'a [u8]) -> Option<Self> {
        let end = bytes.windows(END.len()).rposition(|window| window == END)?;
        number_at(bytes, end + 20, 2)?;
        let count = number_at(bytes, end + 10, 2)?;
        let mut place = number_at(bytes, end + 16, 4)?;
        let mut entries = Vec::new();
        for _ in 0..count {
            if bytes.get(place..place + 4)? != ENTRY {
                return None;
            }
            let lengths: Option<Vec<usize>> =
                [28, 30, 32].iter().map(|offset| number_at(bytes, place + offset, 2)).collect();
            let [name, extra, comment] = lengths?.try_into().ok()?;
            entries.push(ArchiveEntry {
                name: String::from_utf8_lossy(bytes.get(place + 46..place + 46 + name)?)
                    .into_owned(),
                method: number_at(bytes, place + 10, 2)?,
                packed: number_at(bytes, place + 20, 4)?,
                header: number_at(bytes, place + 42, 4)?,
            });
            place += 46 + name + extra + comment;
        }
        Some(Self { bytes, entries })
    }

    /// Returns the texts of the parts with accepted names, in the order of the directory.
    pub(super) fn find_parts(&self, is_wanted: impl Fn(&str) -> bool) -> Vec<String> {
        let parts = self.entries.iter().filter(|entry| is_wanted(&entry.name));
        let texts = parts.filter_map(|entry| {
            let name = number_at(self.bytes, entry.header + 26, 2)?;
            let extra = number_at(self.bytes, entry.header + 28, 2)?;
            let start = entry.header + 30 + name + extra;
            let content = self.bytes.get(start..start.checked_add(entry.packed)?)?;
            let mut text = String::new();
            match entry.method {
                0 => content.take(MAX_PART).read_to_string(&mut text).ok()?,
                8 => DeflateDecoder::new(content).take(MAX_PART).read_to_string(&mut text).ok()?,
                _ => return None,
            };
            Some(text)
        });
        texts.collect()
    }
}

/// Reads a little-endian number of `length` bytes.
fn number_at(bytes: &[u8], at: usize, length: usize) -> Option<usize> {
    let digits = bytes.get(at..at.checked_add(length)?)?;
    Some(digits.iter().rev().fold(0, |number, digit| number << 8 | usize::from(*digit)))
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use flate2::Compression;
    use flate2::write::DeflateEncoder;

    use super::*;
    use crate::eval::product::ProductForm;

    /// An archive of these parts, the first packed and the others stored.
    fn pack(parts: &[(&str, &str)]) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut list = Vec::new();
        for (at, (name, text)) in parts.iter().enumerate() {
            let mut packer = DeflateEncoder::new(Vec::new(), Compression::default());
            packer.write_all(text.as_bytes()).unwrap();
            let (method, packed) = match at {
                0 => (8, packer.finish().unwrap()),
                _ => (0, text.as_bytes().to_vec()),
            };
            let [length, name_length] =
                [packed.len() as u32, name.len() as u32].map(u32::to_le_bytes);
            let header = (bytes.len() as u32).to_le_bytes();
            bytes.extend(b"PK\x03\x04");
            bytes.extend([0; 22]);
            bytes.extend([name_length[0], name_length[1], 0, 0]);
            bytes.extend(name.as_bytes());
            bytes.extend(&packed);
            list.extend(ENTRY);
            list.extend([0; 6]);
            list.extend([method, 0]);
            list.extend([0; 8]);
            list.extend(length);
            list.extend([0; 4]);
            list.extend([name_length[0], name_length[1], 0, 0, 0, 0]);
            list.extend([0; 8]);
            list.extend(header);
            list.extend(name.as_bytes());
        }
        let start = (bytes.len() as u32).to_le_bytes();
        bytes.extend(&list);
        bytes.extend(END);
        bytes.extend([0; 6]);
        bytes.extend([parts.len() as u8, 0]);
        bytes.extend([0; 4]);
        bytes.extend(start);
        bytes.extend([0, 0]);
        bytes
    }

    #[test]
    fn slides_are_read_packed_or_stored() {
        let slide = |text: &str| format!("<p:sld><a:p><a:r><a:t>{text}</a:t></a:r></a:p></p:sld>");
        let deck = pack(&[
            ("ppt/slides/slide1.xml", &slide("North")),
            ("ppt/slides/slide2.xml", &slide("Conclusion")),
            ("ppt/slides/_rels/slide1.xml.rels", "<x>No</x>"),
            ("docProps/core.xml", "<x>No</x>"),
        ]);
        let product = ProductForm::Pptx.read_product(&deck).unwrap();
        assert_eq!(product.headings, ["North", "Conclusion"]);
        assert_eq!(ProductForm::Docx.read_product(&deck), None);
    }

    #[test]
    fn a_damaged_archive_is_none() {
        let whole = pack(&[("word/document.xml", "<w:p>Text</w:p>")]);
        assert!(ProductForm::Docx.read_product(&whole).is_some());
        for length in 0..whole.len() {
            let cut = whole.get(..length).unwrap();
            assert!(ProductForm::Docx.read_product(cut).is_none(), "{length}");
        }
        let text = b"PK\x05\x06 and so on, but no archive at all";
        assert!(OfficeArchive::read(text).is_none_or(|archive| archive.entries.is_empty()));
    }
}
