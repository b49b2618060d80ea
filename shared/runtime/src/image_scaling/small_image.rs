//! Checks the outline of a small image, to show the image without scaling.

/// Returns true for a complete PNG or JPEG of at most `max_edge` pixels per edge, without animation or Exif.
/// Exif may contain a location or a rotation.
pub(super) fn is_plain(content: &[u8], max_edge: u32) -> bool {
    let size = if content.starts_with(PNG_MARK) { png_size(content) } else { jpeg_size(content) };
    size.is_some_and(|(width, height)| {
        (1..=max_edge).contains(&width) && (1..=max_edge).contains(&height)
    })
}

const PNG_MARK: &[u8] = b"\x89PNG\r\n\x1a\n";

/// PNG chunks with animation or metadata; old programs write Exif as compressed text.
const MORE_CHUNKS: [&[u8]; 3] = [b"acTL", b"eXIf", b"zTXt"];

/// Returns the width and height of a complete PNG without such chunks.
fn png_size(content: &[u8]) -> Option<(u32, u32)> {
    let mut rest = content.strip_prefix(PNG_MARK)?;
    let mut size = None;
    loop {
        let length = usize::try_from(read_number(rest.get(..4)?)).ok()?;
        let kind = rest.get(4..8)?;
        let data = rest.get(8..8_usize.checked_add(length)?)?;
        if size.is_none() {
            let is_header = kind == b"IHDR" && length == 13;
            size = is_header.then_some((read_number(data.get(..4)?), read_number(data.get(4..8)?)));
            size?;
        }
        if MORE_CHUNKS.contains(&kind) {
            return None;
        }
        // A checksum follows the data.
        rest = rest.get(12_usize.checked_add(length)?..)?;
        if kind == b"IEND" {
            return size;
        }
    }
}

/// Returns the width and height of a complete JPEG without Exif.
fn jpeg_size(content: &[u8]) -> Option<(u32, u32)> {
    let mut rest = content.strip_prefix(b"\xff\xd8")?.strip_suffix(b"\xff\xd9")?;
    loop {
        let [0xff, marker, segment @ ..] = rest else { return None };
        let length = usize::try_from(read_number(segment.get(..2)?)).ok()?;
        match marker {
            // Every kind of frame marker, without the tables in the same range of numbers.
            0xc0..=0xcf if !matches!(marker, 0xc4 | 0xc8 | 0xcc) => {
                let height = segment.get(3..5)?;
                let width = segment.get(5..7)?;
                return Some((read_number(width), read_number(height)));
            }
            // Exif and XMP.
            0xe1 | 0xd0..=0xda => return None,
            _ => rest = segment.get(length..)?,
        }
    }
}

fn read_number(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0, |number, byte| number << 8 | u32::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chunk(kind: &[u8; 4], data: &[u8]) -> Vec<u8> {
        let length = u32::try_from(data.len()).unwrap().to_be_bytes();
        [length.as_slice(), kind, data, &[0; 4]].concat()
    }

    fn png(width: u32, height: u32, more: &[Vec<u8>]) -> Vec<u8> {
        let size = [width.to_be_bytes(), height.to_be_bytes()].concat();
        let header = chunk(b"IHDR", &[size, vec![8, 2, 0, 0, 0]].concat());
        [PNG_MARK, &header, &more.concat(), &chunk(b"IDAT", &[1; 30]), &chunk(b"IEND", b"")]
            .concat()
    }

    fn jpeg(width: u16, height: u16, segments: &[u8]) -> Vec<u8> {
        let frame = [b"\xff\xc0\0\x11\x08".as_slice(), &height.to_be_bytes(), &width.to_be_bytes()];
        [b"\xff\xd8".as_slice(), segments, &frame.concat(), &[0; 20], b"\xff\xd9"].concat()
    }

    #[test]
    fn small_plain_images_are_known_by_their_outline() {
        assert!(is_plain(&png(8, 8, &[]), 2_000));
        assert!(is_plain(&png(2_000, 1, &[chunk(b"tEXt", b"a")]), 2_000));
        assert!(is_plain(&jpeg(640, 480, b"\xff\xe0\0\x04ab\xff\xc4\0\x03a"), 2_000));
    }

    #[test]
    fn others_are_left_to_the_sandbox() {
        let whole = png(8, 8, &[]);
        for (name, content) in [
            ("wide", png(2_001, 8, &[])),
            ("flat", png(8, 0, &[])),
            ("turned", png(8, 8, &[chunk(b"eXIf", b"a")])),
            ("animated", png(8, 8, &[chunk(b"acTL", b"a")])),
            ("cut", whole.get(..whole.len() - 9).unwrap().to_vec()),
            ("no header", [PNG_MARK, &chunk(b"IEND", b"")].concat()),
            ("long chunk", [PNG_MARK, b"\xff\xff\xff\xffIHDR"].concat()),
            ("exif", jpeg(8, 8, b"\xff\xe1\0\x04ab")),
            ("large", jpeg(8, 2_001, b"")),
            ("cut JPEG", jpeg(8, 8, b"").split_last().unwrap().1.to_vec()),
            ("no length", b"\xff\xd8\xff\xe0\0\0\xff\xd9".to_vec()),
            ("GIF", b"GIF89a\x08\0\x08\0".to_vec()),
            ("nothing", Vec::new()),
        ] {
            assert!(!is_plain(&content, 2_000), "{name}");
        }
    }
}
