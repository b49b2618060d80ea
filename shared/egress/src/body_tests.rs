use flate2::Compression;
use flate2::write::GzEncoder;

use super::*;

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// Reads pieces up to the bound: the body, and whether it is whole.
fn read(coding: ContentCoding, max_bytes: usize, pieces: &[&[u8]]) -> (Vec<u8>, bool, BodyState) {
    let mut body = BodyBuffer::new(coding, max_bytes);
    for piece in pieces {
        if body.append_piece(piece) != BodyState::Open {
            break;
        }
    }
    let state = body.state;
    let (bytes, is_whole) = body.into_bytes();
    (bytes, is_whole, state)
}

#[test]
fn a_body_is_whole_up_to_its_bound() {
    use ContentCoding::{Gzip, Identity};
    let text = b"0123456789".as_slice();
    let packed = gzip(text);
    let (head, tail) = packed.split_at(7);
    for (coding, pieces) in [(Identity, vec![&text[..4], &text[4..]]), (Gzip, vec![head, tail])] {
        let room = packed.len();
        assert_eq!(read(coding, room, &pieces), (text.to_vec(), true, BodyState::Open));
    }
    assert_eq!(read(Identity, 10, &[text]), (text.to_vec(), true, BodyState::Open));
    assert_eq!(read(Identity, 9, &[text]), (b"012345678".to_vec(), false, BodyState::Full));
    assert_eq!(read(Identity, 0, &[text]), (Vec::new(), false, BodyState::Full));
    assert_eq!(read(Identity, 0, &[]), (Vec::new(), true, BodyState::Open));
}

#[test]
fn a_bomb_is_decoded_up_to_the_bound() {
    let bomb = gzip(&vec![0; 3_000_000]);
    assert!(bomb.len() < 20_000, "{}", bomb.len());
    let (bytes, is_whole, state) = read(ContentCoding::Gzip, 100_000, &[&bomb]);
    assert_eq!((bytes.len(), is_whole, state), (100_000, false, BodyState::Full));
    assert!(bytes.capacity() <= 100_000, "{}", bytes.capacity());
}

#[test]
fn members_follow_each_other() {
    let mut twice = gzip(b"one ");
    twice.extend(gzip(b"two"));
    let (bytes, is_whole, _) = read(ContentCoding::Gzip, 1000, &[&twice]);
    assert_eq!((bytes.as_slice(), is_whole), (b"one two".as_slice(), true));
}

#[test]
fn what_decodes_to_nothing_is_not_read_for_ever() {
    let empty = gzip(b"");
    let mut body = BodyBuffer::new(ContentCoding::Gzip, 1000);
    let pieces = (0..10_000).take_while(|_| body.append_piece(&empty) == BodyState::Open).count();
    assert_eq!(pieces, 1000 / empty.len());
    assert_eq!(body.into_bytes(), (Vec::new(), false));
}

#[test]
fn a_body_that_is_not_what_it_says_is_told_from_one_that_broke_off() {
    let whole = gzip(b"a page that breaks off somewhere");
    let (bytes, is_whole, state) = read(ContentCoding::Gzip, 1000, &[&whole[..whole.len() - 9]]);
    assert_eq!((is_whole, state), (false, BodyState::Open));
    assert!(b"a page that breaks off somewhere".starts_with(&bytes), "{bytes:?}");
    let (bytes, is_whole, state) = read(ContentCoding::Gzip, 1000, &[b"<html>no gzip</html>"]);
    assert_eq!((bytes, is_whole, state), (Vec::new(), false, BodyState::Broken));
    assert_eq!(read(ContentCoding::Gzip, 1000, &[]), (Vec::new(), true, BodyState::Open));
    assert_eq!(ContentCoding::parse(Some(" GZIP ")), Some(ContentCoding::Gzip));
    assert_eq!(ContentCoding::parse(Some("br")), None);
    assert_eq!(ContentCoding::parse(Some("gzip, gzip")), None);
}
